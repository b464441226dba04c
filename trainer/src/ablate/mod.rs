//! `sentinel ablate`: the stack of agents of the polyguard world against its parts, on the same
//! seeds (spec polyguard §10).

mod rows;
mod summary;
mod table;
mod words;

pub use rows::RowKey;
pub use summary::{Ablation, Found, Row};
pub use table::table;
pub use words::{Words, play};

use std::path::{Path, PathBuf};

use rayon::prelude::*;
use sentinel_env::polyguard::{Case, PolyguardEnv, Rules, Setup};
use sentinel_policy::rollout::drive;
use sentinel_policy::text::PromptStyle;

use crate::corpus::parse_style;
use crate::corpus::rollout::RolloutError;
use crate::lm::play::SpeechOptions;
use crate::provenance::Provenance;
use crate::{Cells, Error, Progress, SeedRange, args, files, selected};
use summary::Ended;

/// Seeds from here on are never learned from.
const HOLDOUT: u64 = 1_000_000;

/// What to ablate.
#[derive(Clone, Debug, clap::Args)]
pub struct AblateConfig {
    /// The rules: reference or hardened, with single changes as in reference+gated
    #[arg(long, value_name = "RULES", default_value = "hardened")]
    pub rules: String,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub cells: Cells,
    /// Episodes for each row and cell, on the seeds from 1000000
    #[arg(long, value_name = "N", default_value = "50", conflicts_with = "seeds",
        allow_hyphen_values = true, value_parser = from_holdout)]
    pub episodes: SeedRange,
    /// Seeds instead of --episodes: A..B without B, or A..=B with B
    #[arg(long, value_name = "A..B", allow_hyphen_values = true)]
    pub seeds: Option<SeedRange>,
    /// A language model for the rows that need one: a local folder, or a name on the Hugging Face Hub
    #[arg(long, value_name = "MODEL")]
    pub model: Option<String>,
    /// How it is asked: compact or reference [default: compact]
    #[arg(long, value_name = "STYLE", value_parser = parse_style, requires = "model")]
    pub prompt: Option<PromptStyle>,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub speech: SpeechOptions,
    /// Write everything as JSON
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
}

/// So many seeds that nothing was learned from.
fn from_holdout(count: &str) -> Result<SeedRange, crate::seeds::SeedError> {
    let first = SeedRange::first(count)?;
    Ok(SeedRange::of(HOLDOUT, HOLDOUT + first.count()))
}

impl AblateConfig {
    /// The seeds to play.
    #[must_use]
    pub fn seed_range(&self) -> SeedRange {
        self.seeds.unwrap_or(self.episodes)
    }

    /// Looks up what is named.
    ///
    /// # Errors
    /// If the world has no such rules or cells.
    pub fn plan(&self) -> Result<Plan, Error> {
        Ok(Plan {
            rules: args::rules::<PolyguardEnv>(&self.rules)?,
            cells: selected::<PolyguardEnv>(None, &self.cells)?,
            seeds: self.seed_range(),
        })
    }
}

/// An ablation in words that the world knows.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The rules.
    pub rules: Rules,
    /// The cells, in order.
    pub cells: Vec<Case>,
    /// The seeds of each cell.
    pub seeds: SeedRange,
}

impl Plan {
    /// How many episodes will be played.
    #[must_use]
    pub fn episodes(&self, with_model: bool) -> u64 {
        let rows = RowKey::all().filter(|row| with_model || !row.needs_model());
        rows.count() as u64 * self.cells.len() as u64 * self.seeds.count()
    }
}

/// Makes sure that writing to `path` destroys nothing but an earlier ablation.
///
/// # Errors
/// If the file is there and is something else.
pub fn check_replaces(path: &Path) -> Result<(), Error> {
    files::check_replaces(path, "ablation", &["ablation", "cells"])
}

/// Plays all rows, spread over cores; those of a language model only where there is one.
///
/// # Errors
/// If a speaker does not complete each prompt.
pub fn ablate(
    plan: &Plan,
    mut words: Option<Words<'_>>,
    progress: Progress<'_>,
) -> Result<Ablation, RolloutError> {
    let mut rows = Vec::new();
    for key in RowKey::all() {
        let cells = match &mut words {
            _ if !key.needs_model() => Some(played(plan, key, progress)),
            Some(words) => Some(words::cells(plan, key, words, progress)?),
            None => None,
        };
        rows.push(Row::of(key, cells));
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

/// The episodes of a row that needs no model, cell by cell.
fn played(plan: &Plan, key: RowKey, progress: Progress<'_>) -> Vec<Vec<Ended>> {
    let by_cell = plan.cells.iter().map(|case| {
        let play = |seed| {
            let ended = one(key, &Setup::new(*case, seed).under(plan.rules))?;
            progress();
            Some(ended)
        };
        let seeds = plan.seeds.range().into_par_iter();
        seeds.filter_map(play).collect()
    });
    by_cell.collect()
}

/// An episode of a row; `None` if it needs a model.
fn one(key: RowKey, setup: &Setup) -> Option<Ended> {
    let mut player = key.player(setup.seed)?;
    let mut fallbacks = 0;
    let episode = drive::<PolyguardEnv>(
        setup,
        |episode| player.act(episode),
        |_, step| fallbacks += u32::from(summary::is_fallback(&step.info)),
    );
    Some(Ended::of(&episode, fallbacks))
}
