//! The summaries in a run's folder, each written anew from the list of events at every checkpoint: a
//! reader sees an old file or a new one, never half of one.

pub mod card;
pub mod state;

use std::path::Path;

use super::config::TrainConfig;
use super::learn::Learn;
use crate::run::{Event, Scores};
use crate::{Error, files};

/// The state that Hugging Face's trainer writes.
pub const STATE: &str = "trainer_state.json";
/// The model card.
pub const CARD: &str = "README.md";

/// Writes all of them into a folder that exists.
///
/// # Errors
/// If a file cannot be written, or an event has no form as JSON.
pub fn write_all<W: Learn>(
    folder: &Path,
    config: &TrainConfig,
    events: &[Event],
) -> Result<(), Error> {
    let tasks = config.task_names::<W>()?;
    let state = state::text(config, &tasks, events)?;
    files::write(&folder.join(STATE), state.as_bytes())?;
    files::write(
        &folder.join(CARD),
        card::text::<W>(config, events, baselines(events))?.as_bytes(),
    )
}

/// Returns the scores of the baselines, once they were measured.
fn baselines(events: &[Event]) -> &[(String, Scores)] {
    let measured = events.iter().rev().find_map(|event| match event {
        Event::Finished { baselines, .. } => Some(&baselines[..]),
        _ => None,
    });
    measured.unwrap_or_default()
}

/// Rounds to six significant digits; counts stay exact.
fn rounded(value: f64) -> f64 {
    if value.fract() == 0.0 {
        return value;
    }
    format!("{value:.5e}").parse().unwrap_or(value)
}
