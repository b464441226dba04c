//! The cluster world on the command line: the reference's evaluation, traces, replays.
#![allow(
    clippy::unwrap_used,
    reason = "a test stops at the first thing that is not there"
)]

use crate::common;

use std::path::Path;

use common::{golden, json, run, run_in};
use serde_json::{Value, json as value};

/// The mean score by task and overall over seeds 0..30 (spec cluster §11).
const TABLE: [(&str, [f64; 4]); 4] = [
    ("random", [0.1118, 0.1327, 0.0397, 0.0947]),
    ("blind", [0.2033, 0.2133, 0.0573, 0.1580]),
    ("trust", [0.1976, 0.2040, 0.1058, 0.1691]),
    ("oracle_lite", [0.2169, 0.2244, 0.1113, 0.1842]),
];

fn read(folder: &Path, name: &str) -> String {
    std::fs::read_to_string(folder.join(name)).unwrap()
}

#[test]
fn eval_scores_match_reference_table() {
    let folder = tempfile::tempdir().unwrap();
    let line = "eval --world cluster --task all --episodes 30 --out e.json";
    let run = run_in(folder.path(), line);
    let table = run.succeeds();
    let file = json(&read(folder.path(), "e.json"));
    for (policy, scores) in TABLE {
        for (task, score) in ["task1", "task2", "task3"].into_iter().zip(scores) {
            let found = &file["by_task"][task][policy];
            assert_eq!(found["avg_score"], score, "{policy} {task}");
            assert_eq!(found["episodes"], 30);
            let row = format!("{policy:<12} {task:<6}       30       {score:.4}");
            assert!(table.contains(&row), "{row} is not in\n{table}");
        }
        assert_eq!(file["summary"][policy]["avg_score"], scores[3], "{policy}");
    }
    assert_eq!(file["episodes"].as_array().unwrap().len(), 360);
}

/// Returns the keys of a JSON object in the order of the text.
fn keys(text: &str, indent: usize) -> Vec<&str> {
    let start = format!("{}\"", " ".repeat(indent));
    let lines = text.lines();
    let keys = lines.filter_map(|line| Some(line.strip_prefix(&start)?.split_once('"')?.0));
    keys.collect()
}

#[test]
fn eval_file_has_reference_keys_in_order() {
    let folder = tempfile::tempdir().unwrap();
    run_in(folder.path(), "eval --world cluster --out e.json").succeeds();
    let whole = read(folder.path(), "e.json");
    let text = common::reference_part(&whole, "cluster");
    let top = [
        "environment",
        "tasks",
        "episodes_per_policy",
        "adaptive",
        "difficulty_controller",
        "summary",
        "episodes",
    ];
    assert_eq!(keys(&text, 2), top);
    // The keys of the policies, sorted; the list of tasks comes before them.
    let policies = ["blind", "oracle_lite", "random", "trust"];
    assert_eq!(keys(&text, 4)[1..5], policies);
    let summary = [
        "episodes",
        "avg_score",
        "avg_cluster_health",
        "avg_utilization_rate",
        "avg_completion_rate",
        "avg_detection_rate",
        "avg_ai_reliability_modifier",
        "avg_steps",
    ];
    assert_eq!(keys(&text, 6)[..summary.len()], summary);
    let row = [
        "policy",
        "task_type",
        "seed",
        "steps",
        "score",
        "cluster_health",
        "utilization_rate",
        "completion_rate",
        "deadline_hit_rate",
        "detection_rate",
        "attack_detections",
        "attack_poisonings",
        "ai_reliability_modifier",
        "context_drift_events",
        "loop_events",
        "hallucination_confidence_score",
        "evaluation_freshness_score",
        "trust_snapshot",
        "difficulty_profile",
        "rewards",
    ];
    assert_eq!(keys(&text, 6)[4 * summary.len()..][..row.len()], row);
    let file = json(&whole);
    assert_eq!(file["tasks"], value!(["task3"]));
    let scores = [0.0590, 0.1087, 0.0383, 0.1087];
    for (policy, score) in ["blind", "oracle_lite", "random", "trust"]
        .into_iter()
        .zip(scores)
    {
        assert_eq!(file["summary"][policy]["avg_score"], score, "{policy}");
    }
}

#[test]
fn adaptive_difficulty_matches_recording() {
    let rows = golden("adaptive.jsonl.gz");
    let folder = tempfile::tempdir().unwrap();
    let line = "eval --world cluster --adaptive --task task3 --policies trust,random --episodes 60 \
                --out e.json";
    run_in(folder.path(), line).succeeds();
    let file = json(&read(folder.path(), "e.json"));
    for policy in ["trust", "random"] {
        let recorded = |kind: &str| {
            let start = format!(
                r#"{{"env":"cluster","episode":59,"task":"task3","seed":59,"policy":"{policy}","kind":"{kind}""#
            );
            json(rows.iter().find(|row| row.starts_with(&start)).unwrap())
        };
        let state = &file["difficulty_controller_by_task_policy"]["task3"][policy];
        assert_eq!(state, &recorded("controller")["state"], "{policy}");
        let episodes = file["episodes"].as_array().unwrap().iter();
        let mut of_policy = episodes.filter(|row| row["policy"] == policy);
        let last = of_policy.nth(59).unwrap();
        assert_eq!(last["score"], recorded("final")["score4"], "{policy}");
    }
}

#[test]
fn trace_rows_match_recording_exactly() {
    let recorded = golden("cluster.jsonl.gz");
    let mut rows = 0;
    for task in ["task1", "task2", "task3"] {
        for policy in ["random", "blind", "trust", "oracle_lite"] {
            let line = format!("trace --world cluster --task {task} --seed 1 --policy {policy}");
            let start = format!(r#"{{"task":"{task}","seed":1,"policy":"{policy}","#);
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
    assert!(rows > 500, "{rows} rows");
}

#[test]
fn trace_of_given_actions_matches_recording() {
    let folder = tempfile::tempdir().unwrap();
    let start = r#"{"task":"task2","seed":0,"policy":"random","#;
    let recorded: Vec<Value> = (golden("cluster.jsonl.gz").iter())
        .filter(|row| row.starts_with(start))
        .map(|row| json(row))
        .collect();
    let actions: Vec<String> = recorded
        .iter()
        .filter(|row| row["kind"] == "step")
        .map(|row| row["action"].to_string())
        .collect();
    std::fs::write(folder.path().join("a.jsonl"), actions.join("\n")).unwrap();
    let line = "trace --world cluster --task task2 --seed 0 --actions a.jsonl";
    let unlabeled = |mut row: Value| {
        let object = row.as_object_mut().unwrap();
        object.remove("policy");
        object.remove("policy_rng_next");
        row
    };
    let run = run_in(folder.path(), line);
    let ours: Vec<Value> = run.succeeds().lines().map(|l| unlabeled(json(l))).collect();
    assert_eq!(
        ours,
        recorded.into_iter().map(unlabeled).collect::<Vec<_>>()
    );
    // A bad action is named with its line, after the rows so far.
    let bad = [
        &actions[0],
        r#"{"action_type":"allocate","job_id":"JOB-025"}"#,
    ];
    std::fs::write(folder.path().join("a.jsonl"), bad.join("\n")).unwrap();
    let bad = run_in(folder.path(), line);
    bad.fails(&["a.jsonl line 2: unknown job_id JOB-025: the task has 20 jobs"]);
    assert_eq!(bad.stdout.lines().count(), 2);
}

#[test]
fn recorded_replay_verifies_only_under_its_rules() {
    let folder = tempfile::tempdir().unwrap();
    let run = |line: &str| run_in(folder.path(), line);
    for (policy, rules, streams) in [
        ("random", "reference", "reference"),
        ("trust", "hardened", "independent"),
        ("oracle_lite", "hardened-health", "independent"),
        ("planner", "reference+health", "reference"),
    ] {
        let how = format!("--world cluster --rules {rules} --streams {streams}");
        let recorded = run(&format!(
            "record {how} --policy {policy} --task task1,task3 --seeds 3..=5 --force --out r.jsonl"
        ));
        let verified = run("replay verify r.jsonl");
        assert_eq!(recorded.succeeds(), verified.succeeds());
        let stdout = &verified.stdout;
        assert!(stdout.contains("episodes 6,"), "{stdout}");
        assert!(
            stdout.contains("misses 0, unused rows 0, bad lines 0"),
            "{stdout}"
        );
        assert!(stdout.contains("task3 (cluster, "), "{stdout}");
        assert_eq!(
            stdout.contains(&format!("{rules} rules)")),
            rules != "reference"
        );
        let eval = format!(
            "eval {how} --task task1,task3 --seeds 3..6 --policies {policy},trained \
             --replay r.jsonl --out e.json"
        );
        run(&eval).succeeds();
        let file = json(&read(folder.path(), "e.json"));
        assert_eq!(file["summary"][policy], file["summary"]["trained"]);
        assert_eq!(file["replay"]["replay_misses"], 0);
        assert_eq!(file.get("rules").is_some(), rules != "reference");
    }
    // Under other rules it is another episode: no recorded action is played.
    run("eval --world cluster --task task1 --seeds 3..6 --policies trained --replay r.jsonl")
        .succeeds();
    let other = run(
        "eval --world cluster --task task1 --seeds 3..6 --policies trained \
                     --replay r.jsonl --rules hardened",
    );
    assert!(
        other.succeeds().contains("trained: 0 recorded actions"),
        "{}",
        other.stdout
    );
}

#[test]
fn rules_change_score_and_are_printed() {
    let score = |rules: &str| {
        let folder = tempfile::tempdir().unwrap();
        let line = format!(
            "eval --world cluster --rules {rules} --episodes 3 --policies blind --out e.json"
        );
        let run = run_in(folder.path(), &line);
        assert_eq!(run.succeeds().contains("rules,"), rules != "reference");
        json(&read(folder.path(), "e.json"))["summary"]["blind"]["avg_score"].clone()
    };
    assert_ne!(score("reference"), score("hardened"));
}

#[test]
fn manifest_lists_cluster_replay_with_rules() {
    let folder = tempfile::tempdir().unwrap();
    let run = |line: &str| run_in(folder.path(), line);
    let record = "record --world cluster --rules hardened --policy blind --task task1 --seeds 0..2 \
                  --streams independent --out c.jsonl --manifest manifest.json";
    run(record).succeeds();
    run("record --policy heuristic --task task1 --seeds 0..2 --out t.jsonl").succeeds();
    run("replay manifest .").succeeds();
    run("replay manifest --check .").succeeds();
    let list = json(&read(folder.path(), "manifest.json"));
    let (cluster, trust) = (&list["files"][0], &list["files"][1]);
    assert_eq!(
        (&cluster["world"], &cluster["rules"]),
        (&value!("cluster"), &value!("hardened"))
    );
    assert_eq!(cluster["command"], format!("sentinel {record}"));
    assert_eq!(
        (&trust["world"], trust.get("rules")),
        (&value!("trust"), None)
    );
    // A file with both is verified, but not listed.
    let both = read(folder.path(), "c.jsonl") + &read(folder.path(), "t.jsonl");
    std::fs::write(folder.path().join("both.jsonl"), both).unwrap();
    let verified = run("replay verify both.jsonl");
    assert!(
        verified.succeeds().contains("episodes 4,"),
        "{}",
        verified.stdout
    );
    run("replay manifest .").fails(&["both.jsonl", "several worlds"]);
}
