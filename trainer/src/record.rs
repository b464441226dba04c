//! `sentinel record`: plays a policy or a model and writes its actions as a replay.

mod language_model;

use sentinel_env::EpisodeSpec;
use sentinel_env::Named;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rayon::prelude::*;
use sentinel_env::World;
use sentinel_env::rng::Streams;
use sentinel_env::{WorldName, in_world};
use sentinel_policy::Scripted;
use sentinel_policy::nn::Model;
use sentinel_policy::policy::Player;
use sentinel_policy::replay::{AnyReplay, Recordable, Replay, ReplayRow, record_episode, to_lines};
use sentinel_policy::text::{ParserStrictness, PromptStyle, TextWorld};

use crate::arg_parsers;
use crate::compact::TrainError;
use crate::eval::{Evaluated, load_model};
use crate::finetune::RunError;
use crate::lm::{HubOptions, find_model};
use crate::lm_agent::GenerationArgs;
use crate::lm_agent::ModelKind;
use crate::provenance::{Provenance, marked_name};
use crate::task_selection::{TypedSelection, shell_quote};
use crate::verify::{CompletionCounts, FileReport, verify_all};
use crate::{EpisodeArgs, Error, Progress, SeedRange, files, replay_manifest};

/// The configuration of `sentinel record`.
#[derive(Clone, Debug, clap::Args)]
#[command(
    mut_arg("seeds", |arg| arg.required_unless_present("episodes")),
    mut_arg("episodes", |arg| arg.help("Number of episodes of each task, on the seeds from 0 on"))
)]
pub struct RecordConfig {
    /// The policy of the world that plays
    #[arg(long)]
    pub policy: Option<String>,
    /// The trained model that plays instead: the folder of a compact one, or a language model,
    /// which may also be a name on the Hugging Face Hub [default, without --policy: active]
    #[arg(long, value_name = "MODEL", conflicts_with = "policy")]
    pub model: Option<PathBuf>,
    /// Prompt style of observations for a language model [default: compact]
    #[arg(long, value_name = "STYLE", requires = "model", value_parser = arg_parsers::named_enum_parser::<PromptStyle>())]
    pub prompt: Option<PromptStyle>,
    /// Parser of completions: repair ignores text around the action [default: strict]
    #[arg(long = "parser", alias = "reader", value_name = "PARSER", requires = "model", value_parser = arg_parsers::named_enum_parser::<ParserStrictness>())]
    pub reader: Option<ParserStrictness>,
    /// The replay to write
    #[arg(long, value_name = "FILE")]
    pub out: PathBuf,
    /// Overwrite a file that exists
    #[arg(long)]
    pub force: bool,
    /// List the file here, with this command; a manifest must be in the folder of its replays
    #[arg(long, value_name = "FILE")]
    pub manifest: Option<PathBuf>,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub episode: EpisodeArgs,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub generation: GenerationArgs,
}

impl fmt::Display for RecordConfig {
    /// Writes the command that makes the file again, for the manifest.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let episode = &self.episode;
        let tasks = TypedSelection("task", episode.cells.selection(episode.task.as_deref()));
        // The command names the streams, so that it does not depend on their default.
        let usual = in_world!(episode.world, W => W::streams_or_default(Streams::Reference));
        let streams = episode.streams.unwrap_or(usual).name();
        let mut who = match &self.model {
            Some(folder) => format!("--model {}", shell_quote(&folder.display().to_string())),
            None => format!("--policy {}", self.policy.as_deref().unwrap_or_default()),
        };
        for (name, value) in self.language_model_options() {
            who.push_str(&format!(" --{name} {}", shell_quote(&value)));
        }
        let mut place = String::new();
        if episode.world != WorldName::default() {
            place = format!("--world {} ", episode.world.name());
        }
        if episode.rules != "reference" {
            place = format!("{place}--rules {} ", shell_quote(&episode.rules));
        }
        write!(
            f,
            "sentinel record {place}{who} {tasks} --seeds {} --streams {streams} --out {}",
            self.seeds(),
            shell_quote(&self.out.display().to_string())
        )?;
        match &self.manifest {
            Some(path) => write!(
                f,
                " --manifest {}",
                shell_quote(&path.display().to_string())
            ),
            None => Ok(()),
        }
    }
}

impl RecordConfig {
    /// Returns the seeds to play.
    #[must_use]
    pub fn seeds(&self) -> SeedRange {
        self.episode.seeds_or(SeedRange::new(0, 1))
    }

    fn selected<W: World>(&self) -> Result<Vec<W::Task>, Error> {
        self.episode.tasks_or::<W>(None)
    }

    /// Returns the provenance of the rows: the digests of the model that acts, and its fallbacks.
    fn provenance(&self) -> Result<Provenance, RecordError> {
        let mut provenance = Provenance::new();
        if let Some(model) = &self.model {
            if model.exists() {
                provenance.add_model("model", model)?;
            } else {
                let name = model.to_string_lossy();
                let found = find_model(&name, &HubOptions::from_environment());
                provenance.add_model("model", &found.map_err(RunError::from)?.folder)?;
            }
        }
        if let Some(adapter) = &self.generation.adapter {
            provenance.add_model("adapter", adapter)?;
        }
        Ok(provenance)
    }

    /// Returns the number of episodes to play.
    ///
    /// # Errors
    /// Returns an error if the world has no such tasks.
    pub fn episodes(&self) -> Result<u64, Error> {
        let tasks = in_world!(self.episode.world, W => self.selected::<W>()?.len());
        Ok(self.seeds().count() * tasks as u64)
    }
}

/// The reason why nothing was recorded.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// A file or an option is invalid.
    #[error(transparent)]
    File(#[from] Error),
    /// A policy or a compact model is invalid.
    #[error(transparent)]
    Compact(#[from] TrainError),
    /// A language model could not be loaded or run.
    #[error(transparent)]
    Language(#[from] RunError),
}

/// Plays the episodes, writes the file atomically, and verifies the rows.
///
/// # Errors
/// Returns an error if the file exists already, if it or the manifest cannot be written, or if the
/// player cannot be read.
pub fn record(config: &RecordConfig, progress: Progress<'_>) -> Result<FileReport, RecordError> {
    // Check before searching for a model on the Hub.
    check_out(config)?;
    if let Some(model) = &config.model
        && ModelKind::detect(model)? == ModelKind::Language
    {
        let config = config.with_defaults();
        return in_world!(config.episode.world, W => {
            record_rows::<W>(&config, || Ok(language_model::play_all(&config, model, progress)?))
        });
    }
    config.refuse_language_model_options()?;
    in_world!(config.episode.world, W => {
        record_rows::<W>(config, || Ok(play_all(config, progress)?))
    })
}

/// Plays the episodes with a language model; returns the rows in the order task, seed, step.
///
/// # Errors
/// Returns an error if an option is invalid, or the model cannot be found, read or run.
pub fn play_language_model<W: TextWorld>(
    config: &RecordConfig,
    model: &Path,
    progress: Progress<'_>,
) -> Result<Vec<ReplayRow<W>>, RunError> {
    language_model::play_all(&config.with_defaults(), model, progress)
}

/// Writes the rows that `play` returns, such as those of [`crate::corpus::record_transcripts`]; `config` gives
/// the path of the file and the entry of the manifest.
///
/// # Errors
/// Returns the errors of [`record`] and of `play`.
pub fn record_rows<W: Recordable>(
    config: &RecordConfig,
    play: impl FnOnce() -> Result<Vec<ReplayRow<W>>, RecordError>,
) -> Result<FileReport, RecordError> {
    let overwrites = check_out(config)?;
    let rows = play()?;
    let text = to_lines(&rows).map_err(Error::from)?;
    let count = rows.len();
    let replay = Replay::from_rows(rows);
    let all = || std::iter::once(&replay as &dyn AnyReplay);
    let report = FileReport {
        file: config.out.clone(),
        rows: count,
        problem_count: 0,
        problems: Vec::new(),
        fallbacks: Provenance::from_replays(all()).fallbacks,
        words: CompletionCounts::count(all()),
        verification: verify_all(all(), &|| {}),
    };
    if overwrites {
        files::write_atomic(&config.out, text.as_bytes())?;
    } else {
        files::create_new(&config.out, text.as_bytes())?;
    }
    if let Some(path) = &config.manifest {
        replay_manifest::add_replay(
            path,
            &config.out,
            &config.to_string(),
            config.model.as_deref(),
            config.provenance()?,
        )?;
    }
    Ok(report)
}

/// Returns `true` if an existing file may be overwritten.
fn check_out(config: &RecordConfig) -> Result<bool, Error> {
    let existing = config.out.metadata().ok();
    let special = existing.as_ref().is_some_and(|found| !found.is_file());
    files::check_writable(&config.out)?;
    if existing.is_some() && !special && !config.force {
        return Err(Error::Exists(config.out.clone()));
    }
    if let Some(path) = &config.manifest {
        replay_manifest::check_can_list(path, &config.out)?;
    }
    Ok(config.force || special)
}

/// The player that is recorded.
enum Actor<W: Evaluated> {
    Scripted(W::PolicyName),
    /// A trained model and its name in the rows.
    Trained(Arc<Model<W::Net>>, String),
}

impl<W: Evaluated> Actor<W> {
    fn from_config(config: &RecordConfig) -> Result<Self, TrainError> {
        if let Some(folder) = &config.model {
            let model = load_model::<W>(folder)?;
            let fallback = Provenance::is_fallback_model(folder)?;
            let name = marked_name(&model.config.name, fallback);
            return Ok(Self::Trained(model, name));
        }
        let missing = TrainError::Option {
            option: "policy",
            allowed: "given, unless --model is",
        };
        let name = config.policy.as_deref().ok_or(missing)?;
        Ok(Self::Scripted(arg_parsers::parse_policy::<W>(name)?))
    }

    fn name(&self) -> &str {
        match self {
            Self::Scripted(policy) => policy.name(),
            Self::Trained(_, name) => name,
        }
    }

    fn player(&self, setup: &W::Setup) -> Player<W> {
        match self {
            Self::Scripted(policy) => policy.start(setup),
            Self::Trained(model, _) => W::trained_player(model),
        }
    }
}

/// Plays all episodes and returns their rows in the order task, seed, step.
fn play_all<W: Evaluated>(
    config: &RecordConfig,
    progress: Progress<'_>,
) -> Result<Vec<ReplayRow<W>>, TrainError> {
    let rules = config.episode.rules::<W>()?;
    let actor = Actor::<W>::from_config(config)?;
    let tasks = config.selected::<W>()?;
    let streams = config.episode.streams_or::<W>(Streams::Reference)?;
    let episodes: Vec<(W::Task, u64)> = tasks
        .iter()
        .flat_map(|task| config.seeds().range().map(move |seed| (*task, seed)))
        .collect();
    let played = episodes.into_par_iter().map(|(task, seed)| {
        let setup = EpisodeSpec::<W> {
            task,
            seed,
            streams,
            rules,
        }
        .setup();
        let mut player = actor.player(&setup);
        let (_, rows) = record_episode(&setup, &mut player, actor.name());
        progress();
        rows
    });
    Ok(played.collect::<Vec<_>>().into_iter().flatten().collect())
}
