//! VESPO's weight of a sequence.

use super::input::Batch;
use crate::rl::config::LossConfig;

/// Bound of a log-ratio, per token and per sequence.
const LOG_MAX: f64 = 20.0;
/// The least ratio, of a sequence or of the sampler's correction.
const RATIO_MIN: f64 = 1e-8;
/// The least decay.
const LAMBDA_MIN: f64 = 1e-4;

/// `[batch, tokens]`: the gamma weight `w^k * exp(lambda * (1 - w))`, which is 1 at `w = 1`.
///
/// `w` is the ratio of the whole sequence (a product, not GSPO's mean), times the sampler's
/// correction when there is one; `k` and `lambda` go by the sign of the advantage.
pub(super) fn weights(config: &LossConfig, batch: &Batch<'_>) -> Vec<f64> {
    let mut phi = vec![0.0; batch.mask.len()];
    for row in 0..batch.rows {
        let bounded = |at| batch.log_ratio(at).clamp(-LOG_MAX, LOG_MAX);
        let log = batch.row_sum(row, bounded) + correction(batch, row);
        let log = log.clamp(RATIO_MIN.ln(), LOG_MAX);
        for at in batch.row(row) {
            let (k, lambda) = if batch.advantage(at) >= 0.0 {
                (config.vespo_k_pos, config.vespo_lambda_pos)
            } else {
                (config.vespo_k_neg, config.vespo_lambda_neg)
            };
            let lambda = lambda.max(LAMBDA_MIN);
            let weight = (lambda + k * log - lambda * log.exp()).exp();
            phi[at] = if weight.is_finite() { weight } else { 0.0 };
        }
    }
    phi
}

/// The log of the sampler's correction of a row; where the mask is off it is 1.
fn correction(batch: &Batch<'_>, row: usize) -> f64 {
    let log = |ratio: f64| ratio.ln().clamp(RATIO_MIN.ln(), LOG_MAX);
    match batch.input.importance_sampling_ratio {
        None => 0.0,
        Some(ratios) if ratios.len() == batch.rows => log(ratios[row]),
        Some(ratios) => batch.row_sum(row, |at| log(ratios[at])),
    }
}
