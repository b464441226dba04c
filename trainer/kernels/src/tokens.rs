//! Log-probabilities of tokens under the distributions that logits give.

use pulp::Arch;

use crate::exp::exp;
use crate::reduce::largest;

/// Number of logits whose exponentials are computed before they are added.
const BLOCK: usize = 256;
/// Number of sums that a reduction adds up separately.
const LANES: usize = 8;

/// Returns the sum of `exp((x - most) / temperature)`, in f64.
#[must_use]
pub fn exp_sum(x: &[f32], most: f32, temperature: f32) -> f64 {
    Arch::new().dispatch(
        #[inline(always)]
        || {
            let mut block = [0.0; BLOCK];
            let mut total = 0.0;
            for x in x.chunks(BLOCK) {
                let block = &mut block[..x.len()];
                for (weight, x) in block.iter_mut().zip(x) {
                    *weight = exp((x - most) / temperature);
                }
                total += sum(block);
            }
            total
        },
    )
}

/// Returns the sum of a slice, in f64.
#[inline(always)]
fn sum(x: &[f32]) -> f64 {
    let (vectors, rest) = x.as_chunks::<LANES>();
    let mut sums = [0.0_f64; LANES];
    for x in vectors {
        for lane in 0..LANES {
            sums[lane] += f64::from(x[lane]);
        }
    }
    for (sum, x) in sums.iter_mut().zip(rest) {
        *sum += f64::from(*x);
    }
    sums.iter().sum()
}

/// Writes `exp((x - most) / temperature)` of each number to `out`.
pub fn weights(x: &[f32], most: f32, temperature: f32, out: &mut [f32]) {
    Arch::new().dispatch(
        #[inline(always)]
        || {
            for (out, x) in out.iter_mut().zip(x) {
                *out = exp((x - most) / temperature);
            }
        },
    );
}

/// Statistics of one token's distribution.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TokenStats {
    /// Log-probability of the token.
    pub logp: f32,
    /// Log-probability of the most likely token.
    pub max_logp: f32,
    /// Entropy of the distribution, in nats.
    pub entropy: f32,
}

/// Returns the statistics of `target` under the distribution of `logits` at `temperature`. A target
/// outside of the vocabulary has the log-probability NaN.
#[must_use]
pub fn token_stats(logits: &[f32], target: usize, temperature: f32) -> TokenStats {
    Arch::new().dispatch(
        #[inline(always)]
        || {
            let most = largest(logits);
            let (total, along) = mass(logits, most, temperature);
            let log_total = total.ln();
            let target = logits.get(target).copied().unwrap_or(f32::NAN);
            TokenStats {
                logp: (f64::from((target - most) / temperature) - log_total) as f32,
                max_logp: -log_total as f32,
                entropy: (log_total - along / total) as f32,
            }
        },
    )
}

/// Returns the sums of `w` and of `w * z`, with `z = (x - most) / temperature` and `w = exp(z)`. A
/// weight of 0 has no part in the second one, also at negative infinity.
#[inline(always)]
fn mass(logits: &[f32], most: f32, temperature: f32) -> (f64, f64) {
    let (mut weights, mut parts) = ([0.0; BLOCK], [0.0; BLOCK]);
    let (mut total, mut along) = (0.0, 0.0);
    for x in logits.chunks(BLOCK) {
        let (weights, parts) = (&mut weights[..x.len()], &mut parts[..x.len()]);
        for ((weight, part), x) in weights.iter_mut().zip(parts.iter_mut()).zip(x) {
            let z = (x - most) / temperature;
            *weight = exp(z);
            *part = if *weight > 0.0 { *weight * z } else { 0.0 };
        }
        total += sum(weights);
        along += sum(parts);
    }
    (total, along)
}

/// Replaces logits by the gradient of `logp * logp_grad + entropy * entropy_grad` with respect to them,
/// where `logp` and `entropy` are those of `target` at `temperature`.
pub fn token_stats_backward(
    logits: &mut [f32],
    target: usize,
    temperature: f32,
    logp_grad: f32,
    entropy_grad: f32,
) {
    let chosen = Arch::new().dispatch(
        #[inline(always)]
        || {
            let most = largest(logits);
            let (total, along) = mass(logits, most, temperature);
            let (log_total, factor) = (total.ln() as f32, (1.0 / total) as f32);
            let entropy = (total.ln() - along / total) as f32;
            let scale = 1.0 / temperature;
            for x in logits.iter_mut() {
                let z = (*x - most) / temperature;
                let weight = exp(z);
                let share = weight * factor;
                let surprise = if weight > 0.0 {
                    z - log_total + entropy
                } else {
                    0.0
                };
                *x = -share * (logp_grad + entropy_grad * surprise) * scale;
            }
            logp_grad * scale
        },
    );
    if let Some(x) = logits.get_mut(target) {
        *x += chosen;
    }
}
