//! The terms of the reward that training can leave out, and their contribution to a step.

use super::step::{orchestrator, scaled_reward, weighted_roles, worker};
use super::terminal_reward::{
    CALIBRATION, COMPLETION, DEADLINES, DETECTION, UTILIZATION, weighted_sum,
};
use crate::cluster::model::{Change, Grades, JobStatus, Observation, Step, TerminalReward};
use crate::environment::RewardTermInfo;
use crate::task::Task;

/// The terms, in the order of [`Term`].
pub(in crate::cluster) const TERMS: [RewardTermInfo; 5] = [
    RewardTermInfo {
        name: "completion",
        label: "Completion",
        meaning: "Points for completed jobs, at each step and at the end",
    },
    RewardTermInfo {
        name: "resources",
        label: "Resources",
        meaning: "Points for memory in use and deadlines kept, less what idle or overloaded GPUs waste",
    },
    RewardTermInfo {
        name: "detection",
        label: "Detection",
        meaning: "Points for catching attacks without false alarms, and for trust that agrees with true reliability",
    },
    RewardTermInfo {
        name: "poison",
        label: "Poison",
        meaning: "A factor that lowers every reward by the share of forged reports that were believed",
    },
    RewardTermInfo {
        name: "reliability",
        label: "Reliability",
        meaning: "A factor that lowers every reward after repeated actions, steps off the goal and misplaced confidence",
    },
];

/// A term of [`TERMS`].
#[derive(Clone, Copy, PartialEq, Eq)]
enum Term {
    Completion,
    Resources,
    Detection,
    Poison,
    Reliability,
}

const ALL: [Term; TERMS.len()] = [
    Term::Completion,
    Term::Resources,
    Term::Detection,
    Term::Poison,
    Term::Reliability,
];

impl Step {
    /// Returns the amount that a term added to the rewards of this step, which led to `observation`:
    /// the difference from grading it again without the term's shares, or with 1 for its factor.
    pub(in crate::cluster) fn term_reward(&self, term: usize, observation: &Observation) -> f64 {
        let Some(term) = ALL.get(term).copied() else {
            return 0.0;
        };
        let own = self.grades.reward - self.grades.without(term);
        let at_end = |end: &TerminalReward| {
            let part = end.reward - end.without(term, observation.task);
            part * end_count(observation)
        };
        own + self.terminal.as_ref().map_or(0.0, at_end)
    }
}

/// Returns how often the terminal reward is added to the total: once, and under
/// [`Change::Ending`] once more for each step saved by completing all jobs.
fn end_count(o: &Observation) -> f64 {
    let all = o.jobs.count(JobStatus::Complete) as usize == o.jobs.rows().len();
    if all && o.rules.has(Change::Ending) {
        1.0 + f64::from(o.max_steps - o.step_count)
    } else {
        1.0
    }
}

impl Grades {
    /// Returns the reward of the step without a term.
    fn without(&self, term: Term) -> f64 {
        let mut roles = [
            self.orchestrator,
            self.resource_manager,
            self.auditor,
            self.worker,
        ];
        let (mut modifier, mut hack_resistance) = (self.reliability.modifier, self.hack_resistance);
        match term {
            Term::Completion => {
                roles[0] = orchestrator(0.0, self.coherence, self.recovery_speed);
                roles[3] = worker(0.0, self.honesty);
            }
            Term::Resources => roles[1] = 0.0,
            Term::Detection => roles[2] = 0.0,
            Term::Poison => hack_resistance = 1.0,
            Term::Reliability => modifier = 1.0,
        }
        let weighted = weighted_roles(roles);
        scaled_reward(weighted, self.health, modifier * hack_resistance)
    }
}

impl TerminalReward {
    /// Returns the terminal reward of a task without a term.
    fn without(&self, term: Term, task: Task) -> f64 {
        weighted_sum(task, self.components(), |name| match term {
            Term::Completion => name != COMPLETION,
            Term::Resources => name != UTILIZATION && name != DEADLINES,
            Term::Detection => name != CALIBRATION && !DETECTION.contains(&name),
            Term::Poison | Term::Reliability => true,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::{Action, Episode, Rules, Setup};
    use crate::rng::Streams;
    use crate::slot::{SLOTS, Slot};
    use crate::{Environment as _, World as _};

    /// Checks shares and factors against the formula of the reward, and that the whole score is the sum of
    /// a term and the score without it.
    #[test]
    fn terms_are_shares_and_factors() {
        let mut believed = 0;
        for (seed, task) in (0..30).zip(Task::ALL.into_iter().cycle()) {
            let rules = [Rules::REFERENCE, Rules::HARDENED][seed as usize / 3 % 2];
            let setup = Setup::new(task, seed, Streams::Independent).with_rules(rules);
            let mut episode = Episode::reset(&setup);
            let mut totals = [0.0; TERMS.len()];
            let mut sum = 0.0;
            for n in 0.. {
                let Ok(transition) = episode.step(action(n)) else {
                    break;
                };
                let step = transition.info;
                let g = &step.grades;
                let parts: [f64; TERMS.len()] =
                    std::array::from_fn(|term| episode.term_reward(term, &step));
                for (total, part) in totals.iter_mut().zip(parts) {
                    *total += part;
                }
                let end = step.terminal.map_or(0.0, |end| end.reward);
                sum += g.reward + end * end_count(episode.observation());
                believed += u32::from(g.hack_resistance < 1.0);
                if step.terminal.is_some() || g.reward <= 0.011 {
                    continue;
                }
                let factors = g.health * clamp(g.reliability.modifier * g.hack_resistance);
                let near = |term: Term, value: f64| {
                    let part = parts[term as usize];
                    assert!(
                        (part - value).abs() < 0.011,
                        "{task} {seed}: {part} {value}"
                    );
                };
                near(Term::Detection, 0.20 * g.auditor * factors);
                near(Term::Resources, 0.30 * g.resource_manager * factors);
                near(
                    Term::Completion,
                    (0.30 * 0.40 + 0.20 * 0.70) * g.completion * factors,
                );
                assert!(parts[Term::Reliability as usize] <= 0.0);
                assert_eq!(
                    parts[Term::Poison as usize] < 0.0,
                    g.hack_resistance < 1.0,
                    "{parts:?}"
                );
            }
            assert!((sum - episode.total_reward()).abs() < 1e-9, "{task} {seed}");
            for (term, total) in totals.into_iter().enumerate() {
                let left = episode.score_without_term(term, total);
                let whole = left + total / episode.reward_count();
                assert!((whole - episode.score()).abs() < 1e-12);
            }
        }
        assert!(believed > 10, "{believed}");
    }

    fn action(n: usize) -> Action {
        let worker = Some(Slot::ALL[n * 7 % SLOTS]);
        match n % 3 {
            0 => Action::Allocate {
                job: None,
                gpu: None,
                worker,
            },
            1 => Action::RequestInfo { job: None, worker },
            _ => Action::Tick,
        }
    }

    fn clamp(value: f64) -> f64 {
        value.clamp(0.0, 1.0)
    }
}
