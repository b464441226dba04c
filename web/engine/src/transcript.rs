//! What a language model was shown and answered for an action, from a replay.

use std::fmt::Write;

use sentinel_page_protocol::Transcript;
use sentinel_policy::replay::Replay;
use serde_json::Value;

use crate::world::{PageWorld, SetupOf};

/// Returns what a replay says of the action that an episode took at `observation`; `None` where no
/// model spoke.
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
        // An answer that is no action is recorded under this key.
        unread |= key == "invalid";
        // Names and numbers; nothing else occurs, and a full JSON writer would be larger.
        let value = match value {
            Value::String(text) => format!("{text:?}"),
            Value::Bool(flag) => flag.to_string(),
            Value::Number(number) => number.to_string(),
            Value::Null | Value::Array(_) | Value::Object(_) => continue,
        };
        let start = if action.is_empty() { '{' } else { ',' };
        // A `String` takes all that is written to it.
        let _ = write!(action, "{start}\"{key}\":{value}");
    }
    action.push('}');
    let reading = match (unread, text.fallback, text.repaired) {
        (_, true, _) => "not an action: the replay’s fallback acted",
        (true, ..) => "not an action: a step that counts against it",
        (.., true) => "read after a repair",
        _ => "read as it stands",
    };
    Some(Transcript {
        reading: reading.to_owned(),
        prompt: text.prompt.clone().unwrap_or_default(),
        completion: text.completion.clone().unwrap_or_default(),
        action,
    })
}
