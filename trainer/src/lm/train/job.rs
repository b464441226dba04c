//! A way to train a language model, as the run around it sees it.

use serde::Serialize;

use super::error::RunError;
use super::state::State;
use crate::rl::Metrics;

/// What one update gave: one or several optimizer steps.
#[derive(Clone, Debug, Default)]
pub struct Update {
    /// What is logged about each step.
    pub steps: Vec<Metrics>,
    /// What a person should know about.
    pub warnings: Vec<String>,
    /// Completions that were learned from, for `completions/`; of a job that samples some.
    pub completions: Vec<LoggedCompletion>,
}

/// A completion with what it earned: a row of `completions/`, with the columns that TRL writes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LoggedCompletion {
    /// Number of its group within the update.
    pub group: usize,
    /// What the model read.
    pub prompt: String,
    /// What it wrote.
    pub completion: String,
    /// Rewards by name.
    #[serde(flatten)]
    pub rewards: Metrics,
    /// How much better than its group it was.
    pub advantage: f64,
}

/// A way to train.
pub trait Job {
    /// `sft` or `grpo`.
    fn method(&self) -> &'static str;
    /// Rows that one optimizer step learns from.
    fn batch_size(&self) -> usize;
    /// Optimizer steps of a pass over the data.
    fn steps_per_epoch(&self) -> usize;
    /// What there is to learn from.
    fn data(&self) -> Metrics;
    /// What a person should know before the first step.
    fn warnings(&self) -> Vec<String>;
    /// Further options that may differ when a run goes on.
    fn free(&self) -> &'static [&'static str] {
        &[]
    }
    /// Learns until the next point at which a run can stop and go on. All that it draws follows
    /// from the seed and `state.done`.
    ///
    /// # Errors
    /// If a number is not finite, or the device or an episode fails.
    fn update(&mut self, state: &mut State) -> Result<Update, RunError>;
}
