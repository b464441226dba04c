//! The files of a run's folder, each made anew from the events: nothing is appended, and a reader
//! sees an old file or a new one.

mod card;
mod state;

use std::path::Path;

use super::about::About;
use super::event::Event;
use super::run::Job;
use super::state::State;
use crate::compact::outputs::tensorboard::{Point, encode};
use crate::compact::outputs::{Clock, RUNS, TENSORBOARD};
use crate::lm::LmError;
use crate::lm::config::special_tokens;
use crate::lm::lora::{COMPANIONS, Lora};
use crate::{Error, files};

/// Every event, one per line.
pub const EVENTS: &str = "events.jsonl";
/// What Hugging Face's trainer leaves behind.
pub const STATE: &str = "trainer_state.json";
const CARD: &str = "README.md";

/// Writes all of them, the model or adapter among them, into a folder that is there.
pub(super) fn write_all(
    folder: &Path,
    job: &dyn Job,
    state: &State,
    about: &About,
    base: &str,
    events: &[Event],
) -> Result<(), super::RunError> {
    let mut lines = String::new();
    for event in events {
        lines.push_str(&serde_json::to_string(event).map_err(Error::from)?);
        lines.push('\n');
    }
    files::write(&folder.join(EVENTS), lines.as_bytes())?;
    let text = state::text(job, state, about, events)?;
    files::write(&folder.join(STATE), text.as_bytes())?;
    let text = card::text(job, state, about, events);
    files::write(&folder.join(CARD), text.as_bytes())?;
    let runs = folder.join(RUNS);
    std::fs::create_dir_all(&runs).map_err(|error| LmError::write(&runs, error))?;
    files::write(&runs.join(TENSORBOARD), &tensorboard(events))?;
    if state.model.adapter().is_some() {
        Lora::save_with_digest(&state.model, folder, base)?;
    } else {
        let tokens = special_tokens(&about.source)?;
        state.model.save_with(folder, tokens)?;
    }
    for name in COMPANIONS {
        let from = about.source.join(name);
        if from.is_file() {
            let bytes = std::fs::read(&from).map_err(|error| LmError::read(&from, error))?;
            files::write(&folder.join(name), &bytes)?;
        }
    }
    Ok(())
}

fn tensorboard(events: &[Event]) -> Vec<u8> {
    let start = events.iter().find_map(|event| match event {
        Event::Started { unix_time, .. } => Some(*unix_time),
        _ => None,
    });
    let steps = || {
        events.iter().filter_map(|event| match event {
            Event::Step { step, metrics, .. } => Some((*step, metrics)),
            _ => None,
        })
    };
    let clock = Clock::of(start, steps());
    let points = steps().map(|(step, metrics)| Point {
        prefix: "train",
        step,
        values: metrics.clone().into_iter().collect(),
    });
    encode(points, &|step| clock.at(step))
}
