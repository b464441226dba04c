//! The options of `sentinel lm grpo`.

use std::path::PathBuf;

use sentinel_base::arg_parsers::{parse_fraction, parse_number};
use sentinel_base::{EpisodeArgs, SeedRange};
use sentinel_lm::parallel::part_count;
use sentinel_play::corpus::training_seeds;
use sentinel_play::rollout::{PromptArgs, RolloutConfig};
use sentinel_policy::text::InvalidReward;
use sentinel_rl::LossArgs;
use sentinel_rl::advantage::{AdvantageConfig, MultiObjectiveAggregation, ScaleRewards};
use sentinel_rl::config::{LossConfig, LossType};
use sentinel_rl::credit_options::{Continuation, Credit};
use sentinel_rl::importance_sampling::{ImportanceSamplingConfig, ImportanceSamplingMode};
use serde::{Deserialize, Serialize};

use crate::rollout_engine::RolloutEngineArgs;
use crate::training::{RunError, RunOptions};

/// Largest accepted count. Larger ones are typing errors, and their products would overflow.
const MOST: usize = 1 << 20;

/// Default number of completions of an update that are logged.
const COMPLETIONS: usize = 64;

const fn completions() -> usize {
    COMPLETIONS
}

/// Default number of hidden states in which an action is tried.
const LOOKAHEAD_ROLLOUTS: u32 = 16;

const fn lookahead_rollouts() -> u32 {
    LOOKAHEAD_ROLLOUTS
}

/// Default number of legal actions up to which all are compared: more than trust and PolyGuard have.
const LOOKAHEAD_ACTIONS: usize = 64;

const fn lookahead_actions() -> usize {
    LOOKAHEAD_ACTIONS
}

/// Default temperature of the target.
const LOOKAHEAD_TEMPERATURE: f64 = 0.01;

const fn lookahead_temperature() -> f64 {
    LOOKAHEAD_TEMPERATURE
}

/// The options of `sentinel lm grpo`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, clap::Args)]
#[command(
    next_help_heading = "GRPO",
    mut_arg("task", |arg| arg.default_value("all")),
    mut_arg("episodes", |arg| arg.default_value("200").help(
        "Number of episodes to learn from, the tasks in turn, on the first training seeds"
    )),
    mut_arg("seeds", |arg| arg.help(
        "Training seeds to use instead of --episodes, as A..B (B excluded); tasks alternate"
    ))
)]
pub struct GrpoConfig {
    #[command(flatten)]
    #[serde(flatten)]
    #[allow(missing_docs)]
    pub prompts: PromptArgs,
    /// Reward of an invalid completion that ends its sample, from -1 to 0
    #[arg(
        long,
        value_name = "REWARD",
        default_value_t = 0.0,
        allow_hyphen_values = true,
        value_parser = parse_number::<f64>
    )]
    pub invalid_penalty: f64,
    /// Weight of a reward of 1 for every completion that is an action without repair
    #[arg(long, value_name = "X", default_value_t = 0.0, value_parser = parse_number::<f64>)]
    pub format_weight: f64,
    /// Return of a completion, and what it is compared with
    #[arg(long, value_enum, value_name = "RETURN", default_value_t)]
    pub credit: Credit,
    /// Policy that plays on after a completion with --credit step
    #[arg(
        long,
        alias = "continue",
        value_enum,
        value_name = "POLICY",
        default_value_t
    )]
    pub continuation: Continuation,
    /// Policy that plays on with --continuation scripted (by default the heuristic of the world) and
    /// with --credit lookahead (the planner): a scripted one that sees observations only, or trained
    #[arg(long, value_name = "NAME")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub continuation_policy: Option<String>,
    /// Folder of the compact model that is --continuation-policy trained [default: the committed one
    /// of the world for the rules, such as replays/grpo]
    #[arg(long, value_name = "DIR")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub continuation_model: Option<PathBuf>,
    /// Sampled hidden states in which --credit lookahead tries each action
    #[arg(long, value_name = "N", default_value_t = LOOKAHEAD_ROLLOUTS)]
    #[serde(default = "lookahead_rollouts")]
    pub lookahead_rollouts: u32,
    /// Number of legal actions up to which --credit lookahead compares all of them. Where more are legal,
    /// it compares those that the world proposes, and a sampled completion that is none of them stands
    /// for all others
    #[arg(long, value_name = "N", default_value_t = LOOKAHEAD_ACTIONS)]
    #[serde(default = "lookahead_actions")]
    pub lookahead_actions: usize,
    /// Difference of score for which --credit lookahead multiplies the odds of an action by e
    #[arg(long, value_name = "X", default_value_t = LOOKAHEAD_TEMPERATURE, value_parser = parse_number::<f64>)]
    #[serde(default = "lookahead_temperature")]
    pub lookahead_temperature: f64,
    /// Share of the uniform distribution in what --credit lookahead starts from, so that actions that
    /// the policy never takes can be learned, 0 to 1
    #[arg(long, value_name = "P", default_value_t = 0.0, value_parser = parse_fraction)]
    #[serde(default)]
    pub lookahead_exploration: f64,
    /// Share of the action of --continuation-policy in what the target of --credit lookahead starts
    /// from, 0 to 1
    #[arg(long, value_name = "P", default_value_t = 0.0, value_parser = parse_fraction)]
    #[serde(default)]
    pub lookahead_expert_share: f64,
    /// Peak of the learning rate
    #[arg(long, value_name = "X", default_value = "5e-6", value_parser = parse_number::<f64>)]
    pub learning_rate: f64,
    /// Number of episodes per update
    #[arg(long, alias = "batch-size", value_name = "N", default_value_t = 2)]
    pub episodes_per_update: usize,
    /// Largest number of groups per update, sampled from all steps of its episodes
    #[arg(long, value_name = "N", default_value_t = 8)]
    pub groups_per_update: usize,
    /// Number of completions per group
    #[arg(long, value_name = "N", default_value_t = 4)]
    pub num_generations: usize,
    /// Number of completions per micro-batch
    #[arg(
        long,
        alias = "micro-batch-size",
        value_name = "N",
        default_value_t = 8
    )]
    pub per_device_train_batch_size: usize,
    /// Number of prompts completed together
    #[arg(long, value_name = "N", default_value_t = 64)]
    pub generation_batch_size: usize,
    /// Longest completion, in tokens
    #[arg(long, value_name = "N", default_value_t = 192)]
    pub max_completion_length: usize,
    /// Sampling temperature of the policy
    #[arg(long, value_name = "T", default_value_t = 1.0, value_parser = parse_number::<f64>)]
    pub temperature: f64,
    /// Number of optimizer steps per generation
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub num_iterations: usize,
    /// Objective of a token and its normalization
    #[arg(
        long,
        value_enum,
        value_name = "LOSS",
        default_value_t,
        help_heading = "Loss"
    )]
    pub loss_type: LossType,
    /// Deviation that centered rewards are divided by
    #[arg(
        long,
        value_enum,
        value_name = "WHAT",
        default_value_t,
        help_heading = "Loss"
    )]
    pub scale_rewards: ScaleRewards,
    /// Weight of the KL divergence from the model before training
    #[arg(long, value_name = "X", default_value_t = 0.0, value_parser = parse_number::<f64>, help_heading = "Loss")]
    pub beta: f64,
    /// Clip the ratio below at 1 - EPSILON
    #[arg(long, value_name = "EPSILON", default_value_t = 0.2, value_parser = parse_number::<f64>, help_heading = "Loss")]
    pub epsilon: f64,
    /// Clip the ratio above at 1 + EPSILON [default: --epsilon]
    #[arg(long, value_name = "EPSILON", value_parser = parse_number::<f64>, help_heading = "Loss")]
    pub epsilon_high: Option<f64>,
    /// Weight of the entropy bonus
    #[arg(long, value_name = "X", default_value_t = 0.0, value_parser = parse_number::<f64>, help_heading = "Loss")]
    pub entropy_coef: f64,
    /// Leave truncated completions out of the loss
    #[arg(long, help_heading = "Loss")]
    pub mask_truncated_completions: bool,
    /// Number of completions of each update to write to completions/, in whole groups; 0 for none
    #[arg(long, value_name = "N", default_value_t = COMPLETIONS, help_heading = "Run")]
    #[serde(default = "completions")]
    pub num_completions_to_log: usize,
    #[command(flatten)]
    #[serde(flatten)]
    #[allow(missing_docs)]
    pub loss_args: LossArgs,
    #[command(flatten)]
    #[serde(flatten)]
    #[allow(missing_docs)]
    pub sampler_correction: SamplerCorrectionArgs,
    #[command(flatten)]
    #[serde(flatten)]
    #[allow(missing_docs)]
    pub rollout_engine: RolloutEngineArgs,
    #[command(flatten)]
    #[serde(flatten)]
    #[allow(missing_docs)]
    pub run: RunOptions,
    #[command(flatten)]
    #[serde(flatten)]
    #[allow(missing_docs)]
    pub episode: EpisodeArgs,
}

impl GrpoConfig {
    /// Returns the number of parts that a processor divides a micro-batch of the longest rows into.
    #[must_use]
    pub fn row_parts(&self) -> usize {
        let rows = self.per_device_train_batch_size;
        part_count(rows, rows.saturating_mul(self.run.max_length))
    }

    /// Checks the options that no other part checks.
    ///
    /// # Errors
    /// If an option is invalid; the error names the first one.
    pub fn check(&self) -> Result<(), RunError> {
        let counts = [
            ("episodes", self.episode.episodes.unwrap_or(1) as usize),
            ("episodes-per-update", self.episodes_per_update),
            ("groups-per-update", self.groups_per_update),
            (
                "per-device-train-batch-size",
                self.per_device_train_batch_size,
            ),
            ("generation-batch-size", self.generation_batch_size),
            ("max-completion-length", self.max_completion_length),
            ("num-iterations", self.num_iterations),
        ];
        for (option, value) in counts {
            if value == 0 || value > MOST {
                return Err(RunError::option(option, "from 1 to 1048576"));
            }
        }
        if self.num_generations < 2 || self.num_generations > MOST {
            return Err(RunError::option("num-generations", "from 2 to 1048576"));
        }
        if self.max_completion_length >= self.run.max_length {
            return Err(RunError::option(
                "max-completion-length",
                "less than max-length",
            ));
        }
        let positive = |value: f64| value.is_finite() && value > 0.0;
        // Logits are divided by the temperature as f32.
        let temperature = f64::from(self.temperature as f32);
        if !positive(self.learning_rate) || !positive(temperature) {
            return Err(RunError::option("learning-rate and temperature", "above 0"));
        }
        self.check_lookahead()?;
        self.seeds()?;
        self.rollout_config()?;
        self.rollout_engine.check(self.run.full)?;
        let is_remote = self.rollout_engine.is_enabled();
        self.sampler_correction.check(is_remote)?;
        self.loss().check()?;
        Ok(())
    }

    /// Checks the options of the policy that plays on, and of look-ahead.
    fn check_lookahead(&self) -> Result<(), RunError> {
        let is_lookahead = self.credit == Credit::Lookahead;
        let has_other = is_lookahead
            || (self.credit == Credit::Step && self.continuation == Continuation::Scripted);
        let names_other = self.continuation_policy.is_some() || self.continuation_model.is_some();
        if names_other && !has_other {
            return Err(RunError::option(
                "continuation-policy and -model",
                "left out, or used with --continuation scripted or --credit lookahead",
            ));
        }
        let plays_model = self.continuation_policy.as_deref() == Some("trained");
        if self.continuation_model.is_some() && !plays_model {
            return Err(RunError::option(
                "continuation-model",
                "left out, or used with --continuation-policy trained",
            ));
        }
        if self.lookahead_rollouts == 0 || self.lookahead_rollouts as usize > MOST {
            return Err(RunError::option("lookahead-rollouts", "from 1 to 1048576"));
        }
        if self.lookahead_actions > MOST {
            return Err(RunError::option("lookahead-actions", "from 0 to 1048576"));
        }
        if !(self.lookahead_temperature.is_finite() && self.lookahead_temperature > 0.0) {
            return Err(RunError::option("lookahead-temperature", "above 0"));
        }
        if !(0.0..=1.0).contains(&self.lookahead_exploration) {
            return Err(RunError::option("lookahead-exploration", "from 0 to 1"));
        }
        let share = self.lookahead_expert_share;
        if !(0.0..=1.0).contains(&share) || self.lookahead_exploration + share > 1.0 {
            return Err(RunError::option(
                "lookahead-expert-share",
                "from 0 to 1, and no more than 1 in sum with --lookahead-exploration",
            ));
        }
        if is_lookahead && self.loss_type != LossType::Dapo {
            // Others are normalized by the completions that carry loss, whose number is no property of
            // the policy here.
            return Err(RunError::option(
                "loss-type",
                "dapo with --credit lookahead",
            ));
        }
        if is_lookahead && (self.beta != 0.0 || self.entropy_coef != 0.0) {
            // Both are means over sampled tokens.
            return Err(RunError::option(
                "beta and entropy-coef",
                "0 with --credit lookahead; a higher --lookahead-temperature keeps the policy closer",
            ));
        }
        if is_lookahead && self.sampling().is_some() {
            // Its completions are not sampled.
            return Err(RunError::option(
                "importance-sampling-mode and rollouts",
                "left out with --credit lookahead",
            ));
        }
        Ok(())
    }

    /// Returns the seeds of the episodes, one per episode.
    ///
    /// # Errors
    /// If any of them is not a training seed.
    pub fn seeds(&self) -> Result<SeedRange, RunError> {
        let training = training_seeds();
        let seeds = self.episode.seeds.unwrap_or_else(|| {
            let start = training.range().start;
            SeedRange::new(
                start,
                start.saturating_add(self.episode.episodes.unwrap_or(200).max(1)),
            )
        });
        if training.contains(seeds) {
            Ok(seeds)
        } else {
            let allowed = "no more than there are training seeds, and among 100000..1000000";
            Err(RunError::option("episodes or seeds", allowed))
        }
    }

    /// Returns the prompt style, the parser of completions and the reward of invalid ones.
    ///
    /// # Errors
    /// If the penalty is not from -1 to 0.
    pub fn rollout_config(&self) -> Result<RolloutConfig, RunError> {
        let invalid = InvalidReward::new(self.invalid_penalty);
        let invalid = invalid.map_err(|_| RunError::option("invalid-penalty", "from -1 to 0"))?;
        Ok(self.prompts.rollout_config(invalid))
    }

    /// Returns the correction for the sampler, or `None` if there is none.
    #[must_use]
    pub fn sampling(&self) -> Option<ImportanceSamplingConfig> {
        let is_remote = self.rollout_engine.is_enabled();
        self.sampler_correction.sampling(is_remote)
    }

    /// Returns the options of the loss.
    #[must_use]
    pub fn loss(&self) -> LossConfig {
        self.loss_args.loss(LossConfig {
            loss_type: self.loss_type,
            beta: self.beta,
            epsilon: self.epsilon,
            epsilon_high: self.epsilon_high,
            entropy_coef: self.entropy_coef,
            max_completion_length: self.max_completion_length,
            ..LossConfig::default()
        })
    }

    /// Returns the options that turn rewards into advantages.
    #[must_use]
    pub fn advantages(&self) -> AdvantageConfig {
        AdvantageConfig {
            num_generations: self.num_generations,
            scale_rewards: self.scale_rewards,
            reward_weights: Some(vec![1.0, self.format_weight]),
            multi_objective_aggregation: self
                .sampler_correction
                .multi_objective_aggregation
                .unwrap_or_default(),
        }
    }
}

/// Default upper bound of the correction, as in TRL.
const CLIP_MAX: f64 = 3.0;

/// Options of the loss that only a language model has; the others are
/// [`LossArgs`](sentinel_rl::LossArgs).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, clap::Args)]
#[command(next_help_heading = "Loss")]
pub struct SamplerCorrectionArgs {
    /// Correct for a sampler that differs from the policy, such as one in another precision
    /// [default: no correction; token_truncate with --rollouts]
    #[arg(
        long,
        alias = "vllm-importance-sampling-mode",
        value_enum,
        value_name = "MODE"
    )]
    pub importance_sampling_mode: Option<ImportanceSamplingMode>,
    /// Lower bound of the correction [default: none]
    #[arg(long, value_name = "RATIO", value_parser = parse_number::<f64>)]
    pub importance_sampling_clip_min: Option<f64>,
    /// Upper bound of the correction [default: 3]
    #[arg(long, value_name = "RATIO", value_parser = parse_number::<f64>)]
    pub importance_sampling_clip_max: Option<f64>,
    /// Order of summing and normalizing several rewards [default: sum_then_normalize]
    #[arg(long, value_enum, value_name = "WHEN")]
    pub multi_objective_aggregation: Option<MultiObjectiveAggregation>,
}

impl SamplerCorrectionArgs {
    /// Returns the correction for the sampler, or `None` if there is none. An engine outside of this
    /// process (`is_remote`) is always corrected for.
    #[must_use]
    pub fn sampling(&self, is_remote: bool) -> Option<ImportanceSamplingConfig> {
        let default = is_remote.then_some(ImportanceSamplingMode::TokenTruncate);
        Some(ImportanceSamplingConfig {
            mode: self.importance_sampling_mode.or(default)?,
            clip_min: self.importance_sampling_clip_min,
            clip_max: Some(self.importance_sampling_clip_max.unwrap_or(CLIP_MAX)),
        })
    }

    /// Checks the options that no other part checks.
    ///
    /// # Errors
    /// If an option is invalid; the error names the first one.
    pub fn check(&self, is_remote: bool) -> Result<(), RunError> {
        let bounds = [
            self.importance_sampling_clip_min,
            self.importance_sampling_clip_max,
        ];
        let Some(ImportanceSamplingConfig {
            clip_min, clip_max, ..
        }) = self.sampling(is_remote)
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
