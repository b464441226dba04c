//! What changes from step to step, and the one way in which it changes.

use super::error::RunError;
use super::schedule::Schedule;
use crate::lm::{Grads, Optimizer, Qwen2};
use crate::rl::Metrics;

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
