//! The parts of the loss: policy terms per loss type, importance ratios, the KL term, token masks
//! and weights, and metrics.

use super::input::Batch;
use crate::config::{ImportanceSamplingLevel, LossConfig, LossType};
use crate::{Metrics, RlError};

/// A value with its two derivatives.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Term {
    pub(super) value: f64,
    /// Derivative by the log-probability, with the importance ratio held constant.
    pub(super) by_logp: f64,
    /// Derivative by the logarithm of the importance ratio.
    pub(super) by_ratio: f64,
}

impl Term {
    /// Returns the term scaled by a factor. A factor of 0 removes the term, even one that is not
    /// finite.
    pub(super) fn times(self, factor: f64) -> Self {
        if factor == 0.0 {
            return Self::default();
        }
        Self {
            value: self.value * factor,
            by_logp: self.by_logp * factor,
            by_ratio: self.by_ratio * factor,
        }
    }

    /// Returns the sum of two terms.
    pub(super) fn plus(self, other: Self) -> Self {
        Self {
            value: self.value + other.value,
            by_logp: self.by_logp + other.by_logp,
            by_ratio: self.by_ratio + other.by_ratio,
        }
    }
}

/// Returns the term to minimize for a token with ratio `coef` and log-probability `logp`. `phi` is
/// VESPO's weight; other loss types ignore it.
pub(super) fn policy_term(
    config: &LossConfig,
    coef: f64,
    advantage: f64,
    logp: f64,
    phi: f64,
) -> Term {
    match config.loss_type {
        LossType::Grpo | LossType::Bnpo | LossType::DrGrpo | LossType::Dapo | LossType::Luspo => {
            clipped(config, coef, advantage)
        }
        LossType::Cispo => weighted(coef.min(config.epsilon_high()), advantage, logp),
        LossType::Sapo => gated(config, coef, advantage),
        LossType::Vespo => weighted(phi, advantage, logp),
    }
}

/// Applies PPO's clip: the smaller of `A * min(r, delta)` and `A * clip(r)`, negated.
///
/// The derivative of a bound is 1 up to and including the bound and 0 beyond it. If both branches
/// are equal, each counts half, as in automatic differentiation.
fn clipped(config: &LossConfig, coef: f64, advantage: f64) -> Term {
    let (low, high) = (1.0 - config.epsilon, 1.0 + config.epsilon_high());
    let delta = config.delta.unwrap_or(f64::INFINITY);
    let slope = |inside: bool| if inside { coef * advantage } else { 0.0 };
    let free = (coef.min(delta) * advantage, slope(coef <= delta));
    let bounded = (
        coef.max(low).min(high) * advantage,
        slope(low <= coef && coef <= high),
    );
    let (value, by_ratio) = if free.0 < bounded.0 {
        free
    } else if bounded.0 < free.0 {
        bounded
    } else {
        (free.0, f64::midpoint(free.1, bounded.1))
    };
    Term {
        value: -value,
        by_logp: 0.0,
        by_ratio: -by_ratio,
    }
}

/// Returns REINFORCE with a constant weight, `-w * A * logp` (CISPO, VESPO).
fn weighted(weight: f64, advantage: f64, logp: f64) -> Term {
    Term {
        value: -weight * advantage * logp,
        by_logp: -weight * advantage,
        by_ratio: 0.0,
    }
}

/// Returns SAPO's soft gate, `-A * 4 / t * sigmoid(t * (r - 1))`, where `t` depends on the sign of
/// the advantage.
fn gated(config: &LossConfig, coef: f64, advantage: f64) -> Term {
    let temperature = if advantage > 0.0 {
        config.sapo_temperature_pos
    } else {
        config.sapo_temperature_neg
    };
    let sigmoid = 1.0 / (1.0 + (-temperature * (coef - 1.0)).exp());
    // At a very large ratio the slope is 0, not 0 times infinity.
    let slope = sigmoid * (1.0 - sigmoid);
    let slope = if slope == 0.0 { 0.0 } else { slope * coef };
    Term {
        value: -advantage * sigmoid * 4.0 / temperature,
        by_logp: 0.0,
        by_ratio: -advantage * 4.0 * slope,
    }
}

/// Bound of the absolute log-ratio, per token and per sequence.
const LOG_MAX: f64 = 20.0;
/// Smallest ratio of a sequence or of the sampler's correction.
const RATIO_MIN: f64 = 1e-8;
/// Smallest value of the decay lambda.
const LAMBDA_MIN: f64 = 1e-4;

/// Returns VESPO's gamma weights `w^k * exp(lambda * (1 - w))`, `[batch, tokens]`, which are 1 at
/// `w = 1`.
///
/// `w` is the ratio of the whole sequence (a product, not GSPO's mean), times the sampler's
/// correction if there is one; `k` and `lambda` depend on the sign of the advantage.
pub(super) fn vespo_weights(config: &LossConfig, batch: &Batch<'_>) -> Vec<f64> {
    let mut phi = vec![0.0; batch.mask.len()];
    for row in 0..batch.rows {
        let bounded = |at| batch.log_ratio(at).clamp(-LOG_MAX, LOG_MAX);
        let log = batch.row_sum(row, bounded) + log_correction(batch, row);
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

/// Returns the log of the sampler's correction of a row; tokens outside of the mask do not count.
fn log_correction(batch: &Batch<'_>, row: usize) -> f64 {
    let log = |ratio: f64| ratio.ln().clamp(RATIO_MIN.ln(), LOG_MAX);
    match batch.input.importance_sampling_ratio {
        None => 0.0,
        Some(ratios) if ratios.len() == batch.rows => log(ratios[row]),
        Some(ratios) => batch.row_sum(row, |at| log(ratios[at])),
    }
}

/// The importance ratio at every position.
pub(super) struct Ratio {
    level: ImportanceSamplingLevel,
    /// `[batch, tokens]`: the ratio. At the level of sequences it is equal within a row; at the
    /// level of tokens it is 1 outside of the mask.
    pub(super) coef: Vec<f64>,
}

impl Ratio {
    /// Computes `exp(logp - old)` per token, or its geometric mean over a sequence's tokens (GSPO
    /// eq. 7).
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

    /// Returns `true` if all tokens of a row share one ratio.
    pub(super) fn is_shared(&self) -> bool {
        self.level == ImportanceSamplingLevel::Sequence
    }

    /// Returns the gradient by log-probabilities, `[batch, tokens]`, from the `direct` part and the
    /// part `through` the logarithm of the ratio.
    ///
    /// The log-ratio of a sequence is the mean over its tokens, so each token receives an equal
    /// share of the gradient through it.
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

/// Returns Schulman's k3 estimate `exp(d) - d - 1` for `d = ref - logp`, which is never negative.
///
/// If `corrected` holds the importance ratio, the estimate is multiplied by it, which makes it
/// unbiased for actions of the old policy (DeepSeek-V3.2; TRL: `use_bias_correction_kl`).
pub(super) fn k3(difference: f64, corrected: Option<f64>) -> Term {
    let value = difference.exp() - difference - 1.0;
    let by_logp = 1.0 - difference.exp();
    let ratio = corrected.unwrap_or(1.0);
    Term {
        value: value * ratio,
        by_logp: by_logp * ratio,
        by_ratio: corrected.map_or(0.0, |ratio| value * ratio),
    }
}

/// Returns the factor of the policy term (not of the divergence), `[batch, tokens]`.
///
/// It is 0 for tokens with negative advantage in a sequence that is too far off policy, and for
/// tokens of low entropy; otherwise it is the sampler's correction or 1. VESPO's weight already
/// includes the correction.
pub(super) fn policy_weights(
    config: &LossConfig,
    batch: &Batch<'_>,
    high_entropy: Option<&[bool]>,
) -> Vec<f64> {
    let mut policy_weights = vec![1.0; batch.mask.len()];
    let ratios = batch.input.importance_sampling_ratio;
    let ratios = ratios.filter(|_| config.loss_type != LossType::Vespo);
    for row in 0..batch.rows {
        let limit = config.off_policy_mask_threshold;
        let far = limit.is_some_and(|limit| drift(batch, row) > limit);
        for at in batch.row(row) {
            if (far && batch.advantage(at) < 0.0) || high_entropy.is_some_and(|high| !high[at]) {
                policy_weights[at] = 0.0;
            } else if let Some(ratios) = ratios {
                policy_weights[at] = ratios[if ratios.len() == batch.rows { row } else { at }];
            }
        }
    }
    policy_weights
}

/// Returns the mean of `log sampler - log policy` over a sequence (DeepSeek-V3.2's off-policy mask;
/// TRL: `off_policy_mask_threshold`). If the sampler reported nothing, the old policy is used
/// instead; a single token without a report counts 0.
fn drift(batch: &Batch<'_>, row: usize) -> f64 {
    let input = batch.input;
    let sampler = input.sampling_logps.or(input.old_logps);
    let Some(sampler) = sampler else { return 0.0 };
    let token = |at: usize| Some(sampler[at] - input.logps[at]).filter(|kl| !kl.is_nan());
    batch.row_sum(row, |at| token(at).unwrap_or(0.0)) / batch.lengths[row].max(1.0)
}

/// Returns the tokens whose entropy is among the highest `top_entropy_quantile` of the batch,
/// `[batch, tokens]` ("beyond the 80/20 rule", 2506.01939); `None` if all tokens count.
///
/// # Errors
/// If the option needs entropies that are missing.
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

/// Returns a quantile of `sorted` by linear interpolation, in single precision as in TRL, so that
/// the same tokens are chosen; infinity for an empty slice.
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

/// The weights of the tokens of each row.
pub(super) struct Normaliser {
    weights: Vec<f64>,
    /// Divisor of the summed loss of a micro-batch; `policy_loss` is logged before the division.
    pub(super) accumulation: f64,
}

impl Normaliser {
    /// Computes the weights for a batch.
    ///
    /// # Errors
    /// If the loss type divides by the number of tokens of the generation, and that is missing.
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

    /// Returns the weight of each token of a row.
    pub(super) fn weight(&self, row: usize) -> f64 {
        self.weights[row]
    }
}

/// Returns the number of tokens of one process in one optimizer step, from the `items` tokens of a
/// generation over all processes.
fn window(config: &LossConfig, items: f64) -> f64 {
    let accumulation = config.gradient_accumulation_steps;
    let steps = config.steps_per_generation;
    let per_step = accumulation / steps.map_or(accumulation, |steps| steps as f64);
    items.max(1.0) / config.num_processes as f64 * per_step
}

/// Returns the mean over all tokens of the mask; 0 if it is empty.
pub(super) fn token_mean(batch: &Batch<'_>, values: &[f64]) -> f64 {
    let sum: f64 = (0..batch.rows)
        .map(|row| batch.row_sum(row, |at| values[at]))
        .sum();
    sum / batch.lengths.iter().sum::<f64>().max(1.0)
}

/// Records the entropy, and the clip fractions or the mean weight of the loss type.
pub(super) fn record_metrics(
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

/// Records the fractions of ratios that are clipped below, above and on either side.
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
    // NaN, the mean of a row without tokens, is skipped by `min` and `max`.
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

/// Returns 1 where a condition holds and 0 elsewhere, `[batch, tokens]`.
fn flags(batch: &Batch<'_>, holds: impl Fn(usize) -> bool) -> Vec<f64> {
    let all = 0..batch.mask.len();
    all.map(|at| f64::from(u8::from(holds(at)))).collect()
}

/// Returns the mean over sequences if each has one value, or else over tokens.
fn mean(batch: &Batch<'_>, values: &[f64], shared: bool) -> f64 {
    if !shared {
        return token_mean(batch, values);
    }
    row_means(batch, values, true).sum::<f64>() / (batch.rows.max(1) as f64)
}

/// Returns the value of each sequence: its shared value, or the mean over its tokens (NaN without
/// any).
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
