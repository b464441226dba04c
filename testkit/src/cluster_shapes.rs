//! Checks complete payloads of the cluster world: every field of reset, step, state and stream.

use sentinel_env::adaptive_difficulty::DifficultyController;
use sentinel_env::cluster::{Session, Setup, Task};
use sentinel_env::rng::Streams;
use sentinel_policy::cluster::{Player, PolicyName};
use serde_json::Value;

use crate::compare::differences;
use crate::episodes::to_value;

/// The state of checking one file, row by row.
#[derive(Default)]
pub(crate) struct ClusterShapes {
    running: Option<(String, Session, Player)>,
}

impl ClusterShapes {
    /// Returns the differences of one payload. The recording was played by the trust policy and
    /// omits most payloads; this replays the steps between them.
    pub(crate) fn check(&mut self, row: &Value) -> Vec<String> {
        let (Some(task), Some(seed)) = (
            row["task"].as_str().and_then(Task::parse),
            row["seed"].as_u64(),
        ) else {
            return vec!["no task or seed".to_owned()];
        };
        let key = format!("{task} {seed}");
        let running = self.running.take().filter(|(running, ..)| *running == key);
        let start = || {
            let session = Session::new(&Setup::new(task, seed, Streams::Reference));
            let player = PolicyName::Trust.player(seed, Streams::Reference);
            (key, session, player)
        };
        let (_, session, player) = self.running.insert(running.unwrap_or_else(start));
        let target = row["n"].as_u64().unwrap_or(0);
        let mut controller = DifficultyController::new();
        while (session.steps().len() as u64) < target {
            let Some(action) = player.act(session.episode()) else {
                break;
            };
            if let Err(error) = session.step(&action.into(), &mut controller) {
                return vec![error.to_string()];
            }
        }
        compare(row, session)
    }
}

fn compare(row: &Value, session: &Session) -> Vec<String> {
    if row.get("state").is_some() {
        let mut found = differences(&row["state"], &to_value(&session.state()), &[]);
        let stream = to_value(&session.stream());
        found.extend(differences(&row["stream"], &stream, &[]));
        return found;
    }
    let mut ours = to_value(&session.reply());
    let events = ours.pointer_mut("/info/reward_report/events");
    if let Some(events) = events.and_then(Value::as_array_mut) {
        // The recording keeps only the first and the last event of the report.
        events.drain(1..events.len() - 1);
    }
    differences(&row["result"], &ours, &[])
}
