//! Checks complete payloads of the trust world: every field of reset, step, state and stream.

use sentinel_env::adaptive_difficulty::DifficultyController;
use sentinel_env::rng::Streams;
use sentinel_env::trust::{Session, Setup, Task};
use sentinel_policy::trust::Player;
use sentinel_policy::trust::PolicyName;
use serde_json::Value;

use crate::compare::differences;
use crate::episodes::to_value;

/// The state of checking one file, row by row.
#[derive(Default)]
pub(crate) struct Shapes {
    running: Option<(String, Session, Player)>,
}

impl Shapes {
    /// Returns the differences of one payload. The recording was played by the random policy and
    /// omits most payloads; this replays the steps between them.
    pub(crate) fn check(&mut self, row: &Value) -> Vec<String> {
        let (Some(task), Some(seed)) = (
            row["task"].as_str().and_then(Task::parse),
            row["seed"].as_u64(),
        ) else {
            return vec!["no task or seed".to_owned()];
        };
        let key = format!("{task} {seed}");
        if self
            .running
            .as_ref()
            .is_none_or(|(running, ..)| *running != key)
        {
            let session = Session::new(&Setup::new(task, seed, Streams::Reference));
            self.running = Some((
                key,
                session,
                PolicyName::Random.player(seed, Streams::Reference),
            ));
        }
        let Some((_, session, player)) = &mut self.running else {
            return Vec::new();
        };
        let target = row["n"].as_u64().unwrap_or(0);
        let mut controller = DifficultyController::new();
        while u64::from(session.episode().tally().actions) < target {
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
        found
    } else {
        differences(&row["result"], &to_value(&session.reply()), &[])
    }
}
