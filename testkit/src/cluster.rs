//! Checks recorded cluster episodes: reset, steps, final, and the controller between adaptive
//! episodes.

use sentinel_env::Environment;
use std::collections::BTreeMap;

use sentinel_env::adaptive_difficulty::DifficultyController;
use sentinel_env::cluster::{
    Action, ActionMessage, Episode, Setup, Step, Task, TraceFinal, TraceReset, TraceStep,
};
use sentinel_env::rng::{PyRandom, Streams};
use sentinel_policy::cluster::{Player, PolicyName};
use sentinel_policy::policy::POLICY_STREAM;
use serde_json::Value;

use crate::compare::differences;
use crate::episodes::{LABELS, controller_row, seed, sequence, to_value};

struct Running {
    episode: Episode,
    last: Option<Step>,
    /// Scripted policy that the recording names. It must choose the recorded actions.
    player: Option<Player>,
}

/// The state of checking one file, row by row.
#[derive(Default)]
pub(crate) struct ClusterEpisodes {
    running: Option<Running>,
    /// One controller per recorded adaptive sequence.
    controllers: BTreeMap<(String, String), DifficultyController>,
}

impl ClusterEpisodes {
    /// Returns the differences of one row.
    pub(crate) fn check(&mut self, kind: &str, row: &Value) -> Vec<String> {
        match (kind, &mut self.running) {
            ("reset", _) => self.reset(row).unwrap_or_else(|problem| vec![problem]),
            (_, None) => vec!["no reset before this row".to_owned()],
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
        let seed = seed(&row["seed"]).ok_or("the seed is not an integer of up to 64 bits")?;
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
        let found = differences(row, &to_value(&TraceReset::new(&episode)), &LABELS);
        let policy = row["policy"].as_str().and_then(PolicyName::parse);
        let player = policy.map(|policy| policy.player(seed, Streams::Reference));
        self.running = Some(Running {
            episode,
            last: None,
            player,
        });
        Ok(found)
    }

    fn controller(&mut self, row: &Value) -> Vec<String> {
        let Some(running) = &self.running else {
            return vec!["no reset before this row".to_owned()];
        };
        let controller = self.controllers.entry(sequence(row)).or_default();
        let counters = &running.episode.observation().counters;
        controller.record_episode(counters.detections, counters.attempts);
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
        let mut found = self.choice(action);
        match self.episode.step(action) {
            Ok(step) => {
                self.last = Some(step.info);
                let ours = to_value(&TraceStep::new(&self.episode, &step.info));
                found.extend(differences(row, &ours, &LABELS));
            }
            Err(error) => found.push(error.to_string()),
        }
        found
    }

    fn choice(&mut self, recorded: Action) -> Vec<String> {
        let player = self.player.as_mut();
        match player.and_then(|player| player.act(&self.episode)) {
            Some(chosen) if chosen != recorded => {
                vec![format!(
                    "the policy chooses {chosen}, the recording has {recorded}"
                )]
            }
            _ => Vec::new(),
        }
    }

    fn finish(&mut self, row: &Value) -> Vec<String> {
        let seed = self.episode.setup().seed;
        // A policy without random draws leaves its stream at the start.
        let start = PyRandom::new(Streams::Reference.seed(seed, POLICY_STREAM)).random();
        let peeked = self.player.as_ref().and_then(Player::peek_draw);
        let next = Some(peeked.unwrap_or(start));
        let mut ignore = LABELS.to_vec();
        if self.player.is_none() {
            ignore.push("policy_rng_next");
        }
        let last = self.last.as_ref();
        match last.and_then(|last| TraceFinal::new(&self.episode, last, next)) {
            Some(ours) => differences(row, &to_value(&ours), &ignore),
            None => vec!["our episode has not ended".to_owned()],
        }
    }
}
