//! `sentinel record`: plays a policy or a model and writes its actions as a replay.

mod config;
mod language_model;

pub use config::RecordConfig;

use std::path::Path;
use std::sync::Arc;

use rayon::prelude::*;
use sentinel_base::provenance::{Provenance, marked_name};
use sentinel_base::{Error, Progress, arg_parsers, files};
use sentinel_env::rng::Streams;
use sentinel_env::{EpisodeSpec, Named, in_world};
use sentinel_lm::{HubOptions, find_model};
use sentinel_play::eval::{Evaluated, load_model};
use sentinel_play::replay_manifest;
use sentinel_play::verify::{CompletionCounts, FileReport, verify_all};
use sentinel_policy::Scripted;
use sentinel_policy::nn::Model;
use sentinel_policy::policy::Player;
use sentinel_policy::replay::{AnyReplay, Recordable, Replay, ReplayRow, record_episode, to_lines};
use sentinel_policy::text::TextWorld;

use crate::agent::{ModelKind, detect_model_kind};
use crate::training::RunError;

/// The reason why nothing was recorded.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// A file or an option is invalid.
    #[error(transparent)]
    File(#[from] Error),
    /// An option is invalid, or a language model could not be loaded or run.
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
        && (config.generation.endpoint.is_some()
            || detect_model_kind(model)? == ModelKind::Language)
    {
        let config = config.with_defaults();
        let mut warnings = Vec::new();
        let mut report = in_world!(config.episode.world, W => {
            record_rows::<W>(&config, || {
                let played = language_model::play_all(&config, model, progress)?;
                warnings = played.warnings;
                Ok(played.rows)
            })
        })?;
        report.warnings = warnings;
        return Ok(report);
    }
    config.refuse_language_model_options()?;
    in_world!(config.episode.world, W => {
        record_rows::<W>(config, || play_all(config, progress))
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
    Ok(language_model::play_all(&config.with_defaults(), model, progress)?.rows)
}

/// Writes the rows that `play` returns, such as those of [`sentinel_play::corpus::record_transcripts`]; `config` gives
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
        warnings: Vec::new(),
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
            provenance(config)?,
        )?;
    }
    Ok(report)
}

/// Returns the provenance of the rows: the digests of the model that acts, and its fallbacks.
fn provenance(config: &RecordConfig) -> Result<Provenance, RecordError> {
    let mut provenance = Provenance::new();
    if let Some(file) = &config.generation.examples {
        provenance.add_file("examples", file)?;
    }
    if config.generation.endpoint.is_some() {
        return Ok(provenance);
    }
    if let Some(model) = &config.model {
        if model.exists() {
            provenance.add_model("model", model)?;
        } else {
            let name = model.to_string_lossy();
            let found = find_model(&name, &HubOptions::from_environment());
            provenance.add_model("model", &found.map_err(RunError::from)?.folder)?;
        }
    }
    if let Some(adapter) = &config.generation.adapter {
        provenance.add_model("adapter", adapter)?;
    }
    Ok(provenance)
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
    fn from_config(config: &RecordConfig) -> Result<Self, RecordError> {
        if let Some(folder) = &config.model {
            let model = load_model::<W>(folder)?;
            let fallback = Provenance::is_fallback_model(folder)?;
            let name = marked_name(&model.config.name, fallback);
            return Ok(Self::Trained(model, name));
        }
        let missing = RunError::option("policy", "given, unless --model is");
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
) -> Result<Vec<ReplayRow<W>>, RecordError> {
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
