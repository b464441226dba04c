//! The loss mask of a completion, and importance sampling for a sampler that differs from the
//! policy, such as another engine or another precision.

use serde::{Deserialize, Serialize};

use super::error::check_length;
use super::metrics::min_mean_max;
use super::{Metrics, RlError};

/// TRL's `vllm_importance_sampling_mode`: ratios per token or per sequence, clipped or masked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
#[value(rename_all = "snake_case")]
pub enum ImportanceSamplingMode {
    /// One ratio per token, clipped to the bounds
    TokenTruncate,
    /// One ratio per token, 0 outside of the bounds
    TokenMask,
    /// One ratio per sequence, clipped to the bounds
    SequenceTruncate,
    /// One ratio per sequence, 0 outside of the bounds
    SequenceMask,
}

impl ImportanceSamplingMode {
    /// Returns `true` if there is one ratio per sequence.
    #[must_use]
    pub const fn per_sequence(self) -> bool {
        matches!(self, Self::SequenceTruncate | Self::SequenceMask)
    }
}

/// The options of [`importance_sampling_ratio`]: TRL's `vllm_importance_sampling_mode`, `_clip_min`
/// and `_clip_max`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ImportanceSamplingConfig {
    /// Level of the ratios, and the treatment of those outside of the bounds.
    pub mode: ImportanceSamplingMode,
    /// Lower bound of the ratio; `None` for no bound.
    pub clip_min: Option<f64>,
    /// Upper bound of the ratio; `None` for no bound.
    pub clip_max: Option<f64>,
}

/// Returns the loss mask of a completion of `length` tokens: all `true`, except that a truncated
/// completion is all `false` if `mask_truncated` (TRL: `mask_truncated_completions`, DAPO's
/// overlong filter).
#[must_use]
pub fn completion_mask(length: usize, truncated: bool, mask_truncated: bool) -> Vec<bool> {
    vec![!(truncated && mask_truncated); length]
}

/// The ratios of old policy over sampler, with their metrics.
#[derive(Clone, Debug, PartialEq)]
pub struct SamplingRatio {
    /// Ratios with shape `[batch]` per sequence, or else `[batch, tokens]`.
    pub ratios: Vec<f64>,
    /// TRL's metrics: `sampling/sampling_logp_difference/mean`, `/max` and
    /// `sampling/importance_sampling_ratio/min`, `/mean`, `/max`.
    pub metrics: Metrics,
    /// Metrics of the ratios before the bounds, which TRL does not log:
    /// `sampling/importance_sampling_ratio/raw_min`, `/raw_mean`, `/raw_max` and `/outside`, the share
    /// outside of the bounds.
    pub raw_metrics: Metrics,
}

/// Computes the ratios of old policy over sampler (truncated and masked importance sampling).
///
/// `old_logps`, `sampling_logps` and `loss_mask` have shape `[batch, tokens]`. A token that is
/// outside of the mask, or for which the sampler reported no log-probability (NaN), counts as equal
/// under both. The ratio of a sequence is the product of its tokens' ratios.
///
/// # Errors
/// If a slice does not have its shape.
pub fn importance_sampling_ratio(
    config: ImportanceSamplingConfig,
    tokens: usize,
    old_logps: &[f64],
    sampling_logps: &[f64],
    loss_mask: &[bool],
) -> Result<SamplingRatio, RlError> {
    let size = old_logps.len();
    let whole = size.checked_div(tokens).unwrap_or(0) * tokens;
    let shape = "[batch, tokens]";
    check_length("old_logps", size, whole, shape)?;
    check_length("sampling_logps", sampling_logps.len(), size, shape)?;
    check_length("loss_mask", loss_mask.len(), size, shape)?;

    let known = |at: usize| loss_mask[at] && !(old_logps[at] - sampling_logps[at]).is_nan();
    let difference = |at: usize| {
        if known(at) {
            old_logps[at] - sampling_logps[at]
        } else {
            0.0
        }
    };
    let differences: Vec<f64> = (0..size).map(difference).collect();
    let per_sequence = config.mode.per_sequence();
    let logs = if per_sequence {
        let rows = differences.chunks(tokens.max(1));
        rows.map(|row| row.iter().sum()).collect()
    } else {
        differences.clone()
    };
    let raw: Vec<f64> = logs.iter().map(|log: &f64| log.exp()).collect();
    let ratios: Vec<f64> = raw.iter().map(|ratio| bound(config, *ratio)).collect();

    let counted = (0..size).filter(|at| known(*at));
    let apart: Vec<f64> = counted.map(|at| differences[at].abs()).collect();
    let (_, mean_apart, most_apart) = min_mean_max(&apart);
    let counted = |ratios: &[f64]| -> Vec<f64> {
        let counted = ratios.iter().enumerate();
        let counted = counted.filter(|(at, _)| per_sequence || loss_mask[*at]);
        counted.map(|(_, ratio)| *ratio).collect()
    };
    let (min, mean, max) = min_mean_max(&counted(&ratios));
    let raw = counted(&raw);
    let (raw_min, raw_mean, raw_max) = min_mean_max(&raw);
    let is_outside = |ratio: &&f64| bound(config, **ratio) != **ratio;
    let outside = raw.iter().filter(is_outside).count() as f64 / raw.len().max(1) as f64;
    let metrics = [
        ("sampling/sampling_logp_difference/mean", mean_apart),
        ("sampling/sampling_logp_difference/max", most_apart),
        ("sampling/importance_sampling_ratio/min", min),
        ("sampling/importance_sampling_ratio/mean", mean),
        ("sampling/importance_sampling_ratio/max", max),
    ];
    let raw_metrics = [
        ("sampling/importance_sampling_ratio/raw_min", raw_min),
        ("sampling/importance_sampling_ratio/raw_mean", raw_mean),
        ("sampling/importance_sampling_ratio/raw_max", raw_max),
        ("sampling/importance_sampling_ratio/outside", outside),
    ];
    let named = |(name, value): (&str, f64)| (name.to_owned(), value);
    Ok(SamplingRatio {
        ratios,
        metrics: metrics.into_iter().map(named).collect(),
        raw_metrics: raw_metrics.into_iter().map(named).collect(),
    })
}

/// Applies the bounds to a ratio: clips it, or returns 0 if it is outside.
fn bound(config: ImportanceSamplingConfig, ratio: f64) -> f64 {
    let low = config.clip_min.unwrap_or(f64::NEG_INFINITY);
    let high = config.clip_max.unwrap_or(f64::INFINITY);
    match config.mode {
        ImportanceSamplingMode::TokenTruncate | ImportanceSamplingMode::SequenceTruncate => {
            ratio.max(low).min(high)
        }
        ImportanceSamplingMode::TokenMask | ImportanceSamplingMode::SequenceMask => {
            if ratio < low || ratio > high {
                0.0
            } else {
                ratio
            }
        }
    }
}
