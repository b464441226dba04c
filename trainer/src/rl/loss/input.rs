//! What the loss is computed from, and what it returns.

use std::ops::Range;

use crate::rl::config::LossConfig;
use crate::rl::error::check_length;
use crate::rl::{Metrics, RlError};

/// The shape of most inputs.
const TOKENS: &str = "[batch, tokens]";

/// How much better than expected an action was.
#[derive(Clone, Copy, Debug)]
pub enum Advantages<'a> {
    /// `[batch]`: one for all tokens of a sequence.
    PerSequence(&'a [f64]),
    /// `[batch, tokens]`: one per token, such as an advantage of the step it belongs to.
    PerToken(&'a [f64]),
}

/// One micro-batch. Slices of shape `[batch, tokens]` hold row after row; values where the mask
/// is false are never read.
#[derive(Clone, Copy, Debug)]
pub struct LossInput<'a> {
    /// Columns of each row.
    pub tokens: usize,
    /// `[batch, tokens]`: log-probabilities under the policy that is trained.
    pub logps: &'a [f64],
    /// `[batch, tokens]`: under the policy at the time of the rollout; `logps` itself if absent.
    pub old_logps: Option<&'a [f64]>,
    /// `[batch, tokens]`: under the reference policy; needed when `beta` is not 0.
    pub ref_logps: Option<&'a [f64]>,
    /// `[batch, tokens]`: entropy of each token's distribution; needed for the bonus and for
    /// `top_entropy_quantile`.
    pub entropies: Option<&'a [f64]>,
    /// `[batch, tokens]`: true on the tokens that the policy wrote and that count; false on padding.
    pub completion_mask: &'a [bool],
    /// One advantage per sequence or per token.
    pub advantages: Advantages<'a>,
    /// Tokens of the whole generation over all processes; needed by `dapo`, `cispo`, `vespo`.
    pub num_items_in_batch: Option<f64>,
    /// `[batch, tokens]` or `[batch]`: old policy over sampler, see
    /// [`sampling`](crate::rl::sampling).
    pub importance_sampling_ratio: Option<&'a [f64]>,
    /// `[batch, tokens]`: log-probabilities that the sampler reported, NaN where it had none.
    pub sampling_logps: Option<&'a [f64]>,
}

/// The loss and its gradients.
#[derive(Clone, Debug, PartialEq)]
pub struct LossOutput {
    /// What is minimised.
    pub loss: f64,
    /// `[batch, tokens]`: derivative of the loss by `logps`.
    pub grad_logps: Vec<f64>,
    /// `[batch, tokens]`: derivative by `entropies`, when the bonus is on.
    pub grad_entropies: Option<Vec<f64>>,
    /// Logged values.
    pub metrics: Metrics,
}

/// An input whose shapes were checked, with its mask and lengths.
pub(super) struct Batch<'a> {
    pub(super) input: &'a LossInput<'a>,
    pub(super) rows: usize,
    pub(super) tokens: usize,
    /// Completion tokens that the policy wrote.
    pub(super) mask: Vec<bool>,
    /// Tokens of each row in the mask.
    pub(super) lengths: Vec<f64>,
}

impl<'a> Batch<'a> {
    /// Checks the shapes and joins the masks.
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

    /// The positions of a row.
    pub(super) const fn row(&self, row: usize) -> Range<usize> {
        row * self.tokens..(row + 1) * self.tokens
    }

    /// The advantage of a position.
    pub(super) fn advantage(&self, at: usize) -> f64 {
        match self.input.advantages {
            Advantages::PerSequence(all) => all[at / self.tokens],
            Advantages::PerToken(all) => all[at],
        }
    }

    /// Whether all tokens of a row share one advantage.
    pub(super) const fn shares_advantage(&self) -> bool {
        matches!(self.input.advantages, Advantages::PerSequence(_))
    }

    /// The log of new over old probability at a position.
    pub(super) fn log_ratio(&self, at: usize) -> f64 {
        self.input
            .old_logps
            .map_or(0.0, |old| self.input.logps[at] - old[at])
    }

    /// The sum over the masked positions of a row.
    pub(super) fn row_sum(&self, row: usize, value: impl Fn(usize) -> f64) -> f64 {
        self.row(row).filter(|at| self.mask[*at]).map(value).sum()
    }
}
