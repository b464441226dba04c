//! The policy term of one token, per loss type.

use crate::rl::config::{LossConfig, LossType};

/// A value and its two derivatives.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Term {
    pub(super) value: f64,
    /// By the log-probability, the importance ratio held constant.
    pub(super) by_logp: f64,
    /// By the logarithm of the importance ratio.
    pub(super) by_ratio: f64,
}

impl Term {
    /// Scaled. A factor of 0 removes the term, even one that is not finite.
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

    /// The sum of two.
    pub(super) fn plus(self, other: Self) -> Self {
        Self {
            value: self.value + other.value,
            by_logp: self.by_logp + other.by_logp,
            by_ratio: self.by_ratio + other.by_ratio,
        }
    }
}

/// The term to minimise for a token of ratio `coef` and log-probability `logp`; `phi` is VESPO's
/// weight and not read by the others.
pub(super) fn term(config: &LossConfig, coef: f64, advantage: f64, logp: f64, phi: f64) -> Term {
    match config.loss_type {
        LossType::Grpo | LossType::Bnpo | LossType::DrGrpo | LossType::Dapo | LossType::Luspo => {
            clipped(config, coef, advantage)
        }
        LossType::Cispo => weighted(coef.min(config.epsilon_high()), advantage, logp),
        LossType::Sapo => gated(config, coef, advantage),
        LossType::Vespo => weighted(phi, advantage, logp),
    }
}

/// PPO's clip: the smaller of `A * min(r, delta)` and `A * clip(r)`, negated.
///
/// The derivative of a bound is 1 up to and including the bound and 0 beyond. Of two branches
/// that are equal each counts half, which is what automatic differentiation does.
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

/// REINFORCE with a constant weight: `-w * A * logp` (CISPO, VESPO).
fn weighted(weight: f64, advantage: f64, logp: f64) -> Term {
    Term {
        value: -weight * advantage * logp,
        by_logp: -weight * advantage,
        by_ratio: 0.0,
    }
}

/// SAPO's soft gate: `-A * 4 / t * sigmoid(t * (r - 1))`, `t` by the sign of the advantage.
fn gated(config: &LossConfig, coef: f64, advantage: f64) -> Term {
    let temperature = if advantage > 0.0 {
        config.sapo_temperature_pos
    } else {
        config.sapo_temperature_neg
    };
    let sigmoid = 1.0 / (1.0 + (-temperature * (coef - 1.0)).exp());
    // At a huge ratio the slope is 0, not 0 times infinity.
    let slope = sigmoid * (1.0 - sigmoid);
    let slope = if slope == 0.0 { 0.0 } else { slope * coef };
    Term {
        value: -advantage * sigmoid * 4.0 / temperature,
        by_logp: 0.0,
        by_ratio: -advantage * 4.0 * slope,
    }
}
