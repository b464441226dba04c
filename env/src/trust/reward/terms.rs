//! The terms of the reward that training can leave out, and their contribution to a step.

use super::step::{GradeInput, StepWeights, grade_weighted};
use crate::environment::RewardTermInfo;
use crate::trust::model::{
    Action, Change, Observation, Status, Step, TerminalReward, TerminalWeights,
};

/// The terms, in the order of [`Term`].
pub(in crate::trust) const TERMS: [RewardTermInfo; 5] = [
    RewardTermInfo {
        name: "poison",
        label: "Poison",
        meaning: "What it costs to believe a poisoned answer, and what it earns to catch one",
    },
    RewardTermInfo {
        name: "calibration",
        label: "Calibration",
        meaning: "At the end, points for trust that agrees with the specialists' true reliability",
    },
    RewardTermInfo {
        name: "accuracy",
        label: "Accuracy",
        meaning: "Points for completed subtasks, at each step and at the end",
    },
    RewardTermInfo {
        name: "efficiency",
        label: "Efficiency",
        meaning: "Points for cheap actions and for budget that is left",
    },
    RewardTermInfo {
        name: "verification",
        label: "Verification",
        meaning: "Points for verifying where it is worth its price, and only there",
    },
];

/// A term of [`TERMS`].
#[derive(Clone, Copy, PartialEq, Eq)]
enum Term {
    Poison,
    Calibration,
    Accuracy,
    Efficiency,
    Verification,
}

const ALL: [Term; TERMS.len()] = [
    Term::Poison,
    Term::Calibration,
    Term::Accuracy,
    Term::Efficiency,
    Term::Verification,
];

impl Step {
    /// Returns the amount that a term added to the rewards of this step, which led to `observation`:
    /// the difference from grading it again with weight 0 for the term's components. Without `poison`,
    /// poison that is believed is graded like a right answer and poison that is caught like another
    /// wrong one; at the end all poison counts as detected, and an end that believed poison forced is
    /// graded like another one.
    pub(in crate::trust) fn term_reward(&self, term: usize, observation: &Observation) -> f64 {
        let Some(term) = ALL.get(term) else {
            return 0.0;
        };
        let mut input = GradeInput::new(observation, self);
        let mut weights = StepWeights::new(observation.task);
        match term {
            Term::Poison => {
                let is_believed = input.adversarial && matches!(input.action, Action::Delegate(_));
                input.success |= is_believed;
                input.adversarial = false;
            }
            Term::Calibration => {}
            Term::Accuracy => weights.accuracy = 0.0,
            Term::Efficiency => weights.efficiency = 0.0,
            Term::Verification => weights.verification = 0.0,
        }
        let without = grade_weighted(&input, &weights).reward;
        let at_end = |end: &TerminalReward| end.reward - end.without(*term, without);
        self.grades.reward - without + self.terminal.as_ref().map_or(0.0, at_end)
    }
}

/// Returns the number of open subtasks that count as reward events of 0 only with a term: without
/// `poison`, those after an end that believed poison forced.
pub(in crate::trust) fn forced_events(term: usize, observation: &Observation) -> u16 {
    let is_counted = observation.rules.has(Change::Unfinished);
    let is_forced = observation.status == Status::Failed;
    if ALL.get(term) == Some(&Term::Poison) && is_counted && is_forced {
        u16::from(observation.progress.remaining())
    } else {
        0
    }
}

impl TerminalReward {
    /// Returns the terminal reward without a term, after a last step with reward `last`.
    fn without(&self, term: Term, last: f64) -> f64 {
        let mut detection_rate = self.detection_rate;
        let mut weights = self.weights;
        match term {
            Term::Poison => detection_rate = 1.0,
            _ if self.forced => return self.reward,
            Term::Calibration => weights.calibration = 0.0,
            Term::Accuracy => weights.completion = 0.0,
            Term::Efficiency => weights.efficiency = 0.0,
            Term::Verification => {}
        }
        if self.weights == TerminalWeights::default() {
            return last;
        }
        weights.sum([
            self.completion,
            detection_rate,
            self.calibration,
            self.efficiency,
        ])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Streams;
    use crate::slot::Slot;
    use crate::trust::{Episode, FORCED_END_REWARD, Rules, Setup, Task};
    use crate::{Environment as _, World as _};

    /// Plays an episode, and returns for every step each term's part of its rewards.
    fn parts(task: Task, seed: u64) -> Vec<(Step, [f64; TERMS.len()])> {
        let setup = Setup::new(task, seed, Streams::Independent).with_rules(Rules::HARDENED);
        let mut episode = Episode::reset(&setup);
        let mut all = Vec::new();
        for n in seed as usize.. {
            let slot = Slot::ALL[n % 5];
            let actions = [
                Action::Delegate(slot),
                Action::Verify(slot),
                Action::SolveIndependently,
            ];
            let Ok(transition) = episode.step(actions[n * 7 % 3]) else {
                break;
            };
            let info = transition.info;
            all.push((
                info,
                std::array::from_fn(|term| episode.term_reward(term, &info)),
            ));
        }
        all
    }

    #[test]
    fn terms_are_weighted_components() {
        let [poison, calibration, accuracy, efficiency, verification] = [0, 1, 2, 3, 4];
        let (mut poisoned, mut forced) = (0, 0);
        for (seed, task) in (0..90).zip(Task::ALL.into_iter().cycle()) {
            let w = StepWeights::new(task);
            for (step, parts) in parts(task, seed) {
                let g = &step.grades;
                let end = step.terminal.filter(|end| !end.forced);
                let expected = |weight: f64, value: f64, at_end: f64| weight * value + at_end;
                // Clamping takes away .01 at most, from a step and from the end.
                let near = |term: usize, value: f64| {
                    assert!(
                        (parts[term] - value).abs() < 0.021,
                        "{task} {seed}: {}",
                        parts[term]
                    );
                };
                let of_end = |weight: fn(&TerminalWeights) -> f64, value: f64| {
                    end.map_or(0.0, |end| weight(&end.weights) * value)
                };
                let at = |value: fn(&TerminalReward) -> f64| end.as_ref().map_or(0.0, value);
                let calibrated = of_end(|w| w.calibration, at(|e| e.calibration));
                near(calibration, calibrated);
                let completed = of_end(|w| w.completion, at(|e| e.completion));
                near(accuracy, expected(w.accuracy, g.task_accuracy, completed));
                let left = of_end(|w| w.efficiency, at(|e| e.efficiency));
                near(efficiency, expected(w.efficiency, g.efficiency, left));
                near(
                    verification,
                    expected(w.verification, g.verification_quality, 0.0),
                );
                if !step.adversarial && step.terminal.is_none() {
                    assert_eq!(parts[poison], 0.0);
                }
                let is_high = step.stakes >= 0.7 && task != Task::Task2;
                if step.adversarial && is_high && step.terminal.is_none() {
                    let is_believed = matches!(step.action, Action::Delegate(_));
                    assert_eq!(parts[poison] < 0.0, is_believed, "{task} {seed}");
                    poisoned += 1;
                }
                if let Some(end) = step.terminal.filter(|end| end.forced) {
                    assert_eq!(end.reward, FORCED_END_REWARD);
                    assert!(parts[poison] < -0.2, "{}", parts[poison]);
                    forced += 1;
                }
            }
        }
        assert!(poisoned > 5 && forced > 5, "{poisoned} {forced}");
    }
}
