//! The interface between a training run and the algorithm that it runs, and the state that changes
//! from step to step.

use sentinel_lm::{CausalLm, Grads, Optimizer};
use sentinel_rl::{Metrics, Schedule};
use sentinel_run::distributed::ProcessGroup;
use serde::{Deserialize, Serialize};

use super::error::RunError;

/// The results of one update, which takes one or several optimizer steps.
#[derive(Clone, Debug, Default)]
pub struct Update {
    /// Metrics of each optimizer step.
    pub steps: Vec<Metrics>,
    /// Warnings to show to the user.
    pub warnings: Vec<String>,
    /// Sampled completions of the update, for `completions/`; empty if the algorithm samples none.
    pub completions: Vec<LoggedCompletion>,
}

/// A completion with its rewards: a row of `completions/`, with the columns that TRL writes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LoggedCompletion {
    /// Index of its group within the update.
    pub group: usize,
    /// Text of the prompt.
    pub prompt: String,
    /// Text of the completion.
    pub completion: String,
    /// Rewards of the completion by name.
    #[serde(flatten)]
    pub rewards: Metrics,
    /// Advantage relative to the completion's group.
    pub advantage: f64,
    /// Tokens of the completion with their log-probabilities; only in the last update of a run.
    #[serde(flatten)]
    pub tokens: Option<LoggedTokens>,
}

/// The tokens of a logged completion, and their log-probabilities under the model that the run ends
/// with, by which a saved model can be compared with the one that was trained.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LoggedTokens {
    /// Tokens of the prompt, including the chat template.
    pub prompt_ids: Vec<u32>,
    /// Tokens of the completion, including the stop token.
    pub completion_ids: Vec<u32>,
    /// Log-probability of each token of the completion, at the run's temperature.
    pub logps: Vec<f64>,
}

/// A training algorithm for language models.
pub trait LmAlgorithm {
    /// Returns the name of the method: `sft` or `grpo`.
    fn method(&self) -> &'static str;
    /// Returns the number of rows per optimizer step.
    fn batch_size(&self) -> usize;
    /// Returns the number of optimizer steps in a pass over the data.
    fn steps_per_epoch(&self) -> usize;
    /// Returns counts that describe the training data.
    fn data_counts(&self) -> Metrics;
    /// Returns warnings to show before the first step.
    fn warnings(&self) -> Vec<String>;
    /// Returns the names of further options that may differ when a run is resumed.
    fn resumable_overrides(&self) -> &'static [&'static str] {
        &[]
    }
    /// Returns the ranks that train together; a single process by default. The algorithm of every rank takes
    /// the same steps.
    fn process_group(&self) -> ProcessGroup {
        ProcessGroup::default()
    }
    /// Trains until the next point at which a run can stop and resume. All random numbers follow
    /// from the seed and `state.done`.
    ///
    /// # Errors
    /// If a loss or gradient is not finite, or the device or an episode fails.
    fn update(&mut self, state: &mut State) -> Result<Update, RunError>;
}

/// The training state of a model.
pub struct State {
    /// Model that is trained.
    pub model: CausalLm,
    /// Optimizer with its moments.
    pub optimizer: Optimizer,
    /// Learning rate by optimizer step.
    pub schedule: Schedule,
    /// Number of optimizer steps taken.
    pub done: usize,
    /// Number of tokens read in training, without padding.
    pub tokens: u64,
    /// Model with the best validation score so far. It shares the tensors that have not been
    /// trained since.
    pub best: Option<Best>,
}

/// A copy of the model at an earlier step.
#[derive(Clone)]
pub struct Best {
    /// Number of optimizer steps taken by then.
    pub step: usize,
    /// Score on the validation seeds.
    pub score: f64,
    /// Model at that step.
    pub model: CausalLm,
}

impl State {
    /// Takes an optimizer step, and adds loss, gradient norm and learning rate to `metrics`.
    ///
    /// # Errors
    /// If the loss or the gradient is not finite, in which case nothing changes, or the device
    /// cannot be read.
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

    /// Returns the model to save: the best one so far, or the trained one if there is none.
    #[must_use]
    pub fn best_model(&self) -> &CausalLm {
        self.best.as_ref().map_or(&self.model, |best| &best.model)
    }

    /// Returns `true` if all steps were taken.
    #[must_use]
    pub const fn is_finished(&self) -> bool {
        self.done >= self.schedule.total
    }
}
