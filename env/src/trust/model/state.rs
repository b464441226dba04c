//! The complete state of an episode.

use super::hidden::Hidden;
use super::observation::Observation;
use super::scenario::Scenario;
use crate::num::mean_reward;
use crate::slot::PerSlot;

/// The observation, the hidden state and the totals: everything that a step reads and changes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct State {
    pub(crate) observation: Observation,
    pub(crate) hidden: Hidden,
    pub(crate) scenario: Scenario,
    pub(crate) tally: Tally,
    /// Sum of the success chances of the calls to each slot; updated only under
    /// [`Change::Calibration`](super::Change::Calibration).
    pub(crate) promised: PerSlot<f64>,
}

/// The running totals of an episode.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Tally {
    /// Sum of all reward events, terminal included.
    pub total_reward: f64,
    /// Number of reward events; under [`Change::Unfinished`](super::Change::Unfinished), it
    /// includes one for each subtask left open at the end.
    pub reward_events: u16,
    /// Number of actions taken.
    pub actions: u16,
    /// Number of poisoned answers that were caught.
    pub detections: u16,
    /// Number of poisoned answers that were believed.
    pub poisonings: u16,
}

impl Tally {
    /// Returns the mean reward per event, 0..=1, which is the episode's score (quirk Q3).
    #[must_use]
    pub fn score(&self) -> f64 {
        mean_reward(self.total_reward, self.reward_events)
    }
}
