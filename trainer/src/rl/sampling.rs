//! The mask of a completion, and the correction for a sampler that is not quite the policy: another engine,
//! or other arithmetic.

use serde::{Deserialize, Serialize};

use super::error::check_length;
use super::stats::min_mean_max;
use super::{Metrics, RlError};

/// TRL's `vllm_importance_sampling_mode`: one ratio per token or sequence, bounded or dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
#[value(rename_all = "snake_case")]
pub enum SamplingMode {
    /// Per token, clipped into the bounds.
    TokenTruncate,
    /// Per token, 0 outside of the bounds.
    TokenMask,
    /// Per sequence, clipped into the bounds.
    SequenceTruncate,
    /// Per sequence, 0 outside of the bounds.
    SequenceMask,
}

impl SamplingMode {
    /// Whether a sequence has one ratio.
    #[must_use]
    pub const fn per_sequence(self) -> bool {
        matches!(self, Self::SequenceTruncate | Self::SequenceMask)
    }
}

/// How ratios are bounded: `vllm_importance_sampling_mode`, `_clip_min` and `_clip_max`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SamplingConfig {
    /// Per token or sequence, bounded or dropped.
    pub mode: SamplingMode,
    /// No ratio below this.
    pub clip_min: Option<f64>,
    /// No ratio above this.
    pub clip_max: Option<f64>,
}

/// Returns which tokens of a completion carry loss: all of them, or with `mask_truncated` (TRL:
/// `mask_truncated_completions`, DAPO's overlong filter) none of one that was truncated.
#[must_use]
pub fn completion_mask(length: usize, truncated: bool, mask_truncated: bool) -> Vec<bool> {
    vec![!(truncated && mask_truncated); length]
}

/// The ratios of old policy over sampler, and what is logged about them.
#[derive(Clone, Debug, PartialEq)]
pub struct SamplingRatio {
    /// `[batch]` per sequence, else `[batch, tokens]`.
    pub ratios: Vec<f64>,
    /// `sampling/sampling_logp_difference/mean`, `/max` and
    /// `sampling/importance_sampling_ratio/min`, `/mean`, `/max`.
    pub metrics: Metrics,
}

/// The ratios of old policy over sampler (truncated and masked importance sampling).
///
/// `old_logps`, `sampling_logps` and `loss_mask` are `[batch, tokens]`, `tokens` wide. A token
/// outside of the mask, or that the sampler gave no log-probability (NaN), differs by nothing. A
/// sequence's ratio is the product of its tokens'.
///
/// # Errors
/// If a slice does not have its shape.
pub fn importance_sampling_ratio(
    config: SamplingConfig,
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
    let ratios: Vec<f64> = logs
        .iter()
        .map(|log: &f64| bound(config, log.exp()))
        .collect();

    let counted = (0..size).filter(|at| known(*at));
    let apart: Vec<f64> = counted.map(|at| differences[at].abs()).collect();
    let (_, mean_apart, most_apart) = min_mean_max(&apart);
    let counted = ratios.iter().enumerate();
    let counted = counted.filter(|(at, _)| per_sequence || loss_mask[*at]);
    let counted: Vec<f64> = counted.map(|(_, ratio)| *ratio).collect();
    let (min, mean, max) = min_mean_max(&counted);
    let metrics = [
        ("sampling/sampling_logp_difference/mean", mean_apart),
        ("sampling/sampling_logp_difference/max", most_apart),
        ("sampling/importance_sampling_ratio/min", min),
        ("sampling/importance_sampling_ratio/mean", mean),
        ("sampling/importance_sampling_ratio/max", max),
    ];
    let metrics = metrics.map(|(name, value)| (name.to_owned(), value));
    Ok(SamplingRatio {
        ratios,
        metrics: metrics.into_iter().collect(),
    })
}

/// A ratio within the bounds: moved there, or 0 when it is outside.
fn bound(config: SamplingConfig, ratio: f64) -> f64 {
    let low = config.clip_min.unwrap_or(f64::NEG_INFINITY);
    let high = config.clip_max.unwrap_or(f64::INFINITY);
    match config.mode {
        SamplingMode::TokenTruncate | SamplingMode::SequenceTruncate => ratio.max(low).min(high),
        SamplingMode::TokenMask | SamplingMode::SequenceMask => {
            if ratio < low || ratio > high {
                0.0
            } else {
                ratio
            }
        }
    }
}
