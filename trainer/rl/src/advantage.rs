//! Advantages from rewards: each completion relative to the others of its group.

use serde::{Deserialize, Serialize};

use super::error::check_length;
use super::metrics::{nan_mean, nan_std, nan_sum};
use super::{Metrics, RlError};

/// Term added to every deviation before dividing by it.
const STD_FLOOR: f64 = 1e-4;
/// Largest deviation that counts as zero in `frac_reward_zero_std`.
const STD_ZERO: f64 = 1e-8;

/// TRL's `scale_rewards`: the deviation that a centered reward is divided by.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, clap::ValueEnum,
)]
#[serde(rename_all = "snake_case")]
#[value(rename_all = "snake_case")]
pub enum ScaleRewards {
    /// Divide by the deviation of the group (DeepSeekMath, 2402.03300)
    #[default]
    Group,
    /// Divide by the deviation of the whole batch (2508.08221)
    Batch,
    /// Do not divide (Dr. GRPO, 2503.20783)
    None,
}

/// TRL's `multi_objective_aggregation`: the order in which several rewards are summed and
/// normalized.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, clap::ValueEnum,
)]
#[serde(rename_all = "snake_case")]
#[value(rename_all = "snake_case")]
pub enum MultiObjectiveAggregation {
    /// Weight and sum the rewards, then center and scale the sum
    #[default]
    SumThenNormalize,
    /// Center and scale each reward in its group, weight and sum, then normalize over the batch
    /// (GDPO, 2601.05242)
    NormalizeThenSum,
}

/// The options of [`advantages`], with the names and defaults of TRL.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AdvantageConfig {
    /// Number of completions per group; those of a group are consecutive.
    pub num_generations: usize,
    /// Deviation that a centered reward is divided by; ignored by `normalize_then_sum`.
    pub scale_rewards: ScaleRewards,
    /// Order in which several rewards are summed and normalized.
    pub multi_objective_aggregation: MultiObjectiveAggregation,
    /// Weight of each reward; `None` weights all by 1.
    pub reward_weights: Option<Vec<f64>>,
}

impl Default for AdvantageConfig {
    fn default() -> Self {
        Self {
            num_generations: 8,
            scale_rewards: ScaleRewards::Group,
            multi_objective_aggregation: MultiObjectiveAggregation::SumThenNormalize,
            reward_weights: None,
        }
    }
}

/// The rewards that advantages are computed from.
#[derive(Clone, Copy, Debug)]
pub struct Rewards<'a> {
    /// Name of each reward in the metrics.
    pub names: &'a [&'a str],
    /// `[completions, names]`: rewards; `None` where a reward does not apply.
    pub values: &'a [Option<f64>],
}

/// Advantages with the metrics of the rewards.
#[derive(Clone, Debug, PartialEq)]
pub struct AdvantageOutput {
    /// `[completions]`: advantages; 0 for a completion without rewards.
    pub advantages: Vec<f64>,
    /// Metrics `reward`, `reward_std`, `frac_reward_zero_std`, `rewards/NAME/mean` and `/std`.
    pub metrics: Metrics,
}

/// Computes the advantage of each completion (TRL: `_generate_and_score_completions`).
///
/// Means and deviations (divisor n - 1) skip missing rewards. An advantage that is not a number,
/// such as that of the only rewarded completion of a group, is set to 0.
///
/// ```
/// use sentinel_rl::advantage::{AdvantageConfig, Rewards, advantages};
///
/// let config = AdvantageConfig { num_generations: 4, ..AdvantageConfig::default() };
/// let values = [0.0, 1.0, 1.0, 0.0].map(Some);
/// let found = advantages(&config, Rewards { names: &["score"], values: &values })?;
/// assert!(found.advantages[1] > 0.8 && found.advantages[0] < -0.8);
/// assert_eq!(found.metrics["reward"], 0.5);
/// # Ok::<(), sentinel_rl::RlError>(())
/// ```
///
/// # Errors
/// If the values do not form a table, a group is not full, or there is not one weight per reward.
pub fn advantages(
    config: &AdvantageConfig,
    rewards: Rewards<'_>,
) -> Result<AdvantageOutput, RlError> {
    let table = Table::new(config, rewards)?;
    let summed = table.weighted(&table.values);
    let (raw, deviations) = match config.multi_objective_aggregation {
        MultiObjectiveAggregation::SumThenNormalize => table.sum_then_normalize(config, &summed),
        MultiObjectiveAggregation::NormalizeThenSum => table.normalize_then_sum(),
    };
    let advantages = raw
        .into_iter()
        .map(|value| if value.is_nan() { 0.0 } else { value })
        .collect();
    let flat = deviations.iter().filter(|std| std.abs() <= STD_ZERO);
    let flat = flat.count() as f64 / deviations.len() as f64;

    let mut metrics = Metrics::new();
    for (index, name) in rewards.names.iter().enumerate() {
        let column = column(&table.values, rewards.names.len(), index);
        metrics.insert(format!("rewards/{name}/mean"), nan_mean(&column));
        metrics.insert(format!("rewards/{name}/std"), nan_std(&column));
    }
    metrics.insert("reward".into(), nan_mean(&summed));
    metrics.insert("reward_std".into(), nan_std(&summed));
    metrics.insert("frac_reward_zero_std".into(), flat);
    Ok(AdvantageOutput {
        advantages,
        metrics,
    })
}

/// Returns one column of a table with `width` columns.
fn column(values: &[f64], width: usize, index: usize) -> Vec<f64> {
    values.iter().skip(index).step_by(width).copied().collect()
}

/// The rewards as numbers, NaN where there is none.
struct Table {
    /// `[completions, weights]`: reward values.
    values: Vec<f64>,
    weights: Vec<f64>,
    /// Number of completions per group.
    group: usize,
}

impl Table {
    fn new(config: &AdvantageConfig, rewards: Rewards<'_>) -> Result<Self, RlError> {
        let (width, group) = (rewards.names.len(), config.num_generations);
        for (option, value) in [("num_generations", group), ("number of rewards", width)] {
            if value == 0 {
                return Err(RlError::Option {
                    option,
                    value: 0.0,
                    allowed: "above 0",
                });
            }
        }
        let weights = config.reward_weights.clone();
        let weights = weights.unwrap_or_else(|| vec![1.0; width]);
        check_length("reward_weights", weights.len(), width, "[rewards]")?;
        let count = rewards.values.len();
        let groups = count.checked_div(width * group).unwrap_or(0).max(1);
        let shape = "[groups * num_generations, rewards]";
        check_length("rewards", count, groups * group * width, shape)?;
        let number = |value: &Option<f64>| value.unwrap_or(f64::NAN);
        Ok(Self {
            values: rewards.values.iter().map(number).collect(),
            weights,
            group,
        })
    }

    /// Returns the weighted sum of each row of `values`, `[completions]`; NaN for a completion
    /// without any reward.
    fn weighted(&self, values: &[f64]) -> Vec<f64> {
        let width = self.weights.len();
        let rows = values.chunks(width).zip(self.values.chunks(width));
        rows.map(|(row, rewards)| {
            if rewards.iter().all(|value| value.is_nan()) {
                return f64::NAN;
            }
            nan_sum(row.iter().zip(&self.weights).map(|(v, weight)| v * weight))
        })
        .collect()
    }

    /// Returns advantages, and the deviation of each completion's group or batch.
    fn sum_then_normalize(&self, config: &AdvantageConfig, summed: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let over_batch = match (config.scale_rewards, summed.len()) {
            (ScaleRewards::Batch, 1) => Some(0.0),
            (ScaleRewards::Batch, _) => Some(nan_std(summed)),
            (ScaleRewards::Group | ScaleRewards::None, _) => None,
        };
        let (mut raw, mut deviations) = (Vec::new(), Vec::new());
        for group in summed.chunks(self.group) {
            let mean = nan_mean(group);
            let std = over_batch.unwrap_or_else(|| self.group_std(group));
            for reward in group {
                raw.push(match config.scale_rewards {
                    ScaleRewards::None => reward - mean,
                    ScaleRewards::Group | ScaleRewards::Batch => {
                        (reward - mean) / (std + STD_FLOOR)
                    }
                });
                deviations.push(std);
            }
        }
        (raw, deviations)
    }

    /// Returns advantages, and the deviation of the batch after each reward was normalized.
    fn normalize_then_sum(&self) -> (Vec<f64>, Vec<f64>) {
        let width = self.weights.len();
        let mut scaled = Vec::with_capacity(self.values.len());
        for group in self.values.chunks(self.group * width) {
            let columns = (0..width).map(|index| {
                let values = column(group, width, index);
                (nan_mean(&values), self.group_std(&values))
            });
            let columns: Vec<(f64, f64)> = columns.collect();
            let cells = group.iter().zip(columns.iter().cycle());
            scaled.extend(cells.map(|(value, (mean, std))| (value - mean) / (std + STD_FLOOR)));
        }
        let summed = self.weighted(&scaled);
        let std = if summed.len() > 1 {
            nan_std(&summed)
        } else {
            0.0
        };
        let mean = nan_mean(&summed);
        let raw = summed.iter().map(|sum| (sum - mean) / (std + STD_FLOOR));
        (raw.collect(), vec![std; summed.len()])
    }

    /// Returns the deviation of a group; 0 for groups with one member.
    fn group_std(&self, values: &[f64]) -> f64 {
        if self.group > 1 { nan_std(values) } else { 0.0 }
    }
}

/// Returns the policy that maximizes the expected gain less `temperature` times its divergence from
/// `prior`: `prior * exp(gain / temperature)`, normalized (mirror descent, as in MPO, arXiv:1806.06920).
/// Both slices have a value for each action; without gains the result is the prior.
#[must_use]
pub fn improved_policy(prior: &[f64], gains: &[f64], temperature: f64) -> Vec<f64> {
    let logits = prior.iter().zip(gains);
    let logits: Vec<f64> = logits
        .map(|(p, gain)| p.ln() + gain / temperature)
        .collect();
    let highest = logits.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let weights: Vec<f64> = logits.iter().map(|logit| (logit - highest).exp()).collect();
    let total: f64 = weights.iter().sum();
    weights.into_iter().map(|weight| weight / total).collect()
}

#[cfg(test)]
mod tests {
    use super::improved_policy;

    #[test]
    fn policy_without_gains_is_the_prior() {
        let prior = [0.7, 0.2, 0.1, 0.0];
        for (found, prior) in improved_policy(&prior, &[0.0; 4], 0.01).iter().zip(prior) {
            assert!((found - prior).abs() < 1e-12, "{found} {prior}");
        }
    }

    #[test]
    fn odds_grow_by_the_exponential_of_gains() {
        let found = improved_policy(&[0.5, 0.4, 0.1], &[0.0, 0.02, -1e6], 0.01);
        assert!((found.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        assert!((found[1] / found[0] - 0.8 * 2.0_f64.exp()).abs() < 1e-9);
        assert!(found[2] < 1e-12);
        // An action with a small probability comes back if it is much better.
        assert!(improved_policy(&[0.9999, 1e-4], &[0.0, 0.2], 0.01)[1] > 0.5);
    }
}
