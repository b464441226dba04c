//! The importance ratio of new over old policy, per token or per sequence.

use super::input::Batch;
use crate::rl::config::ImportanceSamplingLevel;

/// The ratio at every position.
pub(super) struct Ratio {
    level: ImportanceSamplingLevel,
    /// `[batch, tokens]`: the ratio; in a row all the same at the level of sequences, and 1
    /// outside of the mask at the level of tokens.
    pub(super) coef: Vec<f64>,
}

impl Ratio {
    /// `exp(logp - old)` per token, or its geometric mean over a sequence's tokens (GSPO eq. 7).
    pub(super) fn new(level: ImportanceSamplingLevel, batch: &Batch<'_>) -> Self {
        let mut coef = vec![1.0; batch.mask.len()];
        for row in 0..batch.rows {
            match level {
                ImportanceSamplingLevel::Token => {
                    for at in batch.row(row).filter(|at| batch.mask[*at]) {
                        coef[at] = batch.log_ratio(at).exp();
                    }
                }
                ImportanceSamplingLevel::Sequence => {
                    let sum = batch.row_sum(row, |at| batch.log_ratio(at));
                    coef[batch.row(row)].fill((sum / batch.lengths[row].max(1.0)).exp());
                }
            }
        }
        Self { level, coef }
    }

    /// Whether all tokens of a row share one ratio.
    pub(super) fn is_shared(&self) -> bool {
        self.level == ImportanceSamplingLevel::Sequence
    }

    /// The gradient by log-probabilities, from that which is `direct` and that `through` the
    /// logarithm of the ratio, both `[batch, tokens]`.
    ///
    /// A sequence's log-ratio is the mean of its tokens', so each of them receives an equal share
    /// of all that goes through it.
    pub(super) fn gradient(
        &self,
        batch: &Batch<'_>,
        mut direct: Vec<f64>,
        through: &[f64],
    ) -> Vec<f64> {
        for row in 0..batch.rows {
            let share = batch.row_sum(row, |at| through[at]) / batch.lengths[row].max(1.0);
            for at in batch.row(row).filter(|at| batch.mask[*at]) {
                direct[at] += if self.is_shared() { share } else { through[at] };
            }
        }
        direct
    }
}
