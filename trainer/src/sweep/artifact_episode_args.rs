//! The episodes that the saved artifacts of a run play: the run's own world, tasks, rules and
//! prompts, unless the command line names others.

use std::path::PathBuf;

use sentinel_base::arg_parsers::named_enum_parser;
use sentinel_base::options_file::to_current_form;
use sentinel_base::{CellArgs, EpisodeArgs, Error, arg_parsers, task_selection};
use sentinel_env::{WorldName, in_world};
use sentinel_evidence::artifact::{Artifact, ArtifactKind};
use sentinel_evidence::json_file::{self, report_error};
use sentinel_evidence::run_paths::RunPaths;
use sentinel_language::agent::{GenerationArgs, LoadedModel};
use sentinel_language::grpo::GrpoConfig;
use sentinel_language::training::RunError;
use sentinel_play::rollout::RolloutConfig;
use sentinel_policy::text::{ParserStrictness, PromptStyle};
use sentinel_tensor::device::DeviceName;
use serde_json::Value;

/// The options of a run, in the folder of its artifact.
const OPTIONS: &str = "training_options.json";

/// Options of the episodes that artifacts play.
#[derive(Clone, Debug, Default, PartialEq, clap::Args)]
#[command(next_help_heading = "Episodes")]
pub struct ArtifactEpisodeArgs {
    /// The world to play [default: that of the run]
    #[arg(long, value_name = "WORLD", value_parser = arg_parsers::world_parser())]
    pub world: Option<WorldName>,
    /// The rules [default: those of the run]
    #[arg(long, value_name = "RULES")]
    pub rules: Option<String>,
    /// Tasks, separated by commas, or all [default: those of the run]
    #[arg(long, value_name = "TASKS")]
    pub task: Option<String>,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub cells: CellArgs,
    /// Style of the prompts [default: that of the run]
    #[arg(long, value_name = "STYLE", value_parser = named_enum_parser::<PromptStyle>())]
    pub prompt: Option<PromptStyle>,
    /// Parser of completions [default: that of the run]
    #[arg(long = "parser", alias = "reader", value_name = "PARSER", value_parser = named_enum_parser::<ParserStrictness>())]
    pub reader: Option<ParserStrictness>,
    /// Longest completion, in tokens [default: that of the run]
    #[arg(long, value_name = "N")]
    pub max_completion_length: Option<usize>,
    /// Number of prompts completed together [default: that of the run]
    #[arg(long, value_name = "N")]
    pub generation_batch_size: Option<usize>,
    /// Device that holds all tensors [default: that of the run]
    #[arg(long, value_name = "DEVICE", value_parser = named_enum_parser::<DeviceName>())]
    pub device: Option<DeviceName>,
}

/// The episodes that artifacts play, with every default filled in.
#[derive(Clone, Debug, PartialEq)]
pub struct ArtifactEpisodes {
    /// World, rules and tasks; the tasks are those for training, without anything held out.
    pub episode: EpisodeArgs,
    /// Style of the prompts and parser of the completions.
    pub rollout_config: RolloutConfig,
    /// Options of generation, greedy, without an adapter.
    pub generation: GenerationArgs,
    /// The options of the GRPO run; `None` if its folder has none.
    pub training: Option<GrpoConfig>,
}

impl ArtifactEpisodes {
    /// Loads an artifact of a run, with its adapter.
    ///
    /// # Errors
    /// If a file is missing or invalid, or the base model is another one.
    pub(super) fn load(
        &self,
        paths: &RunPaths,
        kind: ArtifactKind,
    ) -> Result<(Artifact, LoadedModel), RunError> {
        let artifact = Artifact::find(&paths.checkpoints, kind)?;
        let options = GenerationArgs {
            adapter: artifact.adapter.clone(),
            ..self.generation.clone()
        };
        let model = LoadedModel::load(&artifact.model, &options)?;
        Ok((artifact, model))
    }
}

impl ArtifactEpisodeArgs {
    /// Fills in the options of the run.
    ///
    /// # Errors
    /// If the run's options cannot be read, or the world has no such tasks.
    pub fn resolve(&self, paths: &RunPaths) -> Result<ArtifactEpisodes, RunError> {
        let training = training_options(paths)?;
        let usual = training.as_ref();
        let own = usual.map(|run| &run.episode);
        let world = self.world.or(own.map(|own| own.world)).unwrap_or_default();
        // Tasks and cells of another world mean nothing.
        let own = own.filter(|own| own.world == world);
        let given_tasks = self.task.is_some() || self.cells != CellArgs::default();
        let (task, cells) = match own.filter(|_| !given_tasks) {
            Some(own) => (own.task.clone(), own.cells.clone()),
            None => (self.task.clone(), self.cells.clone()),
        };
        let task = in_world!(world, W => {
            let tasks = task_selection::training_tasks::<W>(task.as_deref(), &cells)?;
            let names: Vec<&str> = tasks.into_iter().map(|task| task.name()).collect();
            names.join(",")
        });
        let rules = self.rules.clone().or(own.map(|own| own.rules.clone()));
        let rollout = usual.map(GrpoConfig::rollout_config).transpose()?;
        let rollout = rollout.unwrap_or_default();
        Ok(ArtifactEpisodes {
            episode: EpisodeArgs {
                rules: rules.unwrap_or_else(|| "reference".to_owned()),
                task: Some(task),
                ..EpisodeArgs::new(world)
            },
            rollout_config: RolloutConfig {
                style: self.prompt.unwrap_or(rollout.style),
                reader: self.reader.unwrap_or(rollout.reader),
                ..rollout
            },
            generation: GenerationArgs {
                max_completion_length: self
                    .max_completion_length
                    .or(usual.map(|run| run.max_completion_length)),
                generation_batch_size: self
                    .generation_batch_size
                    .or(usual.map(|run| run.generation_batch_size)),
                device: self.device.or(usual.map(|run| run.run.device)),
                ..GenerationArgs::default()
            },
            training,
        })
    }

    /// Returns the given options as words of a command line.
    #[must_use]
    pub fn to_args(&self) -> Vec<String> {
        let Self {
            world,
            rules,
            task,
            cells,
            prompt,
            reader,
            max_completion_length,
            generation_batch_size,
            device,
        } = self;
        let all = [
            ("world", world.map(|world| world.name().to_owned())),
            ("rules", rules.clone()),
            ("task", task.clone()),
            ("sub-environment", cells.sub_environment.clone()),
            ("difficulty", cells.difficulty.clone()),
            ("formulary", cells.formulary.clone()),
            ("split", cells.split.clone()),
            ("prompt", prompt.map(|style| style.name().to_owned())),
            ("parser", reader.map(|reader| reader.name().to_owned())),
            (
                "max-completion-length",
                max_completion_length.map(|n| n.to_string()),
            ),
            (
                "generation-batch-size",
                generation_batch_size.map(|n| n.to_string()),
            ),
            ("device", device.map(|device| device.to_string())),
        ];
        let given = all
            .into_iter()
            .filter_map(|(name, value)| Some((name, value?)));
        given
            .flat_map(|(name, value)| [format!("--{name}"), value])
            .collect()
    }
}

/// Reads the options of the run's GRPO; `None` if its folder has none.
///
/// # Errors
/// If they are cut off or invalid.
fn training_options(paths: &RunPaths) -> Result<Option<GrpoConfig>, Error> {
    let path: PathBuf = paths
        .checkpoints
        .join(ArtifactKind::GrpoAdapter.name())
        .join(OPTIONS);
    if !path.is_file() {
        return Ok(None);
    }
    let remedy = "train the adapter again with `sentinel lm grpo`";
    let value: Value = json_file::read_json(&path, remedy)?;
    let config = serde_json::from_value(to_current_form::<GrpoConfig>(&value));
    config.map(Some).map_err(|error| {
        let reason = format!("not the options of `lm grpo` ({error})");
        report_error(&path, reason, remedy)
    })
}
