//! The options of the loss, with the names and defaults of TRL's `GRPOConfig`.

use serde::{Deserialize, Serialize};

use super::RlError;

/// TRL's `loss_type`: the objective of a token and the average over tokens.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, clap::ValueEnum,
)]
#[serde(rename_all = "snake_case")]
#[value(rename_all = "snake_case")]
pub enum LossType {
    /// Clipped ratio, mean per sequence, then over sequences (DeepSeekMath, 2402.03300)
    Grpo,
    /// Clipped ratio, mean over the tokens of the local batch
    Bnpo,
    /// Clipped ratio, divided by a constant length (Dr. GRPO, 2503.20783)
    DrGrpo,
    /// Clipped ratio, mean over the tokens of the whole accumulated batch (DAPO, 2503.14476)
    #[default]
    Dapo,
    /// Truncated, detached ratio times the log-probability (CISPO, MiniMax-M1, 2506.13585)
    Cispo,
    /// Sigmoid gate instead of the clip (SAPO, 2511.20347)
    Sapo,
    /// Clipped ratio, summed over each sequence (LUSPO, 2602.05261)
    Luspo,
    /// Detached gamma weight of the sequence's ratio times the log-probability (VESPO, 2602.10693)
    Vespo,
}

/// TRL's `importance_sampling_level`: the level at which importance ratios are computed.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, clap::ValueEnum,
)]
#[serde(rename_all = "snake_case")]
#[value(rename_all = "snake_case")]
pub enum ImportanceSamplingLevel {
    /// One ratio per token
    #[default]
    Token,
    /// One ratio per sequence, the geometric mean of its tokens' (GSPO, 2507.18071)
    Sequence,
}

/// The options of [`grpo_loss`](super::loss::grpo_loss).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LossConfig {
    /// Objective of a token and its normalization.
    pub loss_type: LossType,
    /// Level of the importance ratio: token or sequence.
    pub importance_sampling_level: ImportanceSamplingLevel,
    /// Weight of the KL divergence from the reference policy; 0 disables it.
    pub beta: f64,
    /// `true` to multiply the divergence estimate by the importance ratio (DeepSeek-V3.2,
    /// 2512.02556).
    pub use_bias_correction_kl: bool,
    /// Lower clip: the ratio is clipped below at `1 - epsilon`.
    pub epsilon: f64,
    /// Upper clip: the ratio is clipped above at `1 + epsilon_high` (CISPO: at `epsilon_high`
    /// itself); `None` uses `epsilon`.
    pub epsilon_high: Option<f64>,
    /// Upper bound of the ratio that is not clipped (two-sided clipping, INTELLECT-2, 2505.07291).
    pub delta: Option<f64>,
    /// SAPO: temperature of positive advantages.
    pub sapo_temperature_pos: f64,
    /// SAPO: temperature of all other advantages.
    pub sapo_temperature_neg: f64,
    /// VESPO: exponent of the ratio, advantage at least 0.
    pub vespo_k_pos: f64,
    /// VESPO: decay of the ratio, advantage at least 0.
    pub vespo_lambda_pos: f64,
    /// VESPO: exponent of the ratio, advantage below 0.
    pub vespo_k_neg: f64,
    /// VESPO: decay of the ratio, advantage below 0.
    pub vespo_lambda_neg: f64,
    /// Share of tokens with the highest entropy that carry the policy loss, in `[0, 1]`.
    pub top_entropy_quantile: f64,
    /// Mean log-probability difference to the sampler above which sequences with negative advantage
    /// are left out; `None` keeps all.
    pub off_policy_mask_threshold: Option<f64>,
    /// Weight of the entropy bonus; 0 disables it.
    pub entropy_coef: f64,
    /// Constant length that `dr_grpo` divides by, in tokens.
    pub max_completion_length: usize,
    /// Number of micro-batches in an optimizer step. If their sizes differ, the rows of the step
    /// divided by those of the micro-batch.
    pub gradient_accumulation_steps: f64,
    /// Number of micro-batches in a generation; `None` uses `gradient_accumulation_steps`.
    pub steps_per_generation: Option<usize>,
    /// Number of processes that share one generation.
    pub num_processes: usize,
}

impl Default for LossConfig {
    fn default() -> Self {
        Self {
            loss_type: LossType::Dapo,
            importance_sampling_level: ImportanceSamplingLevel::Token,
            beta: 0.0,
            use_bias_correction_kl: true,
            epsilon: 0.2,
            epsilon_high: None,
            delta: None,
            sapo_temperature_pos: 1.0,
            sapo_temperature_neg: 1.05,
            vespo_k_pos: 2.0,
            vespo_lambda_pos: 3.0,
            vespo_k_neg: 3.0,
            vespo_lambda_neg: 2.0,
            top_entropy_quantile: 1.0,
            off_policy_mask_threshold: None,
            entropy_coef: 0.0,
            max_completion_length: 512,
            gradient_accumulation_steps: 1.0,
            steps_per_generation: None,
            num_processes: 1,
        }
    }
}

impl LossConfig {
    /// Returns the upper clip, which defaults to `epsilon`.
    #[must_use]
    pub fn epsilon_high(&self) -> f64 {
        self.epsilon_high.unwrap_or(self.epsilon)
    }

    /// Checks each option by itself.
    ///
    /// # Errors
    /// If an option has a value that no formula can use; the error names the first one.
    pub fn check(&self) -> Result<(), RlError> {
        let not_negative = [
            ("beta", self.beta),
            ("epsilon", self.epsilon),
            ("epsilon_high", self.epsilon_high()),
            ("delta", self.delta.unwrap_or(0.0)),
        ];
        let positive = [
            ("sapo_temperature_pos", self.sapo_temperature_pos),
            ("sapo_temperature_neg", self.sapo_temperature_neg),
            ("max_completion_length", self.max_completion_length as f64),
            (
                "gradient_accumulation_steps",
                self.gradient_accumulation_steps,
            ),
            (
                "steps_per_generation",
                self.steps_per_generation.unwrap_or(1) as f64,
            ),
            ("num_processes", self.num_processes as f64),
        ];
        let refuse = |option, value, allowed| {
            Err(RlError::Option {
                option,
                value,
                allowed,
            })
        };
        for (option, value) in not_negative {
            if !(value.is_finite() && value >= 0.0) {
                return refuse(option, value, "a number that is not negative");
            }
        }
        for (option, value) in positive {
            if !(value.is_finite() && value > 0.0) {
                return refuse(option, value, "above 0");
            }
        }
        let quantile = self.top_entropy_quantile;
        if !(0.0..=1.0).contains(&quantile) {
            return refuse("top_entropy_quantile", quantile, "from 0 to 1");
        }
        let finite = [
            ("entropy_coef", self.entropy_coef),
            ("vespo_k_pos", self.vespo_k_pos),
            ("vespo_lambda_pos", self.vespo_lambda_pos),
            ("vespo_k_neg", self.vespo_k_neg),
            ("vespo_lambda_neg", self.vespo_lambda_neg),
        ];
        for (option, value) in finite {
            if !value.is_finite() {
                return refuse(option, value, "a number");
            }
        }
        Ok(())
    }
}
