//! How much one token weighs, per loss type.

use super::input::Batch;
use crate::rl::RlError;
use crate::rl::config::{LossConfig, LossType};

/// The weights of the tokens of each row.
pub(super) struct Normaliser {
    weights: Vec<f64>,
    /// The loss over this is the loss of a micro-batch; `policy_loss` is logged before.
    pub(super) accumulation: f64,
}

impl Normaliser {
    /// The weights for a batch.
    ///
    /// # Errors
    /// If the loss type divides by the tokens of the generation, and their number is missing.
    pub(super) fn new(config: &LossConfig, batch: &Batch<'_>) -> Result<Self, RlError> {
        let rows = batch.rows as f64;
        let each = |weight: f64| vec![weight; batch.rows];
        let mut accumulation = config.gradient_accumulation_steps;
        let weights = match config.loss_type {
            LossType::Grpo | LossType::Sapo => {
                let mean = |length: &f64| 1.0 / (length.max(1.0) * rows);
                batch.lengths.iter().map(mean).collect()
            }
            LossType::Bnpo => each(1.0 / batch.lengths.iter().sum::<f64>().max(1.0)),
            LossType::DrGrpo => each(1.0 / (rows * config.max_completion_length as f64)),
            LossType::Luspo => each(1.0 / rows),
            LossType::Dapo | LossType::Cispo | LossType::Vespo => {
                let items = batch.input.num_items_in_batch.ok_or(RlError::Missing {
                    option: "loss_type",
                    input: "num_items_in_batch",
                })?;
                accumulation = 1.0;
                each(1.0 / window(config, items))
            }
        };
        Ok(Self {
            weights,
            accumulation,
        })
    }

    /// The weight of each token of a row.
    pub(super) fn weight(&self, row: usize) -> f64 {
        self.weights[row]
    }
}

/// The tokens of one process in one optimizer step, from those of a generation over all.
fn window(config: &LossConfig, items: f64) -> f64 {
    let accumulation = config.gradient_accumulation_steps;
    let steps = config.steps_per_generation;
    let per_step = accumulation / steps.map_or(accumulation, |steps| steps as f64);
    items.max(1.0) / config.num_processes as f64 * per_step
}
