//! Checks recorded trust episodes: reset, steps, final, and the controller between adaptive
//! episodes.

use sentinel_env::AdaptiveDifficulty;
use sentinel_env::Environment;
use std::collections::BTreeMap;

use sentinel_env::adaptive_difficulty::DifficultyController;
use sentinel_env::rng::Streams;
use sentinel_env::trust::{
    Action, ActionMessage, Session, Setup, Task, TraceFinal, TraceReset, TraceStep,
};
use sentinel_policy::trust::Player;
use sentinel_policy::trust::PolicyName;
use serde_json::{Value, json};

use crate::compare::differences;

/// Keys that identify the episode of a row.
pub(crate) const LABELS: [&str; 5] = ["env", "episode", "task", "seed", "policy"];

/// Policies of the reference. Recordings under other names are replayed action by action.
const REFERENCE_POLICIES: [PolicyName; 3] = [
    PolicyName::Random,
    PolicyName::Heuristic,
    PolicyName::OracleLite,
];

struct Running {
    session: Session,
    /// Scripted policy that the recording names. It must choose the recorded actions.
    player: Option<Player>,
}

/// The state of checking one file, row by row.
#[derive(Default)]
pub(crate) struct Episodes {
    running: Option<Running>,
    /// One controller per recorded adaptive sequence.
    controllers: BTreeMap<(String, String), DifficultyController>,
}

impl Episodes {
    /// Returns the differences of one row; `None` for a row before the first reset.
    pub(crate) fn check(&mut self, kind: &str, row: &Value) -> Option<Vec<String>> {
        if kind == "reset" {
            return Some(self.reset(row).unwrap_or_else(|problem| vec![problem]));
        }
        if kind == "controller" {
            return Some(self.controller(row));
        }
        let running = self.running.as_mut()?;
        Some(match kind {
            "step" => running.step(row),
            _ => running.finish(row),
        })
    }

    fn reset(&mut self, row: &Value) -> Result<Vec<String>, String> {
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
        let session = Session::new(&setup);
        let found = differences(row, &to_value(&TraceReset::new(&session)), &LABELS);
        let policy = row["policy"].as_str().and_then(PolicyName::parse);
        let player = policy
            .filter(|policy| REFERENCE_POLICIES.contains(policy))
            .map(|policy| policy.player(seed, Streams::Reference));
        self.running = Some(Running { session, player });
        Ok(found)
    }

    fn controller(&mut self, row: &Value) -> Vec<String> {
        let controller = self.controllers.entry(sequence(row)).or_default();
        let Some(running) = &self.running else {
            return vec!["no reset before this row".to_owned()];
        };
        running.session.episode().report_to(controller);
        differences(row, &controller_row(controller), &LABELS)
    }
}

/// Returns the state of a controller in the form of a recorded row.
pub(crate) fn controller_row(controller: &DifficultyController) -> Value {
    let p = controller.current_profile();
    let full = json!({
        "threshold": p.adversarial_threshold, "high_stakes_ratio": p.high_stakes_ratio,
        "penalty": p.verify_budget_penalty, "benign": p.adversary_benign_confidence,
        "poison": p.adversary_poison_confidence, "rolling": p.rolling_detection_rate,
        "last_rate": controller.last_detection_rate(),
    });
    json!({"kind": "controller", "state": to_value(&p), "full": full})
}

impl Running {
    fn step(&mut self, row: &Value) -> Vec<String> {
        let message = ActionMessage {
            action_type: row["action_type"].as_str().map(str::to_owned),
            specialist_id: row["specialist_id"].as_str().map(str::to_owned),
            subtask_response: Some("recorded".to_owned()),
            ..ActionMessage::default()
        };
        let action = match message.parse() {
            Ok(action) => action,
            Err(error) => return vec![error.to_string()],
        };
        let mut found = self.choice(action);
        match self.session.act(action) {
            Ok(step) => {
                let ours = to_value(&TraceStep::new(&self.session, &step.info));
                found.extend(differences(row, &ours, &LABELS));
            }
            Err(error) => found.push(error.to_string()),
        }
        found
    }

    /// Compares the recorded action with the choice of the named policy.
    fn choice(&mut self, recorded: Action) -> Vec<String> {
        let chosen = self
            .player
            .as_mut()
            .and_then(|player| player.act(self.session.episode()));
        match chosen {
            Some(chosen) if chosen != recorded => {
                vec![format!(
                    "the policy chooses {chosen}, the recording has {recorded}"
                )]
            }
            _ => Vec::new(),
        }
    }

    fn finish(&mut self, row: &Value) -> Vec<String> {
        let seed = self.session.episode().setup().seed;
        let random = || {
            PolicyName::Random
                .player(seed, Streams::Reference)
                .peek_draw()
        };
        let next = self
            .player
            .as_ref()
            .and_then(Player::peek_draw)
            .or_else(random);
        let ignore: &[&str] = if self.player.is_some() {
            &LABELS
        } else {
            &[
                "env",
                "episode",
                "task",
                "seed",
                "policy",
                "policy_rng_next",
            ]
        };
        match TraceFinal::new(&self.session, next) {
            Some(ours) => differences(row, &to_value(&ours), ignore),
            None => vec!["our episode has not ended".to_owned()],
        }
    }
}

pub(crate) fn sequence(row: &Value) -> (String, String) {
    (row["task"].to_string(), row["policy"].to_string())
}

/// Parses a seed as the reference does, which drops the sign.
pub(crate) fn seed(value: &Value) -> Option<u64> {
    value
        .as_u64()
        .or_else(|| value.as_i64().map(i64::unsigned_abs))
}

pub(crate) fn to_value<T: serde::Serialize>(row: &T) -> Value {
    serde_json::to_value(row).unwrap_or(Value::Null)
}
