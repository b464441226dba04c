//! The summaries in a run's folder, each written anew from the history of the run at a checkpoint.
//! A reader sees the old file or the new one, never a part of one.

pub mod card;

use std::path::Path;

use sentinel_base::files;
use sentinel_rl::Scores;
use sentinel_run::{
    Event, HistoryFormat, RunHistory, TRAINER_STATE_FILE, TrainerState, default_logging_steps,
};
use serde_json::Map;

use super::TrainError;
use crate::config::TrainConfig;
use crate::learn::Learn;

pub use sentinel_run::model_card::CARD_FILE;

/// Returns the properties of a run that the entries of its log depend on. The whole run counts as one
/// epoch.
///
/// # Errors
/// Returns an error if the configuration names tasks that the environment does not have.
pub fn history_format<W: Learn>(config: &TrainConfig) -> Result<HistoryFormat, TrainError> {
    let tasks = config.task_names::<W>()?.into_iter().map(str::to_owned);
    Ok(HistoryFormat {
        tasks: tasks.collect(),
        max_steps: config.max_steps,
        steps_per_epoch: config.max_steps,
        logging_steps: default_logging_steps(config.max_steps),
        rounded: true,
    })
}

/// Writes `trainer_state.json` into an existing folder.
///
/// # Errors
/// Returns an error if it cannot be written.
pub fn write_trainer_state(
    folder: &Path,
    config: &TrainConfig,
    history: &mut RunHistory,
) -> Result<(), TrainError> {
    let state = TrainerState {
        snapshots: config.save_total_limit > 0,
        step: history.last_metrics().map_or(0, |(step, _)| step),
        eval_steps: Some(config.eval_steps),
        save_steps: config.save_steps,
        train_batch_size: config.episodes_per_update * config.num_generations,
        tokens: None,
        extra: Map::new(),
    };
    Ok(state.save(history, &folder.join(TRAINER_STATE_FILE))?)
}

/// Writes the model card into an existing folder.
///
/// # Errors
/// Returns an error if it cannot be written, or the configuration names tasks that the environment
/// does not have.
pub fn write_card<W: Learn>(
    folder: &Path,
    config: &TrainConfig,
    history: &RunHistory,
) -> Result<(), TrainError> {
    let text = card::card_text::<W>(config, history, baselines(history))?;
    Ok(files::write_atomic(
        &folder.join(CARD_FILE),
        text.as_bytes(),
    )?)
}

/// Returns the scores of the baselines; empty before they were measured.
fn baselines(history: &RunHistory) -> &[(String, Scores)] {
    match history.finished() {
        Some(Event::Finished { baselines, .. }) => baselines,
        _ => &[],
    }
}
