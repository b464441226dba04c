//! `sentinel ablate`, the ablation study of PolyGuard's agents: the whole stack and each of its parts
//! play the same seeds (spec polyguard §10).

mod language_model;
mod rows;
mod summary;
mod table;

pub use language_model::{AblationModel, play};
pub use rows::RowKey;
pub use summary::{Ablation, Row, RowSummary};
pub use table::format_table;

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use rayon::prelude::*;
use sentinel_env::WorldName;
use sentinel_env::polyguard::{PolyguardEnv, Rules, Setup, TaskSpec};
use sentinel_env::rng::Streams;
use sentinel_policy::rollout::run_steps;
use sentinel_policy::text::PromptStyle;

use crate::corpus::rollout::RolloutError;
use crate::episode_args::with_default;
use crate::lm_agent::GenerationArgs;
use crate::provenance::Provenance;
use crate::{EpisodeArgs, Error, Progress, SeedRange, arg_parsers, files};
use summary::EpisodeOutcome;

/// The first seed of the range that training never uses.
const HOLDOUT: u64 = 1_000_000;

/// The seeds that are played by default.
const SEEDS: SeedRange = SeedRange::new(HOLDOUT, HOLDOUT + 50);

/// The configuration of `sentinel ablate`.
#[derive(Clone, Debug, clap::Args)]
#[command(
    mut_arg("world", |arg| arg.default_value(WorldName::Polyguard.name()).hide(true)),
    mut_arg("rules", |arg| arg.default_value("hardened")),
    mut_arg("seeds", |arg| with_default(arg, SEEDS)),
    mut_arg("streams", |arg| arg.hide(true))
)]
pub struct AblateConfig {
    /// A language model for the rows that need one: a local folder, or a name on the Hugging Face
    /// Hub
    #[arg(long, value_name = "MODEL")]
    pub model: Option<String>,
    /// Prompt style [default: compact]
    #[arg(long, value_name = "STYLE", value_parser = arg_parsers::named_enum_parser::<PromptStyle>(), requires = "model")]
    pub prompt: Option<PromptStyle>,
    /// Write everything as JSON
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub episode: EpisodeArgs,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub generation: GenerationArgs,
}

impl AblateConfig {
    /// Returns the seeds to play.
    #[must_use]
    pub fn seed_range(&self) -> SeedRange {
        self.episode.seeds_or(SEEDS)
    }

    /// Resolves the names of the rules and cells.
    ///
    /// # Errors
    /// Returns an error if the world is not polyguard, or has no such rules, cells or streams.
    pub fn plan(&self) -> Result<Plan, Error> {
        if self.episode.world != WorldName::Polyguard {
            let reason = "the stack of agents is of world polyguard: leave the option out";
            return Err(Error::argument("--world", reason.to_owned()));
        }
        self.episode
            .streams_or::<PolyguardEnv>(Streams::Independent)?;
        Ok(Plan {
            rules: self.episode.rules::<PolyguardEnv>()?,
            cells: self.episode.tasks_or::<PolyguardEnv>(None)?,
            seeds: self.seed_range(),
        })
    }
}

/// The plan of an ablation: rules, cells and seeds that the world knows.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The rules of every episode.
    pub rules: Rules,
    /// The cells to play, in order.
    pub cells: Vec<TaskSpec>,
    /// The seeds that are played in each cell.
    pub seeds: SeedRange,
}

impl Plan {
    /// Returns the number of episodes to play.
    #[must_use]
    pub fn episodes(&self, with_model: bool) -> u64 {
        let rows = RowKey::all().filter(|row| with_model || !row.needs_model());
        rows.count() as u64 * self.cells.len() as u64 * self.seeds.count()
    }
}

/// Checks that writing to `path` overwrites nothing but an earlier ablation.
///
/// # Errors
/// Returns an error if the file exists and is something else, or cannot be written.
pub fn check_replaces(path: &Path) -> Result<(), Error> {
    files::check_replaces(path, "an ablation", &["ablation", "cells"])
}

/// Plays all rows: scripted ones in parallel, those of a language model only if `words` has one. No
/// scripted episode begins once `stop` is set; a generator has to look at it by itself.
///
/// # Errors
/// Returns an error if the generator fails to complete a prompt, the world refuses a step, or `stop`
/// was set before the end.
pub fn ablate(
    plan: &Plan,
    mut words: Option<AblationModel<'_>>,
    stop: &AtomicBool,
    progress: Progress<'_>,
) -> Result<Ablation, RolloutError> {
    let mut rows = Vec::new();
    for key in RowKey::all() {
        let cells = match &mut words {
            _ if !key.needs_model() => Some(played(plan, key, stop, progress)?),
            Some(words) => Some(language_model::cells(plan, key, words, progress)?),
            None => None,
        };
        rows.push(Row::new(key, cells));
    }
    Ok(Ablation {
        world: "polyguard",
        rules: plan.rules.to_string(),
        seeds: plan.seeds,
        cells: plan.cells.iter().map(|case| case.name()).collect(),
        sentinel: (words.as_ref()).map_or_else(Provenance::new, |words| words.provenance.clone()),
        model: words.map(|words| words.name.to_owned()),
        ablation: rows,
    })
}

/// Plays a row that needs no model and returns its episodes by cell.
fn played(
    plan: &Plan,
    key: RowKey,
    stop: &AtomicBool,
    progress: Progress<'_>,
) -> Result<Vec<Vec<EpisodeOutcome>>, RolloutError> {
    let by_cell = plan.cells.iter().map(|case| {
        let play = |seed| {
            if let Err(interrupted) = RolloutError::check_stop(stop) {
                return Some(Err(interrupted));
            }
            let ended = one(key, &Setup::new(*case, seed).with_rules(plan.rules))?;
            progress();
            Some(Ok(ended))
        };
        let seeds = plan.seeds.range().into_par_iter();
        seeds.filter_map(play).collect()
    });
    by_cell.collect()
}

/// Plays one episode of a row; returns `None` if the row needs a model.
fn one(key: RowKey, setup: &Setup) -> Option<EpisodeOutcome> {
    let mut player = key.player(setup.seed)?;
    let mut fallbacks = 0;
    let episode = run_steps::<PolyguardEnv>(
        setup,
        |episode| player.act(episode),
        |_, step| fallbacks += u32::from(summary::is_fallback(&step.info)),
    );
    Some(EpisodeOutcome::from_episode(&episode, fallbacks))
}
