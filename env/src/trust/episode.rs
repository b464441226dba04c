//! The episode of the trust world: reset and step, without allocation (spec trust §7, §8).

use super::dynamics::{Answer, Hypothesis, action_outcome};
use super::model::{
    Action, Change, EpisodeOver, Hidden, LastStep, Observation, Scenario, Setup, State, Step, Tally,
};
use crate::adaptive_difficulty::{DifficultyController, DifficultyProfile};
use crate::environment::{
    AdaptiveDifficulty, Environment, PrivilegedState, RESET_LANES, Seeded, Transition,
};

/// An episode of the trust world, as a plain value that is cheap to copy, so look-ahead and
/// branching need no replay.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Episode {
    state: State,
    setup: Setup,
}

impl Environment for Episode {
    type Setup = Setup;
    type Action = Action;
    type Observation = Observation;
    type Info = Step;
    type StepError = EpisodeOver;

    fn reset(setup: &Setup) -> Self {
        let adversary = setup.profile.adversary();
        let (variant, hidden) = Hidden::from_seed(setup.seed, setup.streams, adversary);
        Self {
            state: State::new(setup, variant, hidden),
            setup: *setup,
        }
    }

    fn reset_many(setup: &Setup, seeds: &[u64; RESET_LANES], out: &mut [Self]) {
        let adversary = setup.profile.adversary();
        let hidden = Hidden::from_seeds::<RESET_LANES, { 3 * RESET_LANES }>(
            *seeds,
            setup.streams,
            adversary,
        );
        for ((episode, seed), (variant, hidden)) in out.iter_mut().zip(seeds).zip(hidden) {
            let setup = setup.with_seed(*seed);
            let state = State::new(&setup, variant, hidden);
            *episode = Self { state, setup };
        }
    }

    fn step(&mut self, action: Action) -> Result<Transition<Step>, EpisodeOver> {
        let state = &mut self.state;
        let Some(domain) = state.observation.domain else {
            return Err(EpisodeOver);
        };
        let (node, stakes) = (
            state.observation.progress.position(),
            state.observation.stakes,
        );
        // Constructed in place, because moving a `Step` takes about as long as evaluating some of
        // the rules.
        let mut transition = Transition {
            reward: 0.0,
            terminated: false,
            truncated: false,
            info: Step::new(action, node, domain, stakes),
        };
        let step = &mut transition.info;
        // §4: a specialist answers.
        let call = action.slot().map(|slot| state.call_specialist(slot, step));
        let reported = call.as_ref().map(|call| call.raw_success);
        let answer = Answer::new(step.adversarial, reported == Some(true));
        // §8: the outcome of the action.
        let rules = state.observation.rules;
        let outcome = action_outcome(rules, action, step.specialist_cost, answer);
        step.success = (action != Action::Skip).then_some(outcome.success);
        step.own_work = outcome.own_work;
        // §5, §6: progress and trust.
        state.record_outcome(step);
        if let Some(call) = &call {
            state.update_ledger(call, step);
        }
        state.observation.step_count += outcome.cost;
        // §9, §10: rewards.
        state.add_step_reward(step, reported, outcome.cost);
        state.finish(step);
        state.present_next_subtask();
        // On the last step, the terminal reward replaces the step's own reward (quirk Q1).
        let (grades, end) = (&transition.info.grades, &transition.info.terminal);
        transition.reward = end.map_or(grades.reward, |end| end.reward);
        // Running out of budget counts as termination, because the budget is visible and part of
        // the reward.
        transition.terminated = transition.info.terminal.is_some();
        Ok(transition)
    }

    #[inline]
    fn observation(&self) -> &Observation {
        &self.state.observation
    }

    fn setup(&self) -> &Setup {
        &self.setup
    }

    #[inline]
    fn is_done(observation: &Observation) -> bool {
        observation.done()
    }

    #[inline]
    fn step_count(observation: &Observation) -> u32 {
        u32::from(observation.step_count)
    }

    fn score(&self) -> f64 {
        self.state.tally.score()
    }
}

impl PrivilegedState for Episode {
    type Hidden = Hidden;

    fn hidden(&self) -> &Hidden {
        &self.state.hidden
    }
}

impl AdaptiveDifficulty for Episode {
    fn with_difficulty(setup: &Setup, profile: DifficultyProfile) -> Setup {
        Setup { profile, ..*setup }
    }

    /// Reports the episode's detections and encounters to the controller. Under
    /// [`Change::Detection`], an episode without encounters is not reported; in the reference, it
    /// counts as a detection rate of 0 (quirk Q17).
    fn report_to(&self, controller: &mut DifficultyController) {
        let tally = self.tally();
        let encounters = tally.detections + tally.poisonings;
        if encounters > 0 || !self.setup.rules.has(Change::Detection) {
            controller.record_episode(tally.detections, encounters);
        }
    }
}

impl Episode {
    /// Creates an episode that matches the observation `now` and hides the state that `hypothesis`
    /// describes.
    ///
    /// `past` holds the public result of each action so far, in order. These actions are taken
    /// again with the results that they had, so that the totals are those of an episode with this
    /// hidden state. Of `setup`, only what payloads show is used: task, rules and difficulty.
    #[must_use]
    pub fn from_belief(
        setup: &Setup,
        now: &Observation,
        past: &[LastStep],
        hypothesis: &Hypothesis,
    ) -> Self {
        let hidden = hypothesis.hidden_at_start(now.adversary);
        let setup = Setup {
            variant: Some(now.variant),
            ..setup.with_seed(0)
        };
        let mut episode = Self {
            state: State::new(&setup, now.variant, hidden),
            setup,
        };
        for last in past {
            let hidden = &mut episode.state.hidden;
            hidden.set_next_draw(last.success == Some(true));
            // Under a hypothesis that the past excludes, the episode may end early.
            if episode.step(last.action).is_err() {
                break;
            }
        }
        episode.state.observation = *now;
        episode.with_outcome_seed(hypothesis.outcome_seed)
    }

    /// Returns the same episode with new outcome draws from here on, those of the stream `seed`.
    #[must_use]
    pub fn with_outcome_seed(mut self, seed: u64) -> Self {
        self.state.hidden = self.state.hidden.with_outcome_seed(seed);
        self
    }

    /// Returns the running totals of the episode.
    #[must_use]
    pub const fn tally(&self) -> &Tally {
        &self.state.tally
    }

    /// Returns the scenario with the stakes that are in force.
    #[must_use]
    pub const fn scenario(&self) -> &Scenario {
        &self.state.scenario
    }

    /// Returns the same episode with another hidden state, to show what would be observed from here
    /// on with other behaviors behind the slots. The number of outcome draws taken stays the same.
    #[cfg(feature = "testing")]
    #[must_use]
    pub fn with_hidden(mut self, hidden: Hidden) -> Self {
        self.state.hidden = hidden.with_draws_taken_in(&self.state.hidden);
        self.state.observation.adversary = hidden.adversary;
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adaptive_difficulty::AdversaryProfile;
    use crate::rng::Streams;
    use crate::slot::Slot;
    use crate::task::Task;
    use crate::trust::model::{Behavior, Rules};

    fn start(setup: &Setup, variant: u8, hidden: Hidden) -> Episode {
        Episode {
            state: State::new(setup, variant, hidden),
            setup: *setup,
        }
    }

    /// Checks that the observation at reset does not depend on the assignment of behaviors to
    /// slots.
    #[test]
    fn reset_observation_does_not_depend_on_assignment() {
        let setup = Setup::new(Task::Task3, 5, Streams::Independent);
        let (variant, hidden) = Hidden::from_seed(5, setup.streams, AdversaryProfile::default());
        let plain = start(&setup, variant, hidden);
        for turn in 0..5 {
            let mut behaviors = Behavior::ALL;
            behaviors.rotate_left(turn);
            let other = start(&setup, variant, hidden.with_assignment(behaviors));
            assert_eq!(other.observation(), plain.observation());
            assert_eq!(other.scenario(), plain.scenario());
        }
    }

    /// Checks that an episode rebuilt from its public history and the true assignment is the same,
    /// apart from the draws to come.
    #[test]
    fn episode_rebuilt_from_true_assignment_is_identical() {
        for (seed, task) in (0..60).zip(Task::ALL.into_iter().cycle()) {
            let rules = if seed % 2 == 0 {
                Rules::REFERENCE
            } else {
                Rules::HARDENED
            };
            let setup = Setup::new(task, seed, Streams::Independent).with_rules(rules);
            let mut episode = Episode::reset(&setup);
            let mut past = Vec::new();
            loop {
                let hypothesis = Hypothesis {
                    assignment: episode.hidden().assignment.0,
                    outcome_seed: 5,
                };
                let now = *episode.observation();
                let rebuilt = Episode::from_belief(&setup, &now, &past, &hypothesis);
                let original = episode.with_outcome_seed(5);
                assert_eq!(rebuilt.state.tally, original.state.tally, "{task} {seed}");
                assert_eq!(rebuilt.state.promised, original.state.promised);
                let (mut a, mut b) = (rebuilt, original);
                while let Ok(step) = a.step(Action::Verify(Slot::ALL[past.len() % 5])) {
                    let same = b.step(step.info.action).map(|other| other.reward);
                    assert_eq!(same, Ok(step.reward), "{task} {seed}");
                }
                assert_eq!(a.score(), b.score(), "{task} {seed}");
                let n = seed as usize + 7 * past.len();
                if episode.step(Action::ALL[n % Action::ALL.len()]).is_err() {
                    break;
                }
                past.extend(episode.observation().last);
            }
        }
    }

    /// Checks that the hidden state of an ended episode leaves all draws available to a fresh
    /// episode.
    #[test]
    fn hidden_state_of_ended_episode_restarts_draws() {
        let setup = Setup::new(Task::Task3, 5, Streams::Independent);
        let mut ended = Episode::reset(&setup);
        while ended.step(Action::Delegate(Slot::ALL[1])).is_ok() {}
        let mut fresh = Episode::reset(&setup).with_hidden(*ended.hidden());
        assert_eq!(fresh.hidden().draws_taken(), 0);
        while fresh.step(Action::Delegate(Slot::ALL[1])).is_ok() {}
        assert_eq!(fresh, ended);
    }
}
