//! What a language model was shown and said for an action, from a replay.

use std::fmt::Write;

use sentinel_policy::replay::{Recordable, Replay};
use serde_json::Value;

/// How it was read, as a heading; the prompt, the completion, and the action as JSON.
pub type Said = [String; 4];

/// What a replay says of the action that an episode took at some moment; nothing where no model spoke.
#[must_use]
pub fn said<P: Recordable>(replay: &Replay<P>, setup: &P::Setup, before: &P) -> Option<Said> {
    let rows = replay.episode(&P::origin(setup))?;
    let row = &rows.get(P::step_count(P::observation(before)))?.row;
    let text = row.transcript.as_deref()?;
    let mut action = String::new();
    let mut unread = text.fallback;
    for (key, value) in P::write_action(row.action.action) {
        // An action for what is none.
        unread |= key == "invalid";
        // Names and numbers; the page needs no more of JSON than that.
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
    let how = match (unread, text.fallback, text.repaired) {
        (_, true, _) => "not an action: the replay’s fallback acted",
        (true, ..) => "not an action: a step that counts against it",
        (.., true) => "read after a repair",
        _ => "read as it stands",
    };
    let part = |part: &Option<String>| part.clone().unwrap_or_default();
    Some([
        format!("In words: {how}"),
        part(&text.prompt),
        part(&text.completion),
        action,
    ])
}

#[cfg(test)]
mod tests {
    use super::*;
    use sentinel_env::Environment;
    use sentinel_env::polyguard::{Action, PolyguardEnv, TaskSpec, Violation};
    use sentinel_env::rng::Streams;
    use sentinel_env::rules::Rules;
    use sentinel_env::trust::{Setup, Task, TrustEnv};
    use sentinel_env::{Origin, World};
    use sentinel_policy::replay::{RecordedAction, ReplayRow};

    const ROW: &str = r#"{"task_type":"task1","seed":3,"step":0,"action":{"action_type":"verify","specialist_id":"S2"},"scenario_id":"SCN-TASK1-016","model_source":"test""#;

    fn read(more: &str) -> Option<Said> {
        let setup = Setup::new(Task::Task1, 3, Streams::Reference);
        let replay = Replay::parse(&format!("{ROW}{more}}}"));
        assert_eq!(replay.problem_count(), 0, "{:?}", replay.problems());
        said::<TrustEnv>(&replay, &setup, &TrustEnv::reset(&setup))
    }

    #[test]
    fn a_row_says_how_it_was_read() {
        assert_eq!(read(""), None, "no model spoke");
        let action = r#"{"action_type":"verify","specialist_id":"S2"}"#;
        let all = |how: &str, prompt: &str, completion: &str| {
            let how = format!("In words: {how}");
            Some([&how, prompt, completion, action].map(str::to_owned))
        };
        let found = read(r#","prompt":"a <b>","completion":"x""#);
        assert_eq!(found, all("read as it stands", "a <b>", "x"));
        let found = read(r#","completion":"x","repaired":true"#);
        assert_eq!(found, all("read after a repair", "", "x"));
        let found = read(r#","prompt":"a","fallback":true"#);
        let how = "not an action: the replay’s fallback acted";
        assert_eq!(found, all(how, "a", ""));
        // The moment belongs to no row of the file.
        let other = Setup::new(Task::Task1, 4, Streams::Reference);
        let replay = Replay::parse(&format!("{ROW},\"completion\":\"x\"}}"));
        let found = said::<TrustEnv>(&replay, &other, &TrustEnv::reset(&other));
        assert_eq!(found, None);
    }

    #[test]
    fn what_is_no_action_of_polyguard_is_a_step() {
        let streams = PolyguardEnv::streams_or_default(Streams::Reference);
        let setup = Origin::<PolyguardEnv> {
            task: TaskSpec::ALL[0],
            seed: 1,
            streams,
            rules: Rules::HARDENED,
        }
        .setup();
        let row = ReplayRow {
            origin: PolyguardEnv::origin(&setup),
            step: 0,
            action: RecordedAction {
                action: Action::Invalid(Violation::NoCandidate),
                text: None,
                reasoning: None,
            },
            scenario_id: String::new(),
            model_source: "test".to_owned(),
            probabilities: None,
            belief: None,
            transcript: Some(Box::default()),
        };
        let start = PolyguardEnv::reset(&setup);
        let found = said::<PolyguardEnv>(&Replay::from_rows(vec![row]), &setup, &start);
        let [how, _, _, action] = found.expect("a model spoke");
        assert_eq!(
            how,
            "In words: not an action: a step that counts against it"
        );
        assert_eq!(action, r#"{"invalid":"no_candidate"}"#);
    }
}
