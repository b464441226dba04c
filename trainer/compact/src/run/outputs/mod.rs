//! The summaries in a run's folder, each written anew from the history of the run at a checkpoint.
//! A reader sees the old file or the new one, never a part of one.

pub mod card;

use std::path::Path;

use sentinel_base::files;
use sentinel_rl::Scores;
use sentinel_run::{Event, RunHistory, TRAINER_STATE_FILE};

use super::TrainError;
use crate::config::TrainConfig;
use crate::learn::Learn;
use crate::run_files::trainer_state;

pub use crate::run_files::history_format;
pub use sentinel_run::model_card::CARD_FILE;

/// Writes `trainer_state.json` into an existing folder.
///
/// # Errors
/// Returns an error if it cannot be written.
pub fn write_trainer_state(
    folder: &Path,
    config: &TrainConfig,
    history: &mut RunHistory,
) -> Result<(), TrainError> {
    let state = trainer_state(config, history);
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
