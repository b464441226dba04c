//! What TRL logs about a batch.
//!
//! A value of one token is averaged over the tokens of the mask. A value of a whole sequence (a
//! clip at the level of sequences, VESPO's weight) is averaged over the sequences.

use super::input::Batch;
use super::ratio::Ratio;
use crate::rl::Metrics;
use crate::rl::config::{LossConfig, LossType};

/// The mean over all tokens of the mask, 0 when it is empty.
pub(super) fn token_mean(batch: &Batch<'_>, values: &[f64]) -> f64 {
    let sum: f64 = (0..batch.rows)
        .map(|row| batch.row_sum(row, |at| values[at]))
        .sum();
    sum / batch.lengths.iter().sum::<f64>().max(1.0)
}

/// Entropy, and the clip fractions or the weight of the loss type.
pub(super) fn record(
    config: &LossConfig,
    batch: &Batch<'_>,
    ratio: &Ratio,
    phi: Option<&[f64]>,
    metrics: &mut Metrics,
) {
    if let Some(entropies) = batch.input.entropies {
        metrics.insert("entropy".into(), token_mean(batch, entropies));
    }
    let shared = ratio.is_shared() && batch.shares_advantage();
    match config.loss_type {
        LossType::Grpo | LossType::Bnpo | LossType::DrGrpo | LossType::Dapo | LossType::Luspo => {
            clip_fractions(config, batch, ratio, shared, metrics);
        }
        LossType::Cispo => {
            let high = config.epsilon_high();
            let clipped = |at| ratio.coef[at] > high && batch.advantage(at) > 0.0;
            let mean = mean(batch, &flags(batch, clipped), shared);
            metrics.insert("cispo_clip_ratio".into(), mean);
        }
        LossType::Vespo => {
            let mean = phi.map(|phi| mean(batch, phi, batch.shares_advantage()));
            metrics.extend(mean.map(|mean| ("vespo/phi_seq_mean".into(), mean)));
        }
        LossType::Sapo => {}
    }
}

/// How often the clip holds a ratio back, below, above and either.
fn clip_fractions(
    config: &LossConfig,
    batch: &Batch<'_>,
    ratio: &Ratio,
    shared: bool,
    metrics: &mut Metrics,
) {
    let (low, high) = (1.0 - config.epsilon, 1.0 + config.epsilon_high());
    let delta = config.delta.unwrap_or(f64::INFINITY);
    let coef = |at: usize| ratio.coef[at].min(delta);
    let low = flags(batch, |at| coef(at) < low && batch.advantage(at) < 0.0);
    let high = flags(batch, |at| coef(at) > high && batch.advantage(at) > 0.0);
    let region: Vec<f64> = low.iter().zip(&high).map(|(a, b)| a.max(*b)).collect();
    // NaN, the mean of a row without tokens, is passed over by both.
    let least = row_means(batch, &low, shared).fold(f64::NAN, f64::min);
    let most = row_means(batch, &high, shared).fold(f64::NAN, f64::max);
    let values = [
        ("clip_ratio/low_mean", mean(batch, &low, shared)),
        ("clip_ratio/high_mean", mean(batch, &high, shared)),
        ("clip_ratio/region_mean", mean(batch, &region, shared)),
        ("clip_ratio/low_min", least),
        ("clip_ratio/high_max", most),
    ];
    metrics.extend(values.map(|(name, value)| (name.to_owned(), value)));
}

/// `[batch, tokens]`: 1 where something holds, else 0.
fn flags(batch: &Batch<'_>, holds: impl Fn(usize) -> bool) -> Vec<f64> {
    let all = 0..batch.mask.len();
    all.map(|at| f64::from(u8::from(holds(at)))).collect()
}

/// The mean over sequences when each has one value, else over tokens.
fn mean(batch: &Batch<'_>, values: &[f64], shared: bool) -> f64 {
    if !shared {
        return token_mean(batch, values);
    }
    row_means(batch, values, true).sum::<f64>() / (batch.rows.max(1) as f64)
}

/// The value of each sequence: its only one, or the mean over its tokens (NaN without any).
fn row_means<'a>(
    batch: &'a Batch<'_>,
    values: &'a [f64],
    shared: bool,
) -> impl Iterator<Item = f64> + 'a {
    (0..batch.rows).map(move |row| {
        if shared {
            values[row * batch.tokens]
        } else {
            batch.row_sum(row, |at| values[at]) / batch.lengths[row]
        }
    })
}
