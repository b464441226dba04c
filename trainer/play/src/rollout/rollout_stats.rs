//! Signals to watch while a model trains: numbers that degrade before the score does.

use std::collections::BTreeMap;
use std::fmt::Display;

use sentinel_policy::text::TextWorld;
use serde::Serialize;

use super::episode_summary::{EpisodeSummary, StepSummary};
use super::play::{Ending, Trajectory};

/// Counts and means over the rows or trajectories of a batch; rates are in `[0, 1]`.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct RolloutStats {
    /// The number of trajectories.
    pub episodes: usize,
    /// The number of completions.
    pub rows: usize,
    /// The mean score of the trajectories.
    pub avg_score: f64,
    /// The share of completions that are not an action.
    pub invalid_rate: f64,
    /// The share of completions that were parsed only after a repair.
    pub repaired_rate: f64,
    /// The share of trajectories that were aborted.
    pub aborted_rate: f64,
    /// The share of rows after the first that repeat the previous action: a policy that found one
    /// action that pays.
    pub repeated_action_rate: f64,
    /// The share of trajectories that consist of one repeated action.
    pub constant_policy_rate: f64,
    /// The mean reward of first steps. Training on first steps alone raises only this signal.
    pub first_step_reward: f64,
    /// The mean reward of later steps.
    pub later_reward: f64,
    /// The mean number of characters per completion.
    pub completion_characters: f64,
    /// The number of invalid completions by reason.
    pub reasons: BTreeMap<&'static str, usize>,
}

impl RolloutStats {
    /// Computes the signals of a batch; all 0 for an empty one.
    #[must_use]
    pub fn from_trajectories<W: TextWorld>(trajectories: &[Trajectory<W>]) -> Self {
        let mut sums = RolloutSums::default();
        for trajectory in trajectories {
            let steps = trajectory
                .rows
                .iter()
                .map(|row| StepSummary::new(&row.completion, &row.parsed, row.action, row.reward));
            sums.add_episode(trajectory.score, trajectory.ending, steps);
        }
        sums.stats()
    }

    /// Computes the signals of played episodes; all 0 without any.
    #[must_use]
    pub fn from_summaries<'a, W: TextWorld>(
        episodes: impl IntoIterator<Item = &'a EpisodeSummary<W>>,
    ) -> Self {
        let mut sums = RolloutSums::default();
        episodes.into_iter().for_each(|episode| sums.add(episode));
        sums.stats()
    }
}

/// The sums that [`RolloutStats`] are computed from. Their size does not depend on the number of
/// episodes.
#[derive(Clone, Debug, Default)]
pub struct RolloutSums {
    episodes: usize,
    rows: usize,
    score: Mean,
    invalid: Mean,
    repaired: Mean,
    aborted: Mean,
    repeated_action: Mean,
    constant_policy: Mean,
    first_step_reward: Mean,
    later_reward: Mean,
    characters: Mean,
    reasons: BTreeMap<&'static str, usize>,
}

impl RolloutSums {
    /// Adds the steps and the score of an episode.
    pub fn add<W: TextWorld>(&mut self, episode: &EpisodeSummary<W>) {
        let steps = episode.steps.iter().copied();
        self.add_episode(episode.score, episode.ending, steps);
    }

    fn add_episode<A: Display>(
        &mut self,
        score: f64,
        ending: Ending,
        steps: impl Iterator<Item = StepSummary<A>>,
    ) {
        self.episodes += 1;
        self.score.add(score);
        self.aborted.add_case(ending == Ending::Aborted);
        // Reasons that an action states are not part of its text.
        let (mut before, mut repeats, mut is_constant) = (None, false, true);
        for (index, step) in steps.enumerate() {
            self.rows += 1;
            self.invalid.add_case(step.repaired.is_err());
            self.repaired.add_case(step.repaired == Ok(true));
            if let Err(reason) = step.repaired {
                *self.reasons.entry(reason.name()).or_default() += 1;
            }
            self.characters.add(step.characters as f64);
            let rewards = if index == 0 {
                &mut self.first_step_reward
            } else {
                &mut self.later_reward
            };
            rewards.add(step.reward);
            let action = step.action.map(|action| action.to_string());
            if let (Some(before), Some(action)) = (&before, &action) {
                self.repeated_action.add_case(before == action);
                is_constant &= before == action;
                repeats = true;
            }
            before = action;
        }
        // Without two actions there is nothing to compare.
        if repeats {
            self.constant_policy.add_case(is_constant);
        }
    }

    /// Returns the signals of all episodes that were added; all 0 without any.
    #[must_use]
    pub fn stats(self) -> RolloutStats {
        RolloutStats {
            episodes: self.episodes,
            rows: self.rows,
            avg_score: self.score.value(),
            invalid_rate: self.invalid.value(),
            repaired_rate: self.repaired.value(),
            aborted_rate: self.aborted.value(),
            repeated_action_rate: self.repeated_action.value(),
            constant_policy_rate: self.constant_policy.value(),
            first_step_reward: self.first_step_reward.value(),
            later_reward: self.later_reward.value(),
            completion_characters: self.characters.value(),
            reasons: self.reasons,
        }
    }
}

/// The mean of the values that were added so far.
#[derive(Clone, Copy, Debug, Default)]
struct Mean {
    count: u64,
    sum: f64,
}

impl Mean {
    fn add(&mut self, value: f64) {
        self.count += 1;
        self.sum += value;
    }

    /// Adds 1 if a property holds, else 0.
    fn add_case(&mut self, holds: bool) {
        self.add(f64::from(u8::from(holds)));
    }

    /// Returns the mean; 0 without any value.
    fn value(self) -> f64 {
        self.sum / self.count.max(1) as f64
    }
}
