//! `sentinel ablate`, the ablation study of PolyGuard's agents: the whole stack and each of its parts
//! play the same seeds (spec polyguard §10).

mod config;
mod language_model;
mod rows;
mod summary;
mod table;

pub use config::{AblateConfig, Plan};
pub use language_model::AblationModel;
pub use rows::RowKey;
pub use summary::{Ablation, AblationRow, RowSummary};
pub use table::format_table;

use std::path::Path;
use std::sync::atomic::AtomicBool;

use rayon::prelude::*;
use sentinel_base::provenance::Provenance;
use sentinel_base::{Error, Progress, files};
use sentinel_env::polyguard::{PolyguardEnv, Setup};
use sentinel_play::rollout::RolloutError;
use sentinel_policy::rollout::run_steps;

use crate::agent::{LanguageAgent as _, LoadedModel};
use crate::training::RunError;
use summary::EpisodeOutcome;

/// Checks that writing to `path` overwrites nothing but an earlier ablation.
///
/// # Errors
/// Returns an error if the file exists and is something else, or cannot be written.
pub fn check_replaces(path: &Path) -> Result<(), Error> {
    files::check_replaces(path, "an ablation", &["ablation", "cells"])
}

/// Plays all rows, those of a language model only if the options name one, until the end or until
/// `stop` is set.
///
/// # Errors
/// Returns an error if the model cannot be found, read or run, or `stop` was set before the end.
pub fn play(
    config: &AblateConfig,
    plan: &Plan,
    stop: &AtomicBool,
    progress: Progress<'_>,
) -> Result<Ablation, RunError> {
    let Some(model) = &config.model else {
        return Ok(ablate(plan, None, stop, progress)?);
    };
    if config.generation.constrained {
        let allowed = "off in an ablation, whose prompts show a part of the candidates";
        return Err(RunError::option("constrained", allowed));
    }
    let loaded = LoadedModel::load(model, &config.generation)?;
    loaded.agent().with_stop(stop).run(|agent| {
        let words = AblationModel {
            name: &loaded.name,
            provenance: &loaded.provenance,
            style: config.prompt.unwrap_or_default(),
            generator: agent,
        };
        ablate(plan, Some(words), stop, progress)
    })
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
        rows.push(AblationRow::new(key, cells));
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
