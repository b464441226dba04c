//! What a trainer says while it works. It prints nothing: bars, logs and files read these.

use serde::{Deserialize, Serialize};

use super::config::TrainConfig;
use super::evaluate::Scores;
use crate::rl::Metrics;

/// One thing that happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// Training begins, or goes on.
    Started {
        /// Everything that decides the run.
        config: Box<TrainConfig>,
        /// Updates that a checkpoint had already done.
        resumed_at: usize,
        /// How many numbers are trained.
        parameters: usize,
        /// When, in seconds since 1970.
        unix_time: f64,
    },
    /// An update was done.
    Step {
        /// Updates done.
        step: usize,
        /// What is logged about it.
        metrics: Metrics,
    },
    /// The policy was measured on the validation seeds.
    Eval {
        /// Updates done.
        step: usize,
        /// Greedy scores.
        scores: Scores,
    },
    /// Everything up to here is safe.
    Saved {
        /// Updates done.
        step: usize,
    },
    /// The policy was measured on the test seeds, and training is over.
    Finished {
        /// Updates done.
        step: usize,
        /// Greedy scores.
        scores: Scores,
        /// Scripted policies on the same seeds, by name.
        baselines: Vec<(String, Scores)>,
    },
}
