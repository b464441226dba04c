//! The options of `sentinel lm sft`.

use std::path::PathBuf;

use sentinel_base::arg_parsers::{named_enum_parser, parse_number};
use sentinel_base::{CellArgs, arg_parsers};
use sentinel_env::WorldName;
use sentinel_play::rollout::RolloutConfig;
use sentinel_policy::text::PromptStyle;
use serde::{Deserialize, Serialize};

use super::rows::OverlongRows;
use crate::agent::{Validation, ValidationWorld};
use crate::training::{PreparedModel, RunError, RunOptions};

/// Help heading of the options of evaluations.
const EVALUATION: &str = "Evaluation";

/// The options of `sentinel lm sft`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, clap::Args)]
#[command(next_help_heading = "Fine-tuning")]
pub struct SftConfig {
    /// Corpus in JSON lines with prompt and completion, or messages
    #[arg(long, alias = "dataset-name", value_name = "FILE")]
    pub data: Option<PathBuf>,
    /// Peak of the learning rate
    #[arg(long, value_name = "X", default_value = "2e-5", value_parser = parse_number::<f64>)]
    pub learning_rate: f64,
    /// Number of rows per micro-batch
    #[arg(long, alias = "batch-size", value_name = "N", default_value_t = 8)]
    pub per_device_train_batch_size: usize,
    /// Number of micro-batches per optimizer step
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub gradient_accumulation_steps: usize,
    /// Treatment of rows longer than --max-length
    #[arg(long, value_enum, value_name = "WHAT", default_value_t)]
    pub too_long: OverlongRows,
    /// Pack several examples into a row of up to --max-length tokens, without attention between
    /// them. --per-device-train-batch-size then counts such rows
    #[arg(long)]
    pub packing: bool,
    /// Train on prompts as well as completions
    #[arg(long)]
    pub train_on_prompt: bool,
    /// Train on the last answer of a conversation (messages) only, not on all of its answers
    #[arg(long, conflicts_with = "train_on_prompt")]
    #[serde(default)]
    pub last_answer_only: bool,
    /// Keep the order of the file
    #[arg(long)]
    pub no_shuffle: bool,
    /// World of the evaluations that --eval-steps requests
    #[arg(long, value_name = "WORLD", value_parser = arg_parsers::world_parser(), help_heading = EVALUATION)]
    #[serde(default)]
    pub eval_world: Option<WorldName>,
    /// Tasks of --eval-world, separated by commas, or all
    #[arg(long, alias = "eval-tasks", value_name = "TASKS", default_value = "all", help_heading = EVALUATION)]
    #[serde(default = "all_tasks")]
    pub eval_task: String,
    /// Rules of --eval-world: reference, the default, as in the published system, or hardened; with single
    /// changes as in reference+A
    #[arg(long, value_name = "RULES", default_value = "reference", help_heading = EVALUATION)]
    #[serde(default = "reference_rules")]
    pub eval_rules: String,
    /// Style of the prompts in evaluations
    #[arg(long, value_name = "STYLE", default_value_t, value_parser = named_enum_parser::<PromptStyle>(),
        help_heading = EVALUATION)]
    #[serde(default)]
    pub eval_prompt: PromptStyle,
    #[command(flatten)]
    #[serde(flatten)]
    #[allow(missing_docs)]
    pub run: RunOptions,
}

fn all_tasks() -> String {
    "all".to_owned()
}

fn reference_rules() -> String {
    "reference".to_owned()
}

/// Longest completion of an evaluation, in tokens, and number of prompts completed together.
const EVAL_TOKENS: usize = 192;
const EVAL_BATCH: usize = 64;

impl SftConfig {
    /// Returns the evaluation that the options request, if any.
    pub(super) fn validation(&self, start: &PreparedModel) -> Result<Option<Validation>, RunError> {
        if self.run.eval_steps == 0 {
            return Ok(None);
        }
        let world = self.eval_world.ok_or(RunError::option(
            "eval-world",
            "given with eval-steps: evaluations are played in it",
        ))?;
        let world = ValidationWorld {
            world,
            rules: &self.eval_rules,
            tasks: Some(&self.eval_task),
            cells: &CellArgs::default(),
            rollout_config: RolloutConfig {
                style: self.eval_prompt,
                ..RolloutConfig::default()
            },
        };
        let (tokenizer, generation) = (&start.tokenizer, &start.generation);
        let tokens = EVAL_TOKENS;
        Validation::new(&self.run, &world, tokenizer, generation, tokens, EVAL_BATCH)
    }

    pub(super) fn check(&self) -> Result<(), RunError> {
        let window = self
            .per_device_train_batch_size
            .checked_mul(self.gradient_accumulation_steps);
        if window.is_none_or(|rows| rows == 0) {
            return Err(RunError::option(
                "per-device-train-batch-size and gradient-accumulation-steps",
                "at least 1, and their product below 2^64",
            ));
        }
        if !(self.learning_rate.is_finite() && self.learning_rate > 0.0) {
            return Err(RunError::option("learning-rate", "a number above 0"));
        }
        Ok(())
    }
}
