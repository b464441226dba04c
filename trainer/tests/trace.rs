//! Traces equal the recorded ones, and bad actions are named.
#![allow(
    clippy::unwrap_used,
    reason = "a test stops at the first thing that is not there"
)]

use crate::common;

use std::path::Path;

use common::{Run, golden, json, run, run_in};
use sentinel_env::{EpisodeNames, EpisodeSpec, Protocol, Session, WorldName, in_world};
use serde_json::{Value, json as value};

#[test]
fn trace_rows_match_recording_exactly() {
    let recorded = golden("trust.jsonl.gz");
    let mut rows = 0;
    for task in ["task1", "task2", "task3"] {
        for seed in 0..3 {
            for policy in ["random", "heuristic", "oracle_lite"] {
                let line =
                    format!("trace --world trust --task {task} --seed {seed} --policy {policy}");
                let start = format!(r#"{{"task":"{task}","seed":{seed},"policy":"{policy}","#);
                let expected: Vec<&String> = recorded
                    .iter()
                    .filter(|row| row.starts_with(&start))
                    .collect();
                assert!(!expected.is_empty(), "nothing recorded for {line}");
                let run = run(&line);
                let ours: Vec<&str> = run.succeeds().lines().collect();
                assert_eq!(ours, expected, "{line}");
                rows += ours.len();
            }
        }
    }
    assert_eq!(rows, 496);
}

/// Returns the actions of a recorded episode, one per line.
fn recorded_actions(task: &str, seed: u64, policy: &str) -> Vec<String> {
    let start = format!(r#"{{"task":"{task}","seed":{seed},"policy":"{policy}","kind":"step""#);
    let rows = golden("trust.jsonl.gz")
        .into_iter()
        .filter(|row| row.starts_with(&start));
    rows.map(|row| {
        let row = json(&row);
        let solved = row["action_type"] == "solve_independently";
        value!({
            "action_type": row["action_type"],
            "specialist_id": row["specialist_id"],
            "subtask_response": solved.then_some("SELF_SOLVED"),
        })
        .to_string()
    })
    .collect()
}

fn play(folder: &Path, task: &str, lines: &[String]) -> Run {
    std::fs::write(folder.join("actions.jsonl"), lines.join("\n")).unwrap();
    run_in(
        folder,
        &format!("trace --task {task} --seed 0 --actions actions.jsonl"),
    )
}

#[test]
fn trace_of_given_actions_matches_recording() {
    let folder = tempfile::tempdir().unwrap();
    for task in ["task1", "task2", "task3"] {
        let run = play(folder.path(), task, &recorded_actions(task, 0, "random"));
        let start = format!(r#"{{"task":"{task}","seed":0,"policy":"random","#);
        let recorded = golden("trust.jsonl.gz")
            .into_iter()
            .filter(|row| row.starts_with(&start));
        let unlabeled = |line: &str| {
            let mut row = json(line);
            let object = row.as_object_mut().unwrap();
            let policy = object.remove("policy");
            // Given actions have no random stream of their own.
            let next = object.remove("policy_rng_next");
            (row, policy, next)
        };
        let ours: Vec<_> = run.succeeds().lines().map(unlabeled).collect();
        assert!(
            ours.iter()
                .all(|(_, policy, _)| policy == &Some(value!("actions")))
        );
        assert_eq!(ours.last().unwrap().2, Some(Value::Null));
        let ours: Vec<Value> = ours.into_iter().map(|(row, _, _)| row).collect();
        let recorded: Vec<Value> = recorded.map(|line| unlabeled(&line).0).collect();
        assert_eq!(ours, recorded);
    }
}

#[test]
fn too_few_actions_print_rows_without_final_row() {
    let folder = tempfile::tempdir().unwrap();
    let run = play(
        folder.path(),
        "task3",
        &recorded_actions("task3", 0, "random")[..4],
    );
    assert_eq!(run.succeeds().lines().count(), 5);
    assert!(
        run.stderr
            .contains("still runs after 4 actions: no final row"),
        "{}",
        run.stderr
    );
    let none = play(folder.path(), "task3", &[]);
    assert_eq!(none.succeeds().lines().count(), 1);
}

#[test]
fn actions_after_the_end_are_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let mut actions = recorded_actions("task1", 0, "random");
    let rows = actions.len() + 2;
    actions.push(r#"{"action_type":"skip"}"#.to_owned());
    let run = play(folder.path(), "task1", &actions);
    run.fails(&["actions.jsonl line", "the episode has ended"]);
    assert_eq!(run.stdout.lines().count(), rows);
}

#[test]
fn bad_action_error_names_line_after_earlier_rows() {
    let folder = tempfile::tempdir().unwrap();
    let skip = r#"{"action_type":"skip"}"#.to_owned();
    let cases: [(&str, &[&str]); 8] = [
        (
            r#"{"action_type":"trust"}"#,
            &["unknown action_type \"trust\"", "use delegate"],
        ),
        (r#"{"action_type":"verify"}"#, &["needs a specialist_id"]),
        (
            r#"{"action_type":"verify","specialist_id":"S9"}"#,
            &["unknown specialist_id \"S9\""],
        ),
        (
            r#"{"action_type":"solve_independently"}"#,
            &["subtask_response"],
        ),
        (
            r#"{"action_type":7}"#,
            &["action_type should be a text, not 7"],
        ),
        (r#"{"action_type":"#, &["EOF while parsing"]),
        (r#"["skip"]"#, &["not a JSON object"]),
        (
            r#"{"action_type":"skip","specialist_id":NaN}"#,
            &["expected value"],
        ),
    ];
    for (bad, words) in cases {
        // A blank line counts as a line and is not an action.
        let run = play(
            folder.path(),
            "task1",
            &[skip.clone(), String::new(), bad.to_owned()],
        );
        run.fails(words);
        run.fails(&["actions.jsonl line 3: "]);
        assert_eq!(run.stdout.lines().count(), 2, "{}", run.stdout);
    }
}

#[test]
fn long_bad_action_is_abbreviated_in_error() {
    let folder = tempfile::tempdir().unwrap();
    let long = format!("{{\"action_type\":\"{}\"}}", "x".repeat(1_000_000));
    let run = play(folder.path(), "task1", &[long]);
    run.fails(&["actions.jsonl line 1: unknown action_type"]);
    assert!(run.stderr.len() < 300, "{} bytes", run.stderr.len());
}

#[test]
fn byte_order_mark_and_crlf_are_ignored() {
    let folder = tempfile::tempdir().unwrap();
    let text = "\u{feff}{\"action_type\":\"skip\"}\r\n{\"action_type\":\"skip\"}\r\n";
    std::fs::write(folder.path().join("a.jsonl"), text).unwrap();
    let run = run_in(
        folder.path(),
        "trace --task task1 --seed 0 --actions a.jsonl",
    );
    assert_eq!(run.succeeds().lines().count(), 3);
}

#[test]
fn incomplete_or_invalid_trace_options_are_refused() {
    run("trace --task task1 --seed 0").fails(&["--policy", "--actions"]);
    run("trace --task task1 --seed 0 --policy random --actions a").fails(&["cannot be used with"]);
    run("trace --task task1 --policy random").fails(&["--seed"]);
    run("trace --task task9 --seed 0 --policy random").fails(&["unknown task \"task9\""]);
    run("trace --task task1 --seed 0 --policy best")
        .fails(&["unknown policy \"best\"", "oracle_lite"]);
    run("trace --task task1 --seed 0 --actions missing.jsonl")
        .fails(&["cannot read missing.jsonl"]);
    run("trace --world polyguard --task task1 --seed 0 --policy random")
        .fails(&["unknown task \"task1\"", "DDI-easy"]);
    run("trace --world moon --task task1 --seed 0 --policy random")
        .fails(&["invalid value 'moon' for '--world <WORLD>'"]);
}

/// Returns the reward of a message on the first step of an episode and whether it ended it; `None` if it
/// is refused.
fn natively<W: Protocol>(task: &str, rules: &str, message: &str) -> Option<(f64, bool)> {
    let names = EpisodeNames {
        task: Some(task),
        streams: Some("independent"),
        rules: Some(rules),
    };
    let spec = EpisodeSpec::<W>::from_names(names, 7).unwrap();
    let mut session = Session::<W>::new(&spec.setup());
    let applied = session.apply_json(message, &mut W::Curriculum::default());
    let transition = applied.ok()?;
    Some((transition.reward, transition.is_last()))
}

/// Checks that an action in a file means the same as in a session, also a hostile one.
#[test]
fn hostile_messages_mean_the_same_in_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/messages.jsonl");
    let rows = std::fs::read_to_string(path).unwrap();
    let mut compared = 0;
    for row in rows.lines().map(json) {
        let (world, message) = (
            row["world"].as_str().unwrap(),
            row["message"].as_str().unwrap(),
        );
        // At the start of a file it belongs to the file.
        if message.starts_with('\u{feff}') {
            continue;
        }
        let (task, rules) = match world {
            "polyguard" => ("DDI-medium", "hardened"),
            _ => ("task1", "reference"),
        };
        let world = WorldName::parse(world).unwrap();
        let expected = in_world!(world, W => natively::<W>(task, rules, message));
        std::fs::write(folder.path().join("a.jsonl"), message).unwrap();
        let streams = if world == WorldName::Polyguard {
            ""
        } else {
            " --streams independent"
        };
        let line = format!(
            "trace --world {world} --task {task} --rules {rules}{streams} --seed 7 --actions a.jsonl"
        );
        let run = run_in(folder.path(), &line);
        let rows = run.stdout.lines().map(json);
        let step = rows.rev().find(|row| row["kind"] == "step");
        let found = step.map(|row| (row["reward"].as_f64().unwrap(), row["done"] == true));
        assert_eq!(found, expected, "{world}: {message}\n{}", run.stderr);
        if expected.is_none() {
            run.fails(&["a.jsonl line 1"]);
        }
        compared += 1;
    }
    assert!(compared > 300, "{compared} messages");
}
