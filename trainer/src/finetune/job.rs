//! A way to train a language model, as the run around it sees it: what an algorithm implements, and what changes from
//! step to step.

use serde::Serialize;

use super::error::RunError;
use super::schedule::Schedule;
use crate::lm::{Grads, Optimizer, Qwen2};
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
    fn resumable_overrides(&self) -> &'static [&'static str] {
        &[]
    }
    /// Learns until the next point at which a run can stop and go on. All that it draws follows
    /// from the seed and `state.done`.
    ///
    /// # Errors
    /// If a number is not finite, or the device or an episode fails.
    fn update(&mut self, state: &mut State) -> Result<Update, RunError>;
}

/// A model in training.
pub struct State {
    /// The model.
    pub model: Qwen2,
    /// Its optimizer.
    pub optimizer: Optimizer,
    /// The learning rate by step.
    pub schedule: Schedule,
    /// Optimizer steps done.
    pub done: usize,
    /// Tokens read in training, without padding.
    pub tokens: u64,
    /// The model that scored best on the validation seeds so far. It shares every tensor that was not
    /// trained since.
    pub best: Option<Best>,
}

/// A model of an earlier step.
#[derive(Clone)]
pub struct Best {
    /// Steps done by then.
    pub step: usize,
    /// Its score on the validation seeds.
    pub score: f64,
    /// The model.
    pub model: Qwen2,
}

impl State {
    /// Takes an optimizer step; adds loss, norm and learning rate to what is logged about it.
    ///
    /// # Errors
    /// If the loss or the gradient is not finite, when nothing has changed, or the device cannot be
    /// read.
    pub fn step(&mut self, loss: f64, grads: Grads, metrics: &mut Metrics) -> Result<(), RunError> {
        let not_finite = |what| RunError::NotFinite {
            step: self.done + 1,
            what,
            saved: String::new(),
        };
        if !loss.is_finite() {
            return Err(not_finite("loss"));
        }
        let rate = self.schedule.at(self.done);
        let norm = self.optimizer.step(&mut self.model, grads, rate)?;
        if !norm.is_finite() {
            return Err(not_finite("norm of the gradient"));
        }
        self.done += 1;
        metrics.insert("loss".into(), loss);
        metrics.insert("grad_norm".into(), norm);
        metrics.insert("learning_rate".into(), rate);
        metrics.insert("num_tokens".into(), self.tokens as f64);
        Ok(())
    }

    /// Returns the model that is handed out: the best one so far, or else the one that is trained.
    #[must_use]
    pub fn best_model(&self) -> &Qwen2 {
        self.best.as_ref().map_or(&self.model, |best| &best.model)
    }

    /// Whether all steps were taken.
    #[must_use]
    pub const fn finished(&self) -> bool {
        self.done >= self.schedule.total
    }
}
