//! The files of a run's folder, each written anew from the list of events.
//!
//! Nothing is appended: a resumed run makes the files again from the history in its checkpoint,
//! and a reader sees an old file or a new one, never half of one.

pub mod card;
pub mod jsonl;
pub mod state;
pub mod tensorboard;

use std::path::Path;

use super::config::TrainConfig;
use super::evaluate::Scores;
use super::events::Event;
use super::learn::Learn;
use crate::{Error, files};

/// Every event, one per line.
pub const EVENTS: &str = "events.jsonl";
/// The state that Hugging Face's trainer writes.
pub const STATE: &str = "trainer_state.json";
/// The model card.
pub const CARD: &str = "README.md";
/// The folder that TensorBoard is pointed at.
pub const RUNS: &str = "runs";
/// The file in it. A fixed name, so that it is replaced; TensorBoard looks for `tfevents`.
pub const TENSORBOARD: &str = "events.out.tfevents.0.sentinel";

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
    let clock = Clock::new(events);
    let runs = folder.join(RUNS);
    files::write(&folder.join(EVENTS), jsonl::text(events)?.as_bytes())?;
    let state = state::text(config, &tasks, events)?;
    files::write(&folder.join(STATE), state.as_bytes())?;
    files::write(
        &folder.join(CARD),
        card::text::<W>(config, events, baselines(events))?.as_bytes(),
    )?;
    std::fs::create_dir_all(&runs).map_err(|source| Error::Write {
        path: runs.clone(),
        source,
    })?;
    files::write(
        &runs.join(TENSORBOARD),
        &tensorboard::bytes(&tasks, events, &|step| clock.at(step)),
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

/// The time of each step, from the start of the run and the durations of its steps: the same whenever
/// the file is written, for readers that follow it.
pub(crate) struct Clock {
    start: f64,
    /// Steps and the seconds until their ends, in order.
    ends: Vec<(usize, f64)>,
}

impl Clock {
    fn new(events: &[Event]) -> Self {
        let start = events.iter().find_map(|event| match event {
            Event::Started { unix_time, .. } => Some(*unix_time),
            _ => None,
        });
        let steps = events.iter().filter_map(|event| match event {
            Event::Step { step, metrics } => Some((*step, metrics)),
            _ => None,
        });
        Self::of(start, steps)
    }

    /// From the start and what was logged about each step.
    pub(crate) fn of<'a>(
        start: Option<f64>,
        steps: impl Iterator<Item = (usize, &'a crate::rl::Metrics)>,
    ) -> Self {
        let mut passed = 0.0;
        let ends = steps.map(|(step, metrics)| {
            passed += metrics.get("step_time").copied().unwrap_or(0.0);
            (step, passed)
        });
        Self {
            ends: ends.collect(),
            start: start.unwrap_or(0.0),
        }
    }

    pub(crate) fn at(&self, step: usize) -> f64 {
        let done = self.ends.partition_point(|(end, _)| *end <= step);
        let passed = done.checked_sub(1).map_or(0.0, |last| self.ends[last].1);
        self.start + passed
    }
}

/// Returns scores under TRL's names for rewards; a score that is not finite is left out.
fn named(tasks: &[&str], scores: &Scores) -> Vec<(String, f64)> {
    let tasks = tasks.iter().zip(scores.tasks.iter().copied());
    std::iter::once(("reward".to_owned(), scores.overall))
        .chain(tasks.map(|(task, score)| (of_task(task), score)))
        .filter(|(_, score)| score.is_finite())
        .collect()
}

/// Returns TRL's name for the reward of one task.
fn of_task(task: &str) -> String {
    format!("rewards/{task}/mean")
}

/// Rounds to six significant digits; counts stay exact.
fn rounded(value: f64) -> f64 {
    if value.fract() == 0.0 {
        return value;
    }
    format!("{value:.5e}").parse().unwrap_or(value)
}
