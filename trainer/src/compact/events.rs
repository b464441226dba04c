//! Events of a run. A trainer prints nothing: progress bars, logs and files read its events.

use serde::{Deserialize, Serialize};

use super::config::TrainConfig;
use super::evaluate::Scores;
use crate::rl::Metrics;

/// An event of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// Training began or resumed.
    Started {
        /// The configuration of the run.
        config: Box<TrainConfig>,
        /// Updates that were done before.
        resumed_at: usize,
        /// Number of trainable parameters.
        parameters: usize,
        /// Time in seconds since 1970.
        unix_time: f64,
    },
    /// An update was done.
    Step {
        /// Updates done.
        step: usize,
        /// Its metrics.
        metrics: Metrics,
    },
    /// The policy was evaluated on the validation seeds.
    Eval {
        /// Updates done.
        step: usize,
        /// Greedy scores.
        scores: Scores,
    },
    /// A checkpoint was written.
    Saved {
        /// Updates done.
        step: usize,
    },
    /// The best policy was evaluated on the test seeds, and training is over.
    Finished {
        /// Updates done.
        step: usize,
        /// Greedy scores.
        scores: Scores,
        /// Scripted policies on the same seeds, by name.
        baselines: Vec<(String, Scores)>,
    },
}
