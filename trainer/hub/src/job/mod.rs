//! `sentinel hf-job`: a job of Hugging Face Jobs that trains on a rented machine.
//!
//! A job is an image, a shell command, a flavor of machine and a time limit (spec evaluation §1 and
//! the reference's launcher). [`JobSpec::new`] describes it without a network; [`submit()`] sends
//! it.

mod commands;
mod spec;
mod submit;

pub use commands::{MissingOption, job_commands};
pub use spec::JobSpec;
pub use submit::{Submitted, submit};

use std::path::PathBuf;

use sentinel_base::arg_parsers;
use sentinel_base::arg_parsers::{named_enum_parser, parse_number};
use sentinel_base::precision::Precision;
use sentinel_env::WorldName;

/// The work of a job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum JobMode {
    /// Print the GPU of the machine
    #[default]
    GpuTest,
    /// Print the version of sentinel, and take one training step on the device
    ImportSmoke,
    /// import-smoke, then GRPO with these options
    TrainSmoke,
    /// train-smoke, then a replay, an evaluation of all policies, plots, and the upload of both
    TrainFull,
}

impl JobMode {
    /// Returns the name of the mode.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::GpuTest => "gpu-test",
            Self::ImportSmoke => "import-smoke",
            Self::TrainSmoke => "train-smoke",
            Self::TrainFull => "train-full",
        }
    }

    /// Returns `true` for the modes that train with the options of training.
    const fn trains(self) -> bool {
        matches!(self, Self::TrainSmoke | Self::TrainFull)
    }
}

/// The configuration of `sentinel hf-job`.
#[derive(Clone, Debug, clap::Args)]
pub struct JobConfig {
    /// Work of the job
    #[arg(long, value_enum, value_name = "MODE", default_value_t)]
    pub mode: JobMode,
    /// User or organization that pays for the job [default: HF_NAMESPACE, else the token's user]
    #[arg(long, value_name = "NAME")]
    pub namespace: Option<String>,
    /// Machine, such as t4-small, l4x1, a10g-small, a100-large
    #[arg(long, value_name = "FLAVOR", default_value = "a10g-small")]
    pub flavor: String,
    /// Time limit of the job, in s, m, h or d
    #[arg(long, value_name = "TIME", default_value = "2h")]
    pub timeout: String,
    /// Image of the container; without --repo-url it must have sentinel on its PATH
    /// [default: one of CUDA's]
    #[arg(long, value_name = "IMAGE")]
    pub image: Option<String>,
    /// Git repository of sentinel that the job clones and builds
    #[arg(long, value_name = "URL")]
    pub repo_url: Option<String>,
    /// Commit, branch or tag of --repo-url
    #[arg(long, value_name = "REVISION", requires = "repo_url")]
    pub revision: Option<String>,
    /// Print the job as JSON, and send nothing
    #[arg(long)]
    pub dry_run: bool,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub training: TrainingArgs,
}

/// The options of the training in a job.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Training")]
pub struct TrainingArgs {
    /// Model to train: a name on the Hugging Face Hub
    #[arg(
        long,
        aliases = ["model-name-or-path", "model-id"],
        value_name = "MODEL",
        default_value = "Qwen/Qwen2.5-0.5B-Instruct"
    )]
    pub model: String,
    /// World to train in
    #[arg(long, value_name = "WORLD", default_value_t, value_parser = arg_parsers::world_parser())]
    pub world: WorldName,
    /// Tasks separated by commas, or all
    #[arg(long, alias = "tasks", value_name = "TASKS", default_value = "all")]
    pub task: String,
    /// Number of episodes to learn from
    #[arg(long, value_name = "N", default_value_t = 50)]
    pub episodes: u64,
    /// Seed of all random numbers of the training
    #[arg(long, value_name = "SEED", default_value_t = 0)]
    pub seed: u64,
    /// Number of passes over the episodes
    #[arg(long, alias = "epochs", value_name = "N", default_value_t = 1)]
    pub num_train_epochs: usize,
    /// Number of completions per micro-batch
    #[arg(long, alias = "batch-size", value_name = "N", default_value_t = 2)]
    pub per_device_train_batch_size: usize,
    /// Peak of the learning rate
    #[arg(long, value_name = "X", default_value = "5e-6", value_parser = parse_number::<f64>)]
    pub learning_rate: f64,
    /// Rank of the LoRA adapter
    #[arg(long, alias = "lora-rank", value_name = "R", default_value_t = 8)]
    pub lora_r: usize,
    /// Number of completions per group
    #[arg(long, value_name = "N", default_value_t = 2)]
    pub num_generations: usize,
    /// Longest row, prompt and completion together, in tokens
    #[arg(
        long,
        alias = "max-seq-length",
        value_name = "N",
        default_value_t = 1024
    )]
    pub max_length: usize,
    /// Number format: f32; bf16-weights for frozen weights in bf16 (also --bf16); bf16 for
    /// activations too; a T4 has only f32
    #[arg(
        long,
        alias = "bf16",
        value_name = "FORMAT",
        num_args = 0..=1,
        default_missing_value = Precision::Bf16Weights.name(),
        default_value_t,
        value_parser = named_enum_parser::<Precision>()
    )]
    pub precision: Precision,
    /// Folder of the adapter in the job
    #[arg(
        long,
        value_name = "DIR",
        default_value = "training/sentinel_qwen05_grpo"
    )]
    pub output_dir: PathBuf,
    /// Repository of train-full for the adapter [default: SENTINEL_MODEL_REPO]
    #[arg(long, value_name = "REPO")]
    pub model_repo: Option<String>,
    /// Repository of train-full for replay, evaluation and plots [default: SENTINEL_ARTIFACT_REPO]
    #[arg(long, value_name = "REPO")]
    pub artifact_repo: Option<String>,
}
