//! Prompt and completion of a language model for an action, from a replay.

use std::fmt::Write;

use sentinel_page_protocol::Transcript;
use sentinel_policy::replay::Replay;
use serde_json::Value;

use crate::world::{PageWorld, SetupOf};

/// Returns the transcript of the action that a replay has for `observation`; `None` if no model was
/// asked.
#[must_use]
pub fn transcript<W: PageWorld>(
    replay: &Replay<W>,
    setup: &SetupOf<W>,
    observation: &W::Observation,
) -> Option<Transcript> {
    let rows = replay.episode(&W::episode_spec(setup))?;
    let row = &rows.get(W::step_count(observation))?.row;
    let text = row.transcript.as_deref()?;
    let mut action = String::new();
    let mut unread = text.fallback;
    for (key, value) in W::write_action(row.action.action) {
        // An answer that is not an action is recorded under this key.
        unread |= key == "invalid";
        // Only names and numbers occur, and a full JSON writer would be larger.
        let value = match value {
            Value::String(text) => format!("{text:?}"),
            Value::Bool(flag) => flag.to_string(),
            Value::Number(number) => number.to_string(),
            Value::Null | Value::Array(_) | Value::Object(_) => continue,
        };
        let start = if action.is_empty() { '{' } else { ',' };
        // Writing to a `String` cannot fail.
        let _ = write!(action, "{start}\"{key}\":{value}");
    }
    action.push('}');
    let reading = match (unread, text.fallback, text.repaired) {
        (_, true, _) => "not an action: the replay’s fallback acted",
        (true, ..) => "not an action: counts as an invalid step",
        (.., true) => "parsed after a repair",
        _ => "parsed as written",
    };
    Some(Transcript {
        reading: reading.to_owned(),
        prompt: text.prompt.clone().unwrap_or_default(),
        completion: text.completion.clone().unwrap_or_default(),
        action,
    })
}
