//! What a run says while it works. It prints nothing: bars, logs and files read these.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::rl::Metrics;

/// One thing that happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// Training begins, or goes on.
    Started {
        /// `sft` or `grpo`.
        method: String,
        /// All options by name.
        config: Value,
        /// Steps that a checkpoint had already done.
        resumed_at: usize,
        /// Optimizer steps of the whole run.
        total: usize,
        /// Numbers in the model.
        parameters: usize,
        /// Numbers that are trained.
        trained: usize,
        /// Whether a tiny new model stands in for one that could not be found.
        fallback: bool,
        /// When, in seconds since 1970.
        unix_time: f64,
    },
    /// What there is to learn from.
    Data {
        /// Counts by name.
        counts: Metrics,
    },
    /// Something that a person should know about.
    Warning {
        /// Steps done.
        step: usize,
        /// What.
        text: String,
    },
    /// An optimizer step was taken.
    Step {
        /// Steps done.
        step: usize,
        /// Passes over the data.
        epoch: f64,
        /// What is logged about it.
        metrics: Metrics,
    },
    /// Everything up to here is safe.
    Saved {
        /// Steps done.
        step: usize,
    },
    /// Somebody asked the run to stop; a checkpoint was written.
    Interrupted {
        /// Steps done.
        step: usize,
    },
    /// Training is over.
    Finished {
        /// Steps done.
        step: usize,
        /// Seconds of all steps together.
        seconds: f64,
    },
}
