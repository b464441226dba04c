//! The episode of the cluster world: reset and step, without allocation (spec cluster §2, §3).

use super::dynamics::{Hypothesis, Outcome};
use super::model::{
    Action, Audit, Hidden, LastStep, Observation, Reliability, ReportView, Setup, State, Step,
    StepError, Tally, health, waste,
};
use crate::adaptive_difficulty::{DifficultyController, DifficultyProfile};
use crate::environment::{AdaptiveDifficulty, Environment, PrivilegedState, Transition};
use crate::rng::Streams;

/// An episode of the cluster world, as a plain value: a copy continues exactly as the original
/// does.
#[derive(Clone, Debug, PartialEq)]
pub struct Episode {
    state: State,
    setup: Setup,
}

impl Environment for Episode {
    type Setup = Setup;
    type Action = Action;
    type Observation = Observation;
    type Info = Step;
    type StepError = StepError;

    fn reset(setup: &Setup) -> Self {
        Self {
            state: State::new(setup),
            setup: *setup,
        }
    }

    /// Applies one action. An action that names existing jobs, GPUs and workers but fails still
    /// uses up its step.
    fn step(&mut self, action: Action) -> Result<Transition<Step>, StepError> {
        self.check(action)?;
        let state = &mut self.state;
        state.observation.step_count += 1;
        // §5: the adversary moves first.
        let mut attack = state.adversary_turn();
        // §4: the action.
        let outcome = state.apply_action(action, attack.as_mut());
        // §4.6, §7: jobs progress, GPUs fail and recover.
        let completed = state.advance();
        let tick = state.tick_pool();
        let states = state.hidden.pool.counts();
        state.observation.health = health(states, state.rules());
        state.observation.utilization = state.hidden.pool.utilization();
        // §8.1: loops, drift and attacks are counted.
        let (looped, drifted) = state.update_counters(action, &outcome, attack.as_ref(), completed);
        // §8: the reward.
        let grades = state.grade(outcome.coherence, waste(states));
        state.tally.total_reward += grades.reward;
        state.tally.reward_events += 1;
        state.observation.last = Some(LastStep {
            action,
            success: outcome.success,
            statement: outcome.report.map(|report| ReportView {
                worker: report.worker,
                job: report.job,
                reported: report.reported,
            }),
            reward: grades.reward,
        });
        state.refresh_observation();
        // §9: the end.
        let terminal = state.finish();
        let Outcome {
            success,
            report,
            caught,
            preempted,
            ..
        } = outcome;
        Ok(Transition {
            // On the last step, the terminal reward replaces the step's own reward.
            reward: terminal.map_or(grades.reward, |end| end.reward),
            // Running out of steps counts as termination, because the limit is visible and part of
            // the reward.
            terminated: terminal.is_some(),
            truncated: false,
            info: Step {
                action,
                success,
                attack,
                report,
                caught,
                preempted,
                completed,
                tick,
                grades,
                looped,
                drifted,
                terminal,
            },
        })
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

    fn report_to(&self, controller: &mut DifficultyController) {
        let counters = &self.state.observation.counters;
        controller.record_episode(counters.detections, counters.attempts);
    }
}

impl Episode {
    /// Returns an error if the episode has ended or the action names something that the task does
    /// not have.
    fn check(&self, action: Action) -> Result<(), StepError> {
        let o = &self.state.observation;
        if o.done {
            return Err(StepError::Over);
        }
        let jobs = o.jobs.rows().len() as u8;
        if let Some(job) = action.job().filter(|job| job.0 >= jobs) {
            return Err(StepError::UnknownJob { job, jobs });
        }
        let gpus = o.gpu_count;
        if let Some(gpu) = action.gpu().filter(|gpu| gpu.0 >= gpus) {
            return Err(StepError::UnknownGpu { gpu, gpus });
        }
        Ok(())
    }

    /// Creates an episode that matches `observation` and hides the state that `hypothesis`
    /// describes. `tally` must have recorded the observations so far with
    /// [`Tally::record_observation`].
    #[must_use]
    pub fn from_belief(observation: &Observation, tally: &Tally, hypothesis: &Hypothesis) -> Self {
        Self::from_state(State::from_belief(observation, tally, hypothesis))
    }

    fn from_state(state: State) -> Self {
        let o = &state.observation;
        let setup = Setup {
            profile: o.profile,
            rules: o.rules,
            ..Setup::new(o.task, 0, Streams::Independent)
        };
        Self { state, setup }
    }

    /// Returns the same episode with new draws of failures and attacks from here on, those of the
    /// streams `seed`.
    #[must_use]
    pub fn with_outcome_seed(mut self, seed: u64) -> Self {
        self.state.hidden = self.state.hidden.with_outcome_seed(seed);
        self
    }

    /// Returns the reliability scores of the scheduler itself.
    #[must_use]
    pub fn reliability(&self) -> Reliability {
        self.state.reliability()
    }

    /// Returns the running totals of the episode.
    #[must_use]
    pub const fn tally(&self) -> &Tally {
        &self.state.tally
    }

    /// Returns the counts of the audit ledger.
    #[must_use]
    pub const fn audit(&self) -> &Audit {
        &self.state.audit
    }

    /// Returns the same episode with another hidden state, to show what would be observed from here
    /// on with other behaviors behind the slots.
    #[cfg(feature = "testing")]
    #[must_use]
    pub fn with_hidden(mut self, hidden: Hidden) -> Self {
        self.state.hidden = hidden;
        self.state.refresh_observation();
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::model::{Behavior, Change, JOBS_MAX, Rules};
    use crate::slot::{SLOTS, Slot};
    use crate::task::Task;

    /// Returns a mix of allocations, verifications and report requests, by step.
    fn action(step: usize) -> Action {
        let worker = Some(Slot::ALL[step * 7 % SLOTS]);
        match step % 4 {
            0 | 1 => Action::Allocate {
                job: None,
                gpu: None,
                worker,
            },
            2 => Action::Verify {
                job: None,
                worker,
                force_flag: false,
            },
            _ => Action::RequestInfo { job: None, worker },
        }
    }

    #[test]
    fn tally_from_observations_matches_episode_tally() {
        for rules in [Rules::REFERENCE, Rules::HARDENED.without(Change::Choices)] {
            let setup = Setup::new(Task::Task3, 4, Streams::Independent).with_rules(rules);
            let mut episode = Episode::reset(&setup);
            let mut watched = Tally::default();
            for step in 0..40 {
                episode.step(action(step)).expect("it runs on");
                watched.record_observation(episode.observation());
                watched.attacks_seen = episode.tally().attacks_seen;
                watched.placements = episode.tally().placements;
                assert_eq!(&watched, episode.tally());
            }
        }
    }

    /// Checks that an episode rebuilt from the observation and the true hidden state continues as
    /// the original does.
    #[test]
    fn episode_rebuilt_from_hidden_state_continues_identically() {
        let setup = Setup::new(Task::Task3, 9, Streams::Independent)
            .with_rules(Rules::HARDENED.without(Change::Choices));
        let mut episode = Episode::reset(&setup);
        let mut watched = Tally::default();
        for step in 0..30 {
            let state =
                State::from_hidden_state(episode.observation(), &watched, episode.hidden().clone());
            let (mut a, mut b) = (episode.clone(), Episode::from_state(state));
            let (x, y) = (a.step(action(step)), b.step(action(step)));
            assert_eq!(x.expect("runs").info.grades, y.expect("runs").info.grades);
            assert_eq!(a.observation().jobs, b.observation().jobs);
            episode = a;
            watched.record_observation(episode.observation());
        }
    }

    /// Checks that an episode built from a belief matches the observation and can be played to its
    /// end under any hypothesis.
    #[test]
    fn episode_from_belief_can_be_played_to_end() {
        for seed in 0..30 {
            let setup = Setup::new(Task::Task3, seed, Streams::Independent)
                .with_rules(Rules::HARDENED.without(Change::Choices));
            let mut episode = Episode::reset(&setup);
            let mut watched = Tally::default();
            for step in 0..50 {
                if episode.step(action(step)).is_err() {
                    break;
                }
                watched.record_observation(episode.observation());
                let hypothesis = Hypothesis {
                    assignment: Behavior::ALL,
                    progress: std::array::from_fn(|i| {
                        episode.observation().jobs.rows()[i].reported
                    }),
                    priorities: [3; JOBS_MAX],
                    degrading_calls: 2,
                    level: 1 + (step % 5) as u8,
                    open: None,
                    outcome_seed: seed,
                };
                let mut supposed =
                    Episode::from_belief(episode.observation(), &watched, &hypothesis);
                assert_eq!(supposed.observation(), episode.observation());
                for next in 0.. {
                    if supposed.step(action(next)).is_err() {
                        break;
                    }
                }
                assert!(supposed.observation().done());
            }
        }
    }
}
