//! Options of the loss that all GRPO commands share, with TRL's names.

use sentinel_options::parsers::parse_number;
use serde::{Deserialize, Serialize};

use super::config::{ImportanceSamplingLevel, LossConfig};

/// The options of [`LossConfig`] whose defaults are the same for all policies.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, clap::Args)]
#[serde(default)]
#[command(next_help_heading = "Loss")]
pub struct LossArgs {
    /// Level of the importance ratio: token, or sequence as in GSPO
    #[arg(long, value_enum, value_name = "LEVEL", default_value_t)]
    pub importance_sampling_level: ImportanceSamplingLevel,
    /// Multiply the divergence from the reference policy by the importance ratio
    #[arg(long, value_name = "BOOL", action = clap::ArgAction::Set,
        default_value_t = LossConfig::default().use_bias_correction_kl)]
    pub use_bias_correction_kl: bool,
    /// Upper bound of the ratio that is not clipped: two-sided clipping
    #[arg(long, value_name = "X", value_parser = parse_number::<f64>)]
    pub delta: Option<f64>,
    /// Share of tokens with the highest entropy that carry the policy loss
    #[arg(long, value_name = "SHARE", value_parser = parse_number::<f64>,
        default_value_t = LossConfig::default().top_entropy_quantile)]
    pub top_entropy_quantile: f64,
    /// Leave out sequences with negative advantage that differ by more than this from the policy
    /// that sampled them
    #[arg(long, value_name = "X", allow_hyphen_values = true, value_parser = parse_number::<f64>)]
    pub off_policy_mask_threshold: Option<f64>,
    /// Loss type sapo: temperature of positive advantages
    #[arg(long, value_name = "T", value_parser = parse_number::<f64>,
        default_value_t = LossConfig::default().sapo_temperature_pos)]
    pub sapo_temperature_pos: f64,
    /// Loss type sapo: temperature of all other advantages
    #[arg(long, value_name = "T", value_parser = parse_number::<f64>,
        default_value_t = LossConfig::default().sapo_temperature_neg)]
    pub sapo_temperature_neg: f64,
    /// Loss type vespo: exponent of the ratio, advantage at least 0
    #[arg(long, value_name = "K", allow_hyphen_values = true, value_parser = parse_number::<f64>,
        default_value_t = LossConfig::default().vespo_k_pos)]
    pub vespo_k_pos: f64,
    /// Loss type vespo: decay of the ratio, advantage at least 0
    #[arg(long, value_name = "LAMBDA", allow_hyphen_values = true, value_parser = parse_number::<f64>,
        default_value_t = LossConfig::default().vespo_lambda_pos)]
    pub vespo_lambda_pos: f64,
    /// Loss type vespo: exponent of the ratio, advantage below 0
    #[arg(long, value_name = "K", allow_hyphen_values = true, value_parser = parse_number::<f64>,
        default_value_t = LossConfig::default().vespo_k_neg)]
    pub vespo_k_neg: f64,
    /// Loss type vespo: decay of the ratio, advantage below 0
    #[arg(long, value_name = "LAMBDA", allow_hyphen_values = true, value_parser = parse_number::<f64>,
        default_value_t = LossConfig::default().vespo_lambda_neg)]
    pub vespo_lambda_neg: f64,
}

impl Default for LossArgs {
    fn default() -> Self {
        let LossConfig {
            importance_sampling_level,
            use_bias_correction_kl,
            delta,
            top_entropy_quantile,
            off_policy_mask_threshold,
            sapo_temperature_pos,
            sapo_temperature_neg,
            vespo_k_pos,
            vespo_lambda_pos,
            vespo_k_neg,
            vespo_lambda_neg,
            ..
        } = LossConfig::default();
        Self {
            importance_sampling_level,
            use_bias_correction_kl,
            delta,
            top_entropy_quantile,
            off_policy_mask_threshold,
            sapo_temperature_pos,
            sapo_temperature_neg,
            vespo_k_pos,
            vespo_lambda_pos,
            vespo_k_neg,
            vespo_lambda_neg,
        }
    }
}

impl LossArgs {
    /// Returns the loss with these options; all others are those of `rest`.
    #[must_use]
    pub fn loss(&self, rest: LossConfig) -> LossConfig {
        LossConfig {
            importance_sampling_level: self.importance_sampling_level,
            use_bias_correction_kl: self.use_bias_correction_kl,
            delta: self.delta,
            top_entropy_quantile: self.top_entropy_quantile,
            off_policy_mask_threshold: self.off_policy_mask_threshold,
            sapo_temperature_pos: self.sapo_temperature_pos,
            sapo_temperature_neg: self.sapo_temperature_neg,
            vespo_k_pos: self.vespo_k_pos,
            vespo_lambda_pos: self.vespo_lambda_pos,
            vespo_k_neg: self.vespo_k_neg,
            vespo_lambda_neg: self.vespo_lambda_neg,
            ..rest
        }
    }
}
