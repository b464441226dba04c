//! The options of the loss, with the names and defaults of TRL's `GRPOConfig`.

use serde::{Deserialize, Serialize};

use super::RlError;

/// TRL's `loss_type`: the objective of a token and how tokens are averaged.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, clap::ValueEnum,
)]
#[serde(rename_all = "snake_case")]
#[value(rename_all = "snake_case")]
pub enum LossType {
    /// Clipped ratio, mean per sequence, then over sequences (DeepSeekMath, 2402.03300).
    Grpo,
    /// Clipped ratio, mean over the tokens of the local batch.
    Bnpo,
    /// Clipped ratio, divided by a constant length (Dr. GRPO, 2503.20783).
    DrGrpo,
    /// Clipped ratio, mean over the tokens of the whole accumulated batch (DAPO, 2503.14476).
    #[default]
    Dapo,
    /// Truncated, detached ratio times the log-probability (CISPO, MiniMax-M1, 2506.13585).
    Cispo,
    /// A sigmoid gate in place of the clip (SAPO, 2511.20347).
    Sapo,
    /// Clipped ratio, summed over each sequence (LUSPO, 2602.05261).
    Luspo,
    /// A detached gamma weight of the sequence's ratio times the log-probability (VESPO, 2602.10693).
    Vespo,
}

/// TRL's `importance_sampling_level`: what one importance ratio belongs to.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, clap::ValueEnum,
)]
#[serde(rename_all = "snake_case")]
#[value(rename_all = "snake_case")]
pub enum ImportanceSamplingLevel {
    /// One ratio per token.
    #[default]
    Token,
    /// One ratio per sequence, the geometric mean of its tokens' (GSPO, 2507.18071).
    Sequence,
}

/// The options of [`grpo_loss`](super::loss::grpo_loss).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LossConfig {
    /// The objective and its normalisation.
    pub loss_type: LossType,
    /// One importance ratio per token or per sequence.
    pub importance_sampling_level: ImportanceSamplingLevel,
    /// Weight of the divergence from the reference policy; 0 leaves it out.
    pub beta: f64,
    /// Multiplies the divergence estimate by the importance ratio (DeepSeek-V3.2, 2512.02556).
    pub use_bias_correction_kl: bool,
    /// The ratio is clipped below at `1 - epsilon`.
    pub epsilon: f64,
    /// The ratio is clipped above at `1 + epsilon_high` (CISPO: at `epsilon_high` itself);
    /// `epsilon` when not given.
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
    /// The share of tokens, those of highest entropy, that carry the policy loss.
    pub top_entropy_quantile: f64,
    /// Sequences of negative advantage that drifted further than this are left out.
    pub off_policy_mask_threshold: Option<f64>,
    /// Weight of the entropy bonus; 0 leaves it out.
    pub entropy_coef: f64,
    /// The constant length of `dr_grpo`.
    pub max_completion_length: usize,
    /// Micro-batches of one optimizer step; where they are not equally large, the rows of the step over
    /// those of the micro-batch.
    pub gradient_accumulation_steps: f64,
    /// Micro-batches of one generation; `gradient_accumulation_steps` when not given.
    pub steps_per_generation: Option<usize>,
    /// Processes that share one generation.
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
    /// The upper clip, which is `epsilon` unless it was given.
    #[must_use]
    pub fn epsilon_high(&self) -> f64 {
        self.epsilon_high.unwrap_or(self.epsilon)
    }

    /// Checks every option by itself.
    ///
    /// # Errors
    /// Names the first option whose value no formula can use.
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
