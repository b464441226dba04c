//! The inputs and outputs of the loss.

use std::ops::Range;

use crate::config::LossConfig;
use crate::error::check_length;
use crate::{Metrics, RlError};

/// Description of the shape of most inputs.
const TOKENS: &str = "[batch, tokens]";

/// The advantages of a batch, per sequence or per token.
#[derive(Clone, Copy, Debug)]
pub enum Advantages<'a> {
    /// `[batch]`: one advantage for all tokens of a sequence.
    PerSequence(&'a [f64]),
    /// `[batch, tokens]`: one advantage per token, such as that of the step it belongs to.
    PerToken(&'a [f64]),
}

/// One micro-batch. Slices of shape `[batch, tokens]` are in row-major order; values where the mask
/// is `false` are never read.
#[derive(Clone, Copy, Debug)]
pub struct LossInput<'a> {
    /// Number of columns of each row.
    pub tokens: usize,
    /// `[batch, tokens]`: log-probabilities under the trained policy.
    pub logps: &'a [f64],
    /// `[batch, tokens]`: log-probabilities under the policy at the time of the rollout; `None`
    /// uses `logps`.
    pub old_logps: Option<&'a [f64]>,
    /// `[batch, tokens]`: log-probabilities under the reference policy; required if `beta` is not
    /// 0.
    pub ref_logps: Option<&'a [f64]>,
    /// `[batch, tokens]`: entropy of each token's distribution; required for the entropy bonus and
    /// for `top_entropy_quantile`.
    pub entropies: Option<&'a [f64]>,
    /// `[batch, tokens]`: `true` for tokens that the policy generated and that count; `false` for
    /// padding.
    pub completion_mask: &'a [bool],
    /// Advantages per sequence or per token.
    pub advantages: Advantages<'a>,
    /// Number of tokens in the whole generation over all processes; required by `dapo`, `cispo`,
    /// `vespo`.
    pub num_items_in_batch: Option<f64>,
    /// `[batch, tokens]` or `[batch]`: ratio of old policy over sampler, see
    /// [`importance_sampling`](crate::importance_sampling).
    pub importance_sampling_ratio: Option<&'a [f64]>,
    /// `[batch, tokens]`: log-probabilities that the sampler reported; NaN where it reported none.
    pub sampling_logps: Option<&'a [f64]>,
}

/// The loss with its gradients and metrics.
#[derive(Clone, Debug, PartialEq)]
pub struct LossOutput {
    /// Value of the loss, which is minimized.
    pub loss: f64,
    /// `[batch, tokens]`: derivative of the loss by `logps`.
    pub grad_logps: Vec<f64>,
    /// `[batch, tokens]`: derivative of the loss by `entropies`; `None` without entropy bonus.
    pub grad_entropies: Option<Vec<f64>>,
    /// Logged values by name.
    pub metrics: Metrics,
}

/// An input with checked shapes, its mask and lengths.
pub(super) struct Batch<'a> {
    pub(super) input: &'a LossInput<'a>,
    pub(super) rows: usize,
    pub(super) tokens: usize,
    /// `[batch, tokens]`: `true` for completion tokens that count.
    pub(super) mask: Vec<bool>,
    /// `[batch]`: number of tokens of each row in the mask.
    pub(super) lengths: Vec<f64>,
}

impl<'a> Batch<'a> {
    /// Checks the shapes of the input, and counts the tokens of each row.
    pub(super) fn new(config: &LossConfig, input: &'a LossInput<'a>) -> Result<Self, RlError> {
        let (size, tokens) = (input.logps.len(), input.tokens);
        let rows = size.checked_div(tokens).unwrap_or(0);
        check_length("logps", size, rows * tokens, TOKENS)?;
        let mask = input.completion_mask;
        check_length("completion_mask", mask.len(), size, TOKENS)?;
        let values = [
            ("old_logps", input.old_logps),
            ("ref_logps", input.ref_logps),
            ("entropies", input.entropies),
            ("sampling_logps", input.sampling_logps),
        ];
        for (name, values) in values {
            check_length(name, values.map_or(size, <[f64]>::len), size, TOKENS)?;
        }
        match input.advantages {
            Advantages::PerSequence(all) => {
                check_length("advantages", all.len(), rows, "[batch]")?;
            }
            Advantages::PerToken(all) => check_length("advantages", all.len(), size, TOKENS)?,
        }
        if let Some(all) = input.importance_sampling_ratio.filter(|r| r.len() != rows) {
            let shape = "[batch, tokens] or [batch]";
            check_length("importance_sampling_ratio", all.len(), size, shape)?;
        }
        if config.beta != 0.0 && input.ref_logps.is_none() {
            return Err(RlError::Missing {
                option: "beta",
                input: "ref_logps",
            });
        }
        let count = |row: &[bool]| row.iter().filter(|on| **on).count() as f64;
        let lengths = mask.chunks(tokens.max(1)).map(count).collect();
        Ok(Self {
            input,
            rows,
            tokens,
            mask: mask.to_vec(),
            lengths,
        })
    }

    /// Returns the flat indices of a row.
    pub(super) const fn row(&self, row: usize) -> Range<usize> {
        row * self.tokens..(row + 1) * self.tokens
    }

    /// Returns the advantage at a flat index.
    pub(super) fn advantage(&self, at: usize) -> f64 {
        match self.input.advantages {
            Advantages::PerSequence(all) => all[at / self.tokens],
            Advantages::PerToken(all) => all[at],
        }
    }

    /// Returns `true` if all tokens of a row share one advantage.
    pub(super) const fn shares_advantage(&self) -> bool {
        matches!(self.input.advantages, Advantages::PerSequence(_))
    }

    /// Returns the log of new over old probability at a flat index.
    pub(super) fn log_ratio(&self, at: usize) -> f64 {
        self.input
            .old_logps
            .map_or(0.0, |old| self.input.logps[at] - old[at])
    }

    /// Sums `value` over the masked positions of a row.
    pub(super) fn row_sum(&self, row: usize, value: impl Fn(usize) -> f64) -> f64 {
        self.row(row).filter(|at| self.mask[*at]).map(value).sum()
    }
}
