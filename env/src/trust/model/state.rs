//! The whole state of an episode.

use super::hidden::Hidden;
use super::observation::Observation;
use super::scenario::Scenario;
use crate::num::mean_reward;
use crate::slot::PerSlot;

/// What is seen, what is hidden and what is counted: all that a step reads and changes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct State {
    pub(crate) observation: Observation,
    pub(crate) hidden: Hidden,
    pub(crate) scenario: Scenario,
    pub(crate) tally: Tally,
    /// Chances of success that the calls to each slot had, summed; kept under
    /// [`Change::Calibration`](super::Change::Calibration).
    pub(crate) promised: PerSlot<f64>,
}

/// Running totals.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Tally {
    /// Sum of all reward events, terminal included.
    pub total_reward: f64,
    /// Number of reward events; under [`Change::Unfinished`](super::Change::Unfinished) with one for
    /// each subtask that was left open.
    pub reward_events: u16,
    /// Actions taken.
    pub actions: u16,
    /// Poisonings kept out.
    pub detections: u16,
    /// Poisonings let in.
    pub poisonings: u16,
}

impl Tally {
    /// Returns the mean reward per event, 0..1: the episode's score (quirk Q3).
    #[must_use]
    pub fn score(&self) -> f64 {
        mean_reward(self.total_reward, self.reward_events)
    }
}
