//! Which tokens carry the policy term, and how much of it.

use super::input::Batch;
use crate::rl::RlError;
use crate::rl::config::{LossConfig, LossType};

/// `[batch, tokens]`: the factor of the policy term (not of the divergence): 0 for a sequence
/// that is too far off policy or a token of low entropy, else the sampler's correction or 1.
/// VESPO's weight has the correction inside.
pub(super) fn gates(
    config: &LossConfig,
    batch: &Batch<'_>,
    high_entropy: Option<&[bool]>,
) -> Vec<f64> {
    let mut gates = vec![1.0; batch.mask.len()];
    let ratios = batch.input.importance_sampling_ratio;
    let ratios = ratios.filter(|_| config.loss_type != LossType::Vespo);
    for row in 0..batch.rows {
        let limit = config.off_policy_mask_threshold;
        let far = limit.is_some_and(|limit| drift(batch, row) > limit);
        for at in batch.row(row) {
            if (far && batch.advantage(at) < 0.0) || high_entropy.is_some_and(|high| !high[at]) {
                gates[at] = 0.0;
            } else if let Some(ratios) = ratios {
                gates[at] = ratios[if ratios.len() == batch.rows { row } else { at }];
            }
        }
    }
    gates
}

/// The mean of `log sampler - log policy` over a sequence (DeepSeek-V3.2's off-policy mask; TRL:
/// `off_policy_mask_threshold`). The sampler is the old policy where it reported nothing at all;
/// a single token without a report counts 0.
fn drift(batch: &Batch<'_>, row: usize) -> f64 {
    let input = batch.input;
    let sampler = input.sampling_logps.or(input.old_logps);
    let Some(sampler) = sampler else { return 0.0 };
    let token = |at: usize| Some(sampler[at] - input.logps[at]).filter(|kl| !kl.is_nan());
    batch.row_sum(row, |at| token(at).unwrap_or(0.0)) / batch.lengths[row].max(1.0)
}

/// `[batch, tokens]`: the tokens whose entropy is among the highest `top_entropy_quantile` of
/// the batch ("beyond the 80/20 rule", 2506.01939); none when all of them count.
///
/// # Errors
/// If the option asks for entropies that are not there.
pub(super) fn high_entropy(
    config: &LossConfig,
    batch: &Batch<'_>,
) -> Result<Option<Vec<bool>>, RlError> {
    if config.top_entropy_quantile >= 1.0 {
        return Ok(None);
    }
    let entropies = batch.input.entropies.ok_or(RlError::Missing {
        option: "top_entropy_quantile",
        input: "entropies",
    })?;
    let masked = entropies.iter().zip(&batch.mask).filter(|(_, on)| **on);
    let mut sorted: Vec<f32> = masked.map(|(entropy, _)| *entropy as f32).collect();
    sorted.sort_by(f32::total_cmp);
    let threshold = quantile(&sorted, (1.0 - config.top_entropy_quantile) as f32);
    let high = |at: usize| batch.mask[at] && entropies[at] as f32 >= threshold;
    Ok(Some((0..entropies.len()).map(high).collect()))
}

/// The quantile between the two nearest of `sorted`, in single precision as TRL takes it, so
/// that the same tokens are chosen; infinity of nothing.
fn quantile(sorted: &[f32], share: f32) -> f32 {
    let Some(last) = sorted.len().checked_sub(1) else {
        return f32::INFINITY;
    };
    let rank = share * last as f32;
    let below = (rank.floor() as usize).min(last);
    let above = (rank.ceil() as usize).min(last);
    let (low, high) = (sorted[below], sorted[above]);
    let part = rank - rank.floor();
    if part < 0.5 {
        low + part * (high - low)
    } else {
        high - (high - low) * (1.0 - part)
    }
}
