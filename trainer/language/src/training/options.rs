//! Options shared by all training of language models: model, trained parameters, optimizer steps
//! and outputs. One struct serves for flags, configuration files and the first line of the log.

use std::path::{Path, PathBuf};

use sentinel_base::SAVE_TOTAL_LIMIT;
use sentinel_base::arg_parsers::{named_enum_parser, parse_number};
use sentinel_base::precision::{Precision, deserialize_name_or_switch};
use sentinel_base::rng::Rng;
use sentinel_lm::{
    AdamOptions, ChatTemplateKwargs, ForwardOptions, LmError, LoraConfig, ModuleNames, Target,
};
use sentinel_rl::{Schedule, ScheduleKind};
use sentinel_run::RunSchedule;
use sentinel_tensor::device::DeviceName;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::error::RunError;

/// Indices of the random streams that every run's seed is split into; those of a method follow.
const ORDER: u64 = 1;
const DROPOUT: u64 = 2;

const LORA_RANK: usize = 16;
const ALL_LINEAR: &str = "all-linear";

/// Default number of validation seeds per task.
const EVAL_EPISODES: usize = 32;

const fn save_total_limit() -> usize {
    SAVE_TOTAL_LIMIT
}

const fn eval_episodes() -> usize {
    EVAL_EPISODES
}

/// Options of a run, with the names and meanings of TRL where TRL has them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, clap::Args)]
#[command(next_help_heading = "Model and training")]
pub struct RunOptions {
    /// Model: a local folder, or a name on the Hugging Face Hub
    #[arg(
        long,
        aliases = ["model-name-or-path", "model-id"],
        value_name = "MODEL",
        default_value = "Qwen/Qwen2.5-1.5B-Instruct"
    )]
    pub model: String,
    /// Continue training this LoRA adapter instead of a new one
    #[arg(long, value_name = "DIR", conflicts_with = "full")]
    pub adapter: Option<PathBuf>,
    /// Train all weights instead of a LoRA adapter
    #[arg(long)]
    pub full: bool,
    /// Token that ends a completion, which the trained model keeps, beside the stop tokens of the model: for
    /// a base model, the one that its chat template ends a message with
    #[arg(long, value_name = "TOKEN")]
    #[serde(default)]
    pub eos_token: Option<String>,
    /// Rank of a new LoRA adapter
    #[arg(long, alias = "lora-rank", value_name = "R", default_value_t = LORA_RANK)]
    pub lora_r: usize,
    /// LoRA alpha: the adapter is scaled by ALPHA / R [default: R]
    #[arg(long, value_name = "ALPHA", value_parser = parse_number::<f64>)]
    pub lora_alpha: Option<f64>,
    /// Dropout probability of the adapter's inputs
    #[arg(long, value_name = "SHARE", default_value_t = 0.0, value_parser = parse_number::<f64>)]
    pub lora_dropout: f64,
    /// Linear layers to adapt, separated by commas, or all-linear
    #[arg(long, alias = "lora-targets", value_name = "NAMES", default_value = ALL_LINEAR)]
    pub lora_target_modules: String,
    /// Number of passes over the data
    #[arg(long, alias = "epochs", value_name = "N", default_value_t = 1)]
    pub num_train_epochs: usize,
    /// Number of optimizer steps instead of whole epochs; 0 for whole epochs
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub max_steps: usize,
    /// Decay of the learning rate after the warm-up
    #[arg(
        long,
        alias = "lr-scheduler",
        value_enum,
        value_name = "SHAPE",
        default_value_t
    )]
    pub lr_scheduler_type: ScheduleKind,
    /// Steps over which the learning rate rises from 0
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub warmup_steps: usize,
    /// Decoupled weight decay of matrices
    #[arg(long, value_name = "X", default_value_t = 0.0, value_parser = parse_number::<f32>)]
    pub weight_decay: f32,
    /// Largest global norm of the gradient; 0 disables clipping
    #[arg(long, value_name = "X", default_value_t = 1.0, value_parser = parse_number::<f64>)]
    pub max_grad_norm: f64,
    /// Longest row, prompt and completion together, in tokens
    #[arg(
        long,
        alias = "max-seq-length",
        value_name = "N",
        default_value_t = 1024
    )]
    pub max_length: usize,
    /// Variables of the chat template as a JSON object, such as {"enable_thinking": false} [default:
    /// those that the adapter or the model was trained with]
    #[arg(long, value_name = "JSON")]
    #[serde(default)]
    pub chat_template_kwargs: Option<ChatTemplateKwargs>,
    /// Keep all activations for the backward pass: faster, but needs more memory
    #[arg(long)]
    pub no_gradient_checkpointing: bool,
    /// Number format: f32; bf16-weights for frozen weights in bf16 (also --bf16); bf16 for
    /// activations too
    #[arg(
        long,
        alias = "bf16",
        value_name = "FORMAT",
        num_args = 0..=1,
        default_missing_value = Precision::Bf16Weights.name(),
        default_value_t,
        value_parser = named_enum_parser::<Precision>()
    )]
    #[serde(
        default,
        alias = "bf16",
        deserialize_with = "deserialize_name_or_switch"
    )]
    pub precision: Precision,
    /// Seed of all random numbers
    #[arg(long, value_name = "SEED", default_value_t = 0)]
    pub seed: u64,
    /// Number of steps averaged in one log entry
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub logging_steps: usize,
    /// Steps between two checkpoints
    #[arg(long, value_name = "N", default_value_t = 50)]
    pub save_steps: usize,
    /// Number of folders checkpoint-N to keep, not counting the best one; 0 for none
    #[arg(long, value_name = "N", default_value_t = SAVE_TOTAL_LIMIT)]
    #[serde(default = "save_total_limit")]
    pub save_total_limit: usize,
    /// Steps between two evaluations, by greedy decoding on validation seeds, that select the best
    /// model; 0 for none
    #[arg(
        long,
        value_name = "N",
        default_value_t = 0,
        help_heading = "Evaluation"
    )]
    #[serde(default)]
    pub eval_steps: usize,
    /// Number of validation seeds per task in an evaluation
    #[arg(long, value_name = "N", default_value_t = EVAL_EPISODES, help_heading = "Evaluation")]
    #[serde(default = "eval_episodes")]
    pub eval_episodes: usize,
    /// Number of evaluations without a better score after which the run stops; 0 to never stop
    /// early
    #[arg(
        long,
        value_name = "N",
        default_value_t = 0,
        help_heading = "Evaluation"
    )]
    #[serde(default)]
    pub early_stopping_patience: usize,
    /// Device that holds all tensors
    #[arg(long, value_name = "DEVICE", default_value_t, value_parser = named_enum_parser::<DeviceName>())]
    pub device: DeviceName,
    /// Train a tiny new model if the model cannot be found, and mark every output as a fallback
    #[arg(long)]
    pub allow_fallback: bool,
}

impl RunOptions {
    /// Checks each option, and combinations that exclude each other.
    ///
    /// # Errors
    /// If an option is invalid; the error names the first one.
    pub fn check(&self) -> Result<(), RunError> {
        let counts = [
            ("num-train-epochs", self.num_train_epochs),
            ("max-length", self.max_length),
            ("logging-steps", self.logging_steps),
            ("save-steps", self.save_steps),
        ];
        for (option, value) in counts {
            if value == 0 {
                return Err(RunError::option(option, "at least 1"));
            }
        }
        if !(self.max_grad_norm >= 0.0 && self.weight_decay >= 0.0) {
            return Err(RunError::option(
                "max-grad-norm and weight-decay",
                "0 or more",
            ));
        }
        if self.early_stopping_patience > 0 && self.eval_steps == 0 {
            return Err(RunError::option(
                "early-stopping-patience",
                "left out without eval-steps, which it counts",
            ));
        }
        if self.full && self.precision == Precision::Bf16Weights {
            return Err(RunError::option(
                "precision",
                "f32 or bf16 with full, which leaves no weights frozen",
            ));
        }
        if self.full && self.adapter.is_some() {
            return Err(RunError::option(
                "adapter",
                "left out with full, which trains all weights instead of an adapter",
            ));
        }
        self.lora().map(|_| ())
    }

    /// Returns the intervals of evaluations and checkpoints, and the patience of early stopping.
    #[must_use]
    pub fn run_schedule(&self) -> RunSchedule {
        RunSchedule {
            eval_steps: Some(self.eval_steps).filter(|n| *n > 0),
            save_steps: self.save_steps,
            save_total_limit: self.save_total_limit,
            early_stopping_patience: Some(self.early_stopping_patience).filter(|n| *n > 0),
        }
    }

    /// Returns the variables of the chat template of the model in folder `source`.
    ///
    /// # Errors
    /// If a file with variables cannot be read.
    pub fn template_kwargs(&self, source: &Path) -> Result<ChatTemplateKwargs, LmError> {
        let given = self.chat_template_kwargs.as_ref();
        ChatTemplateKwargs::resolve(given, self.adapter.as_deref(), source)
    }

    /// Returns the configuration of a new adapter.
    ///
    /// # Errors
    /// If an option is invalid.
    pub fn lora(&self) -> Result<LoraConfig, RunError> {
        let targets = if self.lora_target_modules == ALL_LINEAR {
            ModuleNames::from(&Target::ALL)
        } else {
            let names = self.lora_target_modules.split(',').map(str::trim);
            if !names.clone().all(|name| Target::from_name(name).is_some()) {
                return Err(RunError::option(
                    "lora-target-modules",
                    "names such as q_proj,v_proj, or all-linear",
                ));
            }
            ModuleNames::list(names)
        };
        let config = LoraConfig {
            rank: self.lora_r,
            alpha: self.lora_alpha.unwrap_or(self.lora_r as f64),
            dropout: self.lora_dropout,
            targets,
            base_model: Some(self.model.clone()),
            ..LoraConfig::default()
        };
        config.check()?;
        Ok(config)
    }

    /// Returns the configuration of the adapter that the run continues; `None` if it trains no
    /// existing adapter.
    ///
    /// # Errors
    /// If it cannot be read, or differs from an option for new adapters that was given.
    pub fn named_adapter(&self) -> Result<Option<LoraConfig>, RunError> {
        let Some(folder) = &self.adapter else {
            return Ok(None);
        };
        let own = LoraConfig::load(folder)?;
        let asked = self.lora()?;
        let apart = |a: f64, b: f64| (a - b).abs() > 0.0;
        let rank = self.lora_r != LORA_RANK && asked.rank != own.rank;
        let alpha = self.lora_alpha.is_some() && apart(asked.alpha, own.alpha);
        let dropout = asked.dropout > 0.0 && apart(asked.dropout, own.dropout);
        let targets = self.lora_target_modules != ALL_LINEAR && asked.targets != own.targets;
        let others = [
            ("lora-r", rank),
            ("lora-alpha", alpha),
            ("lora-dropout", dropout),
            ("lora-target-modules", targets),
        ];
        match others.into_iter().find(|(_, other)| *other) {
            Some((option, _)) => Err(RunError::option(
                option,
                "left out with --adapter: the adapter has its own",
            )),
            None => Ok(Some(own)),
        }
    }

    /// Returns the note in the provenance of a run whose model could not be found.
    pub(super) fn fallback_note(&self) -> String {
        let asked = &self.model;
        format!("a tiny new model stands in for {asked}, which could not be found")
    }

    /// Returns the options of a new adapter that would create one like `config`.
    pub(super) fn adapter_options(config: &LoraConfig) -> [(String, Value); 4] {
        let targets = match &config.targets {
            all if *all == ModuleNames::from(&Target::ALL) => ALL_LINEAR.to_owned(),
            ModuleNames::List(names) => names.join(","),
            ModuleNames::Pattern(pattern) => pattern.clone(),
        };
        [
            ("lora_r".to_owned(), config.rank.into()),
            ("lora_alpha".to_owned(), config.alpha.into()),
            ("lora_dropout".to_owned(), config.dropout.into()),
            ("lora_target_modules".to_owned(), targets.into()),
        ]
    }

    /// Returns the options of the optimizer.
    #[must_use]
    pub fn adam(&self) -> AdamOptions {
        AdamOptions {
            weight_decay: self.weight_decay,
            max_grad_norm: self.max_grad_norm,
            ..AdamOptions::default()
        }
    }

    /// Returns the generator of random stream `stream` at step or epoch `index`.
    #[must_use]
    pub(crate) fn rng(&self, stream: u64, index: usize) -> Rng {
        let seed = Rng::indexed(self.seed, stream).next();
        Rng::indexed(seed, index as u64)
    }

    /// Returns the order of `items` items in an epoch, which follows from the seed and the epoch's
    /// number.
    #[must_use]
    pub fn epoch_order(&self, items: usize, epoch: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..items).collect();
        self.rng(ORDER, epoch).shuffle(&mut order);
        order
    }

    /// Returns the training pass of an optimizer step.
    #[must_use]
    pub fn training_pass(&self, step: usize) -> ForwardOptions {
        let pass = ForwardOptions::training(self.rng(DROPOUT, step).next());
        pass.with_gradient_checkpointing(!self.no_gradient_checkpointing)
    }

    /// Returns the learning rate schedule over `total` steps.
    #[must_use]
    pub const fn schedule(&self, peak: f64, total: usize) -> Schedule {
        Schedule {
            kind: self.lr_scheduler_type,
            peak,
            warmup: self.warmup_steps,
            total,
        }
    }

    /// Returns the number of optimizer steps of a run with `per_epoch` steps in an epoch.
    #[must_use]
    pub const fn total_steps(&self, per_epoch: usize) -> usize {
        if self.max_steps > 0 {
            self.max_steps
        } else {
            self.num_train_epochs.saturating_mul(per_epoch)
        }
    }
}
