//! The options of the loss that few runs need, under TRL's names. What is absent has TRL's default, so that
//! a run that was begun before an option existed can go on.

use serde::{Deserialize, Serialize};

use super::config::word;
use crate::args::{parse_fraction, parse_number};
use crate::lm::train::RunError;
use crate::rl::advantage::MultiObjectiveAggregation;
use crate::rl::config::LossConfig;
use crate::rl::sampling::{SamplingConfig, SamplingMode};

/// TRL's bound of the correction.
const CLIP_MAX: f64 = 3.0;

/// The options of the loss that few runs need.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, clap::Args)]
#[command(next_help_heading = "Further options of the loss")]
pub struct LossOptions {
    /// Correct for a sampler that is not quite the policy, such as one in another precision: token_truncate,
    /// token_mask, sequence_truncate or sequence_mask [default: no correction]
    #[arg(long, value_name = "MODE", value_parser = word::<SamplingMode>)]
    pub importance_sampling_mode: Option<SamplingMode>,
    /// No correction below this [default: none]
    #[arg(long, value_name = "RATIO", value_parser = parse_number::<f64>)]
    pub importance_sampling_clip_min: Option<f64>,
    /// No correction above this [default: 3]
    #[arg(long, value_name = "RATIO", value_parser = parse_number::<f64>)]
    pub importance_sampling_clip_max: Option<f64>,
    /// Leave out completions of negative advantage that drifted further than this from their sampler
    /// [default: none is left out]
    #[arg(long, value_name = "NATS", value_parser = parse_number::<f64>)]
    pub off_policy_mask_threshold: Option<f64>,
    /// Share of the tokens, those of highest entropy, that carry the policy loss [default: 1]
    #[arg(long, value_name = "SHARE", value_parser = parse_fraction)]
    pub top_entropy_quantile: Option<f64>,
    /// Upper bound of a ratio that is not clipped (two-sided clipping) [default: none]
    #[arg(long, value_name = "RATIO", value_parser = parse_number::<f64>)]
    pub delta: Option<f64>,
    /// Multiply the divergence by the importance ratio [default: true]
    #[arg(long, value_name = "BOOL")]
    pub use_bias_correction_kl: Option<bool>,
    /// When several rewards become one: sum_then_normalize or normalize_then_sum [default:
    /// sum_then_normalize]
    #[arg(long, value_name = "HOW", value_parser = word::<MultiObjectiveAggregation>)]
    pub multi_objective_aggregation: Option<MultiObjectiveAggregation>,
    /// sapo: temperature of positive advantages [default: 1]
    #[arg(long, value_name = "T", value_parser = parse_number::<f64>)]
    pub sapo_temperature_pos: Option<f64>,
    /// sapo: temperature of all other advantages [default: 1.05]
    #[arg(long, value_name = "T", value_parser = parse_number::<f64>)]
    pub sapo_temperature_neg: Option<f64>,
    /// vespo: exponent of the ratio, advantage at least 0 [default: 2]
    #[arg(long, value_name = "K", value_parser = parse_number::<f64>)]
    pub vespo_k_pos: Option<f64>,
    /// vespo: decay of the ratio, advantage at least 0 [default: 3]
    #[arg(long, value_name = "LAMBDA", value_parser = parse_number::<f64>)]
    pub vespo_lambda_pos: Option<f64>,
    /// vespo: exponent of the ratio, advantage below 0 [default: 3]
    #[arg(long, value_name = "K", value_parser = parse_number::<f64>)]
    pub vespo_k_neg: Option<f64>,
    /// vespo: decay of the ratio, advantage below 0 [default: 2]
    #[arg(long, value_name = "LAMBDA", value_parser = parse_number::<f64>)]
    pub vespo_lambda_neg: Option<f64>,
}

impl LossOptions {
    /// Returns a loss with those options that were given.
    #[must_use]
    pub fn over(&self, loss: LossConfig) -> LossConfig {
        LossConfig {
            off_policy_mask_threshold: self
                .off_policy_mask_threshold
                .or(loss.off_policy_mask_threshold),
            top_entropy_quantile: self
                .top_entropy_quantile
                .unwrap_or(loss.top_entropy_quantile),
            delta: self.delta.or(loss.delta),
            use_bias_correction_kl: self
                .use_bias_correction_kl
                .unwrap_or(loss.use_bias_correction_kl),
            sapo_temperature_pos: self
                .sapo_temperature_pos
                .unwrap_or(loss.sapo_temperature_pos),
            sapo_temperature_neg: self
                .sapo_temperature_neg
                .unwrap_or(loss.sapo_temperature_neg),
            vespo_k_pos: self.vespo_k_pos.unwrap_or(loss.vespo_k_pos),
            vespo_lambda_pos: self.vespo_lambda_pos.unwrap_or(loss.vespo_lambda_pos),
            vespo_k_neg: self.vespo_k_neg.unwrap_or(loss.vespo_k_neg),
            vespo_lambda_neg: self.vespo_lambda_neg.unwrap_or(loss.vespo_lambda_neg),
            ..loss
        }
    }

    /// Returns how the sampler is corrected for; `None` where it is not.
    #[must_use]
    pub fn sampling(&self) -> Option<SamplingConfig> {
        Some(SamplingConfig {
            mode: self.importance_sampling_mode?,
            clip_min: self.importance_sampling_clip_min,
            clip_max: Some(self.importance_sampling_clip_max.unwrap_or(CLIP_MAX)),
        })
    }

    /// Checks what no other part checks.
    ///
    /// # Errors
    /// Names the first option that cannot be.
    pub fn check(&self) -> Result<(), RunError> {
        let bounds = [
            self.importance_sampling_clip_min,
            self.importance_sampling_clip_max,
        ];
        let Some(SamplingConfig {
            clip_min, clip_max, ..
        }) = self.sampling()
        else {
            return match bounds.iter().flatten().next() {
                None => Ok(()),
                Some(_) => Err(RunError::option(
                    "importance-sampling-clip-min and -max",
                    "left out without importance-sampling-mode, which they are bounds of",
                )),
            };
        };
        let (low, high) = (clip_min.unwrap_or(0.0), clip_max.unwrap_or(f64::INFINITY));
        if low >= 0.0 && low < high {
            Ok(())
        } else {
            Err(RunError::option(
                "importance-sampling-clip-min and -max",
                "at least 0, and the first below the second",
            ))
        }
    }
}
