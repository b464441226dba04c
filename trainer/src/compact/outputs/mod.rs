//! The summaries in a run's folder, each written anew from the list of events at every checkpoint.
//! A reader sees the old file or the new one, never a part of one.

pub mod card;

use std::path::Path;

use serde_json::Map;

use super::config::TrainConfig;
use super::learn::Learn;
use crate::run::{Event, Scores, TRAINER_STATE_FILE, TrainerState, default_logging_steps};
use crate::{Error, files};

pub use crate::run::model_card::CARD_FILE;

/// Writes `trainer_state.json` and the model card into an existing folder.
///
/// # Errors
/// Returns an error if a file cannot be written, or an event cannot be expressed as JSON.
pub fn write_all<W: Learn>(
    folder: &Path,
    config: &TrainConfig,
    events: &[Event],
) -> Result<(), Error> {
    let state = trainer_state::<W>(config, events)?;
    files::write_atomic(&folder.join(TRAINER_STATE_FILE), state.as_bytes())?;
    files::write_atomic(
        &folder.join(CARD_FILE),
        card::card_text::<W>(config, events, baselines(events))?.as_bytes(),
    )
}

/// Returns the scores of the baselines; empty before they were measured.
fn baselines(events: &[Event]) -> &[(String, Scores)] {
    let measured = events.iter().rev().find_map(|event| match event {
        Event::Finished { baselines, .. } => Some(&baselines[..]),
        _ => None,
    });
    measured.unwrap_or_default()
}

/// Returns the text of `trainer_state.json`. The whole run counts as one epoch.
///
/// # Errors
/// Returns an error if the configuration names tasks that the environment does not have.
pub fn trainer_state<W: Learn>(config: &TrainConfig, events: &[Event]) -> Result<String, Error> {
    let tasks = config.task_names::<W>()?.into_iter().map(str::to_owned);
    let tasks: Vec<String> = tasks.collect();
    let step = events.iter().rev().find_map(|event| match event {
        Event::Step { step, .. } => Some(*step),
        _ => None,
    });
    let state = TrainerState {
        snapshots: config.save_total_limit > 0,
        tasks: &tasks,
        step: step.unwrap_or(0),
        max_steps: config.max_steps,
        steps_per_epoch: config.max_steps,
        logging_steps: default_logging_steps(config.max_steps),
        eval_steps: Some(config.eval_steps),
        save_steps: config.save_steps,
        train_batch_size: config.episodes_per_update * config.num_generations,
        tokens: None,
        extra: Map::new(),
        rounded: true,
    };
    state.to_json(events)
}
