//! The options of `sentinel grpo`.

use sentinel_env::WorldName;
use sentinel_env::rng::Streams;
use sentinel_policy::text::{InvalidReward, PromptStyle, Reader};
use serde::{Deserialize, Serialize};

use super::loss_options::LossOptions;
use crate::Cells;
use crate::args::{WorldParser, parse_number, parse_streams};
use crate::corpus::rollout::Terms;
use crate::corpus::{parse_reader, parse_style};
use crate::lm::train::{RunError, RunOptions};
use crate::rl::advantage::{AdvantageConfig, ScaleRewards};
use crate::rl::config::{ImportanceSamplingLevel, LossConfig, LossType};

/// Counts above are typing errors, and their products would be no numbers.
const MOST: usize = 1 << 20;

/// Completions of an update that are logged, where nobody says how many.
const COMPLETIONS: usize = 64;

const fn completions() -> usize {
    COMPLETIONS
}

/// What a completion is rewarded by, and whom it is compared with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum Credit {
    /// What it led to, against other completions of a copy of the same state.
    #[default]
    Step,
    /// The reward of its own step, against other completions of the same state, as the reference
    /// trains.
    SingleStep,
    /// The mean reward from its step on, against whole episodes from the same start at that step.
    RewardToGo,
}

/// Who plays on after a completion under [`Credit::Step`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum Continue {
    /// The world's scripted heuristic: cheap and without noise, but another player's future, which made
    /// the best token worse where it was measured (docs/log.md).
    Scripted,
    /// The model itself.
    Own,
    /// The model itself with its best token each time: its own future, with the noise of no further
    /// draw. What is the same is played once.
    #[default]
    Greedy,
}

/// The options of `sentinel grpo`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, clap::Args)]
pub struct GrpoConfig {
    /// The world to play
    #[arg(long, default_value_t, value_parser = WorldParser)]
    pub world: WorldName,
    /// The rules: reference or hardened, with single changes as in reference+A or hardened-A-B
    #[arg(long, value_name = "RULES", default_value = "reference")]
    pub rules: String,
    /// Tasks of the world with commas between, or all
    #[arg(long, alias = "tasks", value_name = "TASK", default_value = "all")]
    pub task: String,
    #[command(flatten)]
    #[serde(flatten)]
    #[allow(missing_docs)]
    pub cells: Cells,
    /// How random streams are seeded: reference or independent [default: independent, where the
    /// world has it]
    #[arg(long, value_name = "MODE", value_parser = parse_streams)]
    pub streams: Option<Streams>,
    /// Episodes to learn from, the tasks in turn, on training seeds
    #[arg(long, value_name = "N", default_value_t = 200)]
    pub episodes: usize,
    /// How an observation is put into words: compact or reference
    #[arg(long, value_name = "STYLE", default_value = "compact", value_parser = parse_style)]
    pub prompt: PromptStyle,
    /// How a completion is read: strict, or repair to leave out what is around the action
    #[arg(long, value_name = "READER", default_value = "strict", value_parser = parse_reader)]
    pub reader: Reader,
    /// Reward of a completion that is no action and ends its sample, from -1 to 0
    #[arg(
        long,
        value_name = "REWARD",
        default_value_t = 0.0,
        allow_hyphen_values = true,
        value_parser = parse_number::<f64>
    )]
    pub invalid_penalty: f64,
    /// Weight of a reward of 1 for every completion that is an action as it stands
    #[arg(long, value_name = "X", default_value_t = 0.0, value_parser = parse_number::<f64>)]
    pub format_weight: f64,
    /// What a completion is rewarded by
    #[arg(long, value_enum, default_value_t)]
    pub credit: Credit,
    /// Who plays on after a completion with --credit step
    #[arg(long = "continue", id = "continue", value_enum, default_value_t)]
    #[serde(rename = "continue")]
    pub continuation: Continue,
    #[command(flatten)]
    #[serde(flatten)]
    #[allow(missing_docs)]
    pub run: RunOptions,
    /// The highest learning rate
    #[arg(long, value_name = "X", default_value_t = 5e-6, value_parser = parse_number::<f64>)]
    pub learning_rate: f64,
    /// Episodes that one update plays
    #[arg(long, value_name = "N", default_value_t = 2)]
    pub batch_size: usize,
    /// Most groups that one update learns from, drawn from all steps of its episodes
    #[arg(long, value_name = "N", default_value_t = 8)]
    pub groups_per_update: usize,
    /// Completions of a group
    #[arg(long, value_name = "N", default_value_t = 4)]
    pub num_generations: usize,
    /// Completions that are computed at a time
    #[arg(long, value_name = "N", default_value_t = 8)]
    pub micro_batch_size: usize,
    /// Prompts that are completed side by side
    #[arg(long, value_name = "N", default_value_t = 64)]
    pub generation_batch_size: usize,
    /// Longest completion, in tokens
    #[arg(long, value_name = "N", default_value_t = 192)]
    pub max_completion_length: usize,
    /// Temperature of the policy
    #[arg(long, value_name = "T", default_value_t = 1.0, value_parser = parse_number::<f64>)]
    pub temperature: f64,
    /// Optimizer steps per generation
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub num_iterations: usize,
    /// The objective: grpo, bnpo, dr_grpo, dapo, cispo, sapo, luspo or vespo
    #[arg(long, value_name = "LOSS", default_value = "dapo", value_parser = word::<LossType>)]
    pub loss_type: LossType,
    /// What one importance ratio belongs to: token or sequence
    #[arg(long, value_name = "LEVEL", default_value = "token",
        value_parser = word::<ImportanceSamplingLevel>)]
    pub importance_sampling_level: ImportanceSamplingLevel,
    /// What a centred reward is divided by: group, batch or none
    #[arg(long, value_name = "WHAT", default_value = "group", value_parser = word::<ScaleRewards>)]
    pub scale_rewards: ScaleRewards,
    /// Weight of the divergence from the model before training
    #[arg(long, value_name = "X", default_value_t = 0.0, value_parser = parse_number::<f64>)]
    pub beta: f64,
    /// The ratio is clipped below at 1 - EPSILON
    #[arg(long, value_name = "EPSILON", default_value_t = 0.2, value_parser = parse_number::<f64>)]
    pub epsilon: f64,
    /// The ratio is clipped above at 1 + EPSILON [default: --epsilon]
    #[arg(long, value_name = "EPSILON", value_parser = parse_number::<f64>)]
    pub epsilon_high: Option<f64>,
    /// Weight of the entropy bonus
    #[arg(long, value_name = "X", default_value_t = 0.0, value_parser = parse_number::<f64>)]
    pub entropy_coef: f64,
    /// Leave completions out that ended because the room did
    #[arg(long)]
    pub mask_truncated_completions: bool,
    /// Completions of each update that are written to completions/, whole groups of them; 0 for none
    #[arg(long, value_name = "N", default_value_t = COMPLETIONS)]
    #[serde(default = "completions")]
    pub num_completions_to_log: usize,
    #[command(flatten)]
    #[serde(flatten)]
    #[allow(missing_docs)]
    pub loss_options: LossOptions,
}

/// A word of an enumeration, as files spell it.
pub(super) fn word<T: serde::de::DeserializeOwned>(text: &str) -> Result<T, String> {
    serde_json::from_value(serde_json::Value::from(text)).map_err(|error| error.to_string())
}

impl GrpoConfig {
    /// Checks all options that no other part checks.
    ///
    /// # Errors
    /// Names the first that cannot be.
    pub fn check(&self) -> Result<(), RunError> {
        let counts = [
            ("episodes", self.episodes),
            ("batch-size", self.batch_size),
            ("groups-per-update", self.groups_per_update),
            ("micro-batch-size", self.micro_batch_size),
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
        if self.max_completion_length >= self.run.max_seq_length {
            return Err(RunError::option(
                "max-completion-length",
                "less than max-seq-length",
            ));
        }
        let positive = |value: f64| value.is_finite() && value > 0.0;
        // Logits are divided by it as f32.
        let temperature = f64::from(self.temperature as f32);
        if !positive(self.learning_rate) || !positive(temperature) {
            return Err(RunError::option("learning-rate and temperature", "above 0"));
        }
        self.terms()?;
        self.loss_options.check()?;
        self.loss().check().map_err(crate::lm::LmError::from)?;
        Ok(())
    }

    /// How prompts are made, completions read and unreadable ones rewarded.
    ///
    /// # Errors
    /// If the penalty is no penalty.
    pub fn terms(&self) -> Result<Terms, RunError> {
        let invalid = InvalidReward::new(self.invalid_penalty);
        Ok(Terms {
            style: self.prompt,
            reader: self.reader,
            invalid: invalid.map_err(|_| RunError::option("invalid-penalty", "from -1 to 0"))?,
        })
    }

    /// The loss.
    #[must_use]
    pub fn loss(&self) -> LossConfig {
        self.loss_options.over(LossConfig {
            loss_type: self.loss_type,
            importance_sampling_level: self.importance_sampling_level,
            beta: self.beta,
            epsilon: self.epsilon,
            epsilon_high: self.epsilon_high,
            entropy_coef: self.entropy_coef,
            max_completion_length: self.max_completion_length,
            ..LossConfig::default()
        })
    }

    /// How rewards become advantages.
    #[must_use]
    pub fn advantages(&self) -> AdvantageConfig {
        AdvantageConfig {
            num_generations: self.num_generations,
            scale_rewards: self.scale_rewards,
            reward_weights: Some(vec![1.0, self.format_weight]),
            multi_objective_aggregation: self
                .loss_options
                .multi_objective_aggregation
                .unwrap_or_default(),
        }
    }
}
