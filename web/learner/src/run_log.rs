//! The log of a phase, and the folder of its run as `sentinel train` writes it.

use sentinel_compact::checkpoint::Checkpoint;
use sentinel_compact::learn::model_config;
use sentinel_compact::run_files::{
    CHECKPOINT_FILE, CONFIG_FILE, EVENTS_FILE, Event, LogPosition, MODEL_FILE, Metrics, RunHistory,
    TRAINER_STATE_FILE, config_text, history_format, start_event, trainer_state,
};
use sentinel_compact::tensor::Tensor;
use sentinel_compact::{Learn, Scores, Trainer};
use sentinel_page_protocol::ExportedFile;
use sentinel_policy::nn::Model;
use serde::{Deserialize, Serialize};

use crate::tar::archive;

/// An entry of the log, which follows some number of updates of the phase.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum Entry {
    /// The update was made; values by their names.
    Update(Vec<(String, f64)>),
    /// The policy was evaluated.
    Evaluation(Scores),
}

/// The log of a phase. Its length is limited by the number of updates of the presets, some hundred.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct PhaseLog {
    /// Time of the start in seconds since 1970.
    unix_time: f64,
    /// Entries with their numbers of updates, in their order.
    entries: Vec<(usize, Entry)>,
}

impl PhaseLog {
    /// Creates the log of a phase that begins now.
    pub(crate) fn new() -> Self {
        Self {
            unix_time: (now_ms() / 1000.0).floor(),
            entries: Vec::new(),
        }
    }

    /// Adds an entry after those with as many updates: an evaluation may end after the next update.
    pub(crate) fn add(&mut self, updates: usize, entry: Entry) {
        let place = self.entries.partition_point(|(other, _)| *other <= updates);
        self.entries.insert(place, (updates, entry));
    }

    /// Returns the scores of the policy after `updates` updates, if they are the newest entry.
    pub(crate) fn newest_scores(&self, updates: usize) -> Option<&Scores> {
        match self.entries.last() {
            Some((found, Entry::Evaluation(scores))) if *found == updates => Some(scores),
            _ => None,
        }
    }

    /// Returns the archive of the run's folder: the files that `sentinel train` writes before it tests, so that
    /// it continues the run.
    ///
    /// # Errors
    /// Returns a phrase if a file cannot be written.
    pub(crate) fn archive<W: Learn, T: Tensor>(
        &self,
        trainer: &Trainer<W, T>,
        phase: &str,
    ) -> Result<ExportedFile, String> {
        let config = trainer.config();
        let format = history_format::<W>(config).map_err(|error| error.to_string())?;
        let mut history = RunHistory::new("".as_ref(), format);
        let mut lines = String::new();
        let parameters = trainer.weights().count();
        let started = start_event(config, 0, parameters, false, self.unix_time);
        let saved = Event::Saved {
            step: trainer.updates_done(),
        };
        let events = self.entries.iter().cloned();
        let events = events.map(|(step, entry)| entry.into_event(step));
        let started = started.map_err(|error| error.to_string())?;
        for event in std::iter::once(started).chain(events).chain([saved]) {
            lines += &event.to_line().map_err(|error| error.to_string())?;
            history.add(event).map_err(|error| error.to_string())?;
        }
        let mut state = Vec::new();
        let written = trainer_state(config, &history).write_to(&mut history, &mut state);
        written.map_err(|error| error.to_string())?;
        let checkpoint = Checkpoint::new(trainer, LogPosition::Bytes(lines.len() as u64));
        let checkpoint = checkpoint.map_err(|error| error.to_string())?.encode()?;
        let model = Model {
            config: model_config::<W>(config),
            weights: trainer.best_weights().clone(),
        };
        let model = model.to_bytes().map_err(|error| error.to_string())?;
        let text = config_text(config).map_err(|error| error.to_string())?;
        let files = [
            (CONFIG_FILE, text.into_bytes()),
            (CHECKPOINT_FILE, checkpoint),
            (EVENTS_FILE, lines.into_bytes()),
            (MODEL_FILE, model),
            (TRAINER_STATE_FILE, state),
        ];
        let folder = format!("{}-{phase}", W::NAME);
        let seconds = (now_ms() / 1000.0) as u64;
        Ok(ExportedFile {
            content: archive(&folder, seconds, &files),
            name: folder + ".tar",
            mime: "application/x-tar".to_owned(),
            ..ExportedFile::default()
        })
    }
}

impl Entry {
    fn into_event(self, step: usize) -> Event {
        match self {
            Self::Update(metrics) => Event::Step {
                step,
                epoch: None,
                metrics: metrics.into_iter().collect(),
            },
            Self::Evaluation(scores) => Event::Eval {
                step,
                scores,
                metrics: Metrics::new(),
            },
        }
    }
}

/// Returns the time in milliseconds; always 0 outside a browser, where nobody looks at it.
pub(crate) fn now_ms() -> f64 {
    #[cfg(target_family = "wasm")]
    return js_sys::Date::now();
    #[cfg(not(target_family = "wasm"))]
    return 0.0;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_in_the_order_of_their_updates() {
        let mut log = PhaseLog::new();
        let scores = Scores {
            tasks: vec![0.5],
            overall: 0.5,
        };
        let updates = |log: &PhaseLog| log.entries.iter().map(|(n, _)| *n).collect::<Vec<_>>();
        for number in [4, 5] {
            log.add(number, Entry::Update(Vec::new()));
        }
        // Helpers have played it while the next update learned.
        log.add(4, Entry::Evaluation(scores.clone()));
        assert_eq!(updates(&log), [4, 4, 5]);
        assert_eq!(log.entries[1].1, Entry::Evaluation(scores.clone()));
        assert_eq!(log.newest_scores(4), None, "the policy has changed");
        log.add(5, Entry::Evaluation(scores.clone()));
        assert_eq!(log.newest_scores(5), Some(&scores));
    }
}
