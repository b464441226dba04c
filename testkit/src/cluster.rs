//! Recorded cluster episodes: reset, steps, final, and the controller between adaptive episodes.

use std::collections::BTreeMap;

use sentinel_env::cluster::{
    ActionMessage, Episode, Setup, Step, Task, TraceFinal, TraceReset, TraceStep,
};
use sentinel_env::controller::Controller;
use sentinel_env::rng::{PyRandom, StreamId, Streams};
use serde_json::Value;

use crate::compare::differences;
use crate::episodes::{LABELS, controller_row, seed, sequence, to_value};

struct Running {
    episode: Episode,
    last: Option<Step>,
}

/// Where the replay of a file stands.
#[derive(Default)]
pub(crate) struct ClusterEpisodes {
    running: Option<Running>,
    /// One controller per recorded adaptive sequence.
    controllers: BTreeMap<(String, String), Controller>,
}

impl ClusterEpisodes {
    /// Differences of one row.
    pub(crate) fn check(&mut self, kind: &str, row: &Value) -> Vec<String> {
        match (kind, &mut self.running) {
            ("reset", _) => self.reset(row).unwrap_or_else(|problem| vec![problem]),
            (_, None) => vec!["no episode before it".to_owned()],
            ("controller", _) => self.controller(row),
            ("step", Some(running)) => running.step(row),
            (_, Some(running)) => running.finish(row),
        }
    }

    fn reset(&mut self, row: &Value) -> Result<Vec<String>, String> {
        self.running = None;
        let task = row["task"]
            .as_str()
            .and_then(Task::parse)
            .ok_or("unknown task")?;
        let seed = seed(&row["seed"]).ok_or("the seed is no integer of up to 64 bits")?;
        let adaptive = row["difficulty_profile"].is_object();
        let key = sequence(row);
        if row["episode"] == 0 {
            self.controllers.remove(&key);
        }
        let profile = self.controllers.entry(key).or_default().profile(adaptive);
        let setup = Setup {
            profile,
            ..Setup::new(task, seed, Streams::Reference)
        };
        let episode = Episode::reset(&setup);
        let found = differences(row, &to_value(&TraceReset::of(&episode)), &LABELS);
        self.running = Some(Running {
            episode,
            last: None,
        });
        Ok(found)
    }

    fn controller(&mut self, row: &Value) -> Vec<String> {
        let Some(running) = &self.running else {
            return vec!["no episode before it".to_owned()];
        };
        let controller = self.controllers.entry(sequence(row)).or_default();
        let counters = &running.episode.observation().counters;
        controller.update(counters.detections, counters.attempts);
        differences(row, &controller_row(controller), &LABELS)
    }
}

impl Running {
    fn step(&mut self, row: &Value) -> Vec<String> {
        let message: ActionMessage = match serde_json::from_value(row["action"].clone()) {
            Ok(message) => message,
            Err(error) => return vec![error.to_string()],
        };
        let action = match message.parse() {
            Ok(action) => action,
            Err(error) => return vec![error.to_string()],
        };
        match self.episode.step(action) {
            Ok(step) => {
                self.last = Some(step);
                let ours = to_value(&TraceStep::of(&self.episode, &step));
                differences(row, &ours, &LABELS)
            }
            Err(error) => vec![error.to_string()],
        }
    }

    fn finish(&mut self, row: &Value) -> Vec<String> {
        // Without the policy at hand only the first draw of its stream is known.
        let seed = self.episode.setup().seed;
        let stream = Streams::Reference.seed(seed, StreamId::Policy);
        let next = (row["policy"] != "random").then(|| PyRandom::new(stream).random());
        let mut ignore = LABELS.to_vec();
        if next.is_none() {
            ignore.push("policy_rng_next");
        }
        let last = self.last.as_ref();
        match last.and_then(|last| TraceFinal::of(&self.episode, last, next)) {
            Some(ours) => differences(row, &to_value(&ours), &ignore),
            None => vec!["our episode has not ended".to_owned()],
        }
    }
}
