//! The published numbers, and the file that holds them.
#![allow(
    clippy::unwrap_used,
    reason = "a test stops at the first thing that is not there"
)]

use crate::common;

use common::{golden, json, run, run_in};
use sentinel_env::rng::Streams;
use sentinel_env::trust::{Setup, Task};
use sentinel_policy::Player;
use sentinel_policy::replay::{record_episode, to_lines};
use sentinel_policy::trust::Heuristic;
use serde_json::{Value, json as value};

/// The score by task and overall over seeds 0..30, as published (spec evaluation §1.6).
const PUBLISHED: [(&str, [f64; 4]); 4] = [
    ("random", [0.7635, 0.6472, 0.6606, 0.6904]),
    ("heuristic", [0.8504, 0.7497, 0.7449, 0.7817]),
    ("oracle_lite", [0.9011, 0.7638, 0.8567, 0.8405]),
    ("trained", [0.8504, 0.7497, 0.7637, 0.7880]),
];

/// Completion, detection, calibration (three decimals) and steps (one): spec evaluation §1.6.
const AVERAGES: [(&str, &str, [f64; 4]); 10] = [
    ("task1", "random", [0.760, 1.0, 0.0, 15.1]),
    ("task1", "heuristic", [0.840, 1.0, 0.0, 13.8]),
    ("task1", "oracle_lite", [0.717, 1.0, 0.0, 16.0]),
    ("task2", "random", [0.864, 1.0, 0.583, 26.8]),
    ("task2", "heuristic", [0.929, 1.0, 0.574, 23.2]),
    ("task2", "oracle_lite", [0.905, 1.0, 0.838, 30.0]),
    ("task3", "random", [0.815, 0.381, 0.753, 36.7]),
    ("task3", "heuristic", [0.907, 0.753, 0.738, 36.1]),
    ("task3", "oracle_lite", [0.985, 1.0, 0.930, 42.3]),
    ("task3", "trained", [0.925, 0.831, 0.740, 36.4]),
];

/// Returns the reference's committed replay: the heuristic with threshold .70.
fn published_replay() -> String {
    let mut rows = Vec::new();
    for task in Task::ALL {
        for seed in 0..30 {
            let setup = Setup::new(task, seed, Streams::Reference);
            let mut player = Player::Public(Box::new(Heuristic::REPLAY_MISS));
            rows.extend(record_episode(&setup, &mut player, "heuristic_fallback").1);
        }
    }
    // The reference's file has this many rows for these seeds.
    assert_eq!(rows.len(), 1545);
    to_lines(&rows).unwrap()
}

fn assert_near(actual: &Value, expected: f64, half_unit: f64, place: &str) {
    let actual = actual.as_f64().unwrap();
    assert!(
        (actual - expected).abs() <= half_unit + 1e-9,
        "{place}: {actual}, not {expected}"
    );
}

fn assert_published(file: &Value) {
    for (policy, [task1, task2, task3, overall]) in PUBLISHED {
        assert_eq!(file["summary"][policy]["avg_score"], overall, "{policy}");
        assert_eq!(file["summary"][policy]["episodes"], 90);
        for (task, score) in [("task1", task1), ("task2", task2), ("task3", task3)] {
            assert_eq!(
                file["by_task"][task][policy]["avg_score"], score,
                "{policy} {task}"
            );
        }
    }
    for (task, policy, [completion, detection, calibration, steps]) in AVERAGES {
        let summary = &file["by_task"][task][policy];
        let place = format!("{task} {policy}");
        assert_near(&summary["avg_completion_rate"], completion, 0.0005, &place);
        assert_near(&summary["avg_detection_rate"], detection, 0.0005, &place);
        assert_near(
            &summary["avg_trust_calibration"],
            calibration,
            0.0005,
            &place,
        );
        assert_near(&summary["avg_steps"], steps, 0.05, &place);
    }
}

#[test]
fn eval_scores_match_published_rows() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("grpo.jsonl"), published_replay()).unwrap();
    let line = "eval --task all --episodes 30 --policies random,heuristic,oracle_lite,trained \
                --replay grpo.jsonl --out eval.json";
    let run = run_in(folder.path(), line);
    let table = run.succeeds();
    for number in ["0.6904", "0.7817", "0.8405", "0.7880"] {
        assert!(table.contains(number), "{number} is not in\n{table}");
    }
    assert!(table.contains("trained: 1545 recorded actions from grpo.jsonl, 0 replay misses"));
    let text = std::fs::read_to_string(folder.path().join("eval.json")).unwrap();
    assert!(text.ends_with("}\n") && text.starts_with("{\n  \"task\": \"all\",\n"));
    let file = json(&text);
    assert_published(&file);
    assert_eq!(file["episodes"].as_array().unwrap().len(), 360);
    assert_eq!(file["replay"]["replay_misses"], 0);
    assert_eq!(file["replay"]["replay_hits"], 1545);
    // No temporary file is left beside it.
    assert_eq!(folder.path().read_dir().unwrap().count(), 2);
}

/// Returns the keys of a JSON object in the order of the text.
fn keys_in_order(text: &str, indent: usize) -> Vec<String> {
    let start = format!("{}\"", " ".repeat(indent));
    text.lines()
        .filter_map(|line| line.strip_prefix(&start)?.split_once('"'))
        .map(|(key, _)| key.to_owned())
        .collect()
}

#[test]
fn eval_file_has_reference_keys_in_order() {
    let folder = tempfile::tempdir().unwrap();
    let line = "eval --task task2,task1 --episodes 2 --policies oracle_lite,random --out e.json";
    run_in(folder.path(), line).succeeds();
    let whole = std::fs::read_to_string(folder.path().join("e.json")).unwrap();
    let text = common::reference_part(&whole, "trust");
    let top = [
        "task",
        "tasks",
        "episodes_per_policy",
        "adaptive",
        "difficulty_controller",
        "difficulty_controller_by_task_policy",
        "summary",
        "by_task",
        "episodes",
    ];
    assert_eq!(keys_in_order(&text, 2), top);
    let file = json(&whole);
    assert_eq!(file["tasks"], value!(["task2", "task1"]));
    assert_eq!(
        (&file["adaptive"], &file["difficulty_controller"]),
        (&value!(false), &value!({}))
    );
    // Policies in the order requested, tasks sorted.
    let second_level = keys_in_order(&text, 4);
    let after_summary = second_level.iter().skip_while(|key| *key != "oracle_lite");
    assert_eq!(
        after_summary.take(4).collect::<Vec<_>>(),
        ["oracle_lite", "random", "task1", "task2"]
    );
    let order: Vec<(&str, &str, u64)> = (file["episodes"].as_array().unwrap().iter())
        .map(|row| {
            let text = |key: &str| row[key].as_str().unwrap();
            (
                text("task_type"),
                text("policy"),
                row["seed"].as_u64().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        order[..3],
        [
            ("task2", "oracle_lite", 0),
            ("task2", "oracle_lite", 1),
            ("task2", "random", 0)
        ]
    );
    let row = [
        "policy",
        "task_type",
        "seed",
        "steps",
        "score",
        "total_reward",
        "completion_rate",
        "detection_rate",
        "trust_calibration",
        "adversarial_detections",
        "adversarial_poisonings",
        "status",
        "difficulty_profile",
        "rewards",
    ];
    assert_eq!(
        keys_in_order(&text, 6)[keys_in_order(&text, 6).len() - row.len()..],
        row
    );
}

/// After the reference's keys each world records the model, seeds, streams and rules of its
/// numbers.
#[test]
fn eval_file_ends_with_model_seeds_streams_and_rules() {
    let folder = tempfile::tempdir().unwrap();
    let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
    for (world, task, rules, streams) in [
        ("trust", "--task task1", "hardened", "independent"),
        ("cluster", "--task task1", "reference", "reference"),
        ("polyguard", "--difficulty easy", "hardened", "independent"),
    ] {
        let line = format!(
            "eval --world {world} {task} --rules {rules} --streams {streams} --seeds 3..5 --policies random --out e.json"
        );
        run_in(folder.path(), &line).succeeds();
        let text = read("e.json");
        let before = json(&common::reference_part(&text, world));
        assert!(before["summary"]["random"].is_object());
        let own = &json(&text)["sentinel"];
        assert_eq!(
            (&own["model"], &own["seeds"]),
            (&value!(null), &value!("3..5"))
        );
        assert_eq!(
            (&own["streams"], &own["rules"]),
            (&value!(streams), &value!(rules))
        );
        assert_eq!(
            (&own["inputs"], &own["fallbacks"]),
            (&value!({}), &value!([]))
        );
        assert_eq!(own["command"], format!("sentinel {line}"));
        // PolyGuard alone counts what the policies did.
        let found = &own["diagnostics"];
        assert_eq!(found.is_array(), world == "polyguard", "{found}");
        if let Some(found) = found.get(0) {
            assert_eq!(
                (&found["policy"], &found["split"]),
                (&value!("random"), &value!("all"))
            );
            assert_eq!(found["episodes"], 16);
            let chosen = found["kinds"].as_object().unwrap().values();
            let chosen: u64 = chosen.map(|count| count.as_u64().unwrap()).sum();
            assert_eq!(found["steps"], chosen);
            assert_eq!(found["components"].as_object().unwrap().len(), 13);
            assert_eq!(found["exploits"].as_object().unwrap().len(), 8);
        }
        // An evaluation may replace one without such an object.
        std::fs::write(
            folder.path().join("e.json"),
            common::reference_part(&text, world),
        )
        .unwrap();
    }
    // A model is recorded by its folder and the digests of its files.
    let model = common::repository("replays/grpo");
    let line = format!(
        "eval --task task1 --episodes 1 --policies trained --model {} --out m.json",
        model.display()
    );
    run_in(folder.path(), &line).succeeds();
    let own = &json(&read("m.json"))["sentinel"];
    assert_eq!(own["model"], model.to_str().unwrap());
    let digest = own["inputs"]["model.safetensors of the model"]
        .as_str()
        .unwrap();
    assert_eq!((digest.len(), &own["fallbacks"]), (64, &value!([])));
}

/// Rows of a script count as fallbacks; so do steps without a row, at which the fallback acts.
#[test]
fn scripted_rows_and_misses_count_as_fallbacks() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("grpo.jsonl"), published_replay()).unwrap();
    let line =
        "eval --task task1 --seeds 29..31 --policies trained --replay grpo.jsonl --out e.json";
    let run = run_in(folder.path(), line);
    let fallback_line = "fallback (record): 1545 of 1545 rows are of heuristic_fallback\n";
    assert!(
        run.succeeds()
            .ends_with(&format!("{fallback_line}\nwrote e.json\n")),
        "{}",
        run.stdout
    );
    let file = json(&std::fs::read_to_string(folder.path().join("e.json")).unwrap());
    let own = &file["sentinel"];
    assert_eq!(own["replay"], "grpo.jsonl");
    assert_eq!(own["inputs"]["replay"].as_str().unwrap().len(), 64);
    let misses = &file["replay"]["replay_misses"];
    assert_eq!(
        own["fallbacks"],
        value!([
            {"stage": "record", "what": "1545 of 1545 rows are of heuristic_fallback"},
            {"stage": "eval", "what": format!("{misses} steps are the fallback's: the replay has no row")},
        ])
    );
}

#[test]
fn replay_misses_are_counted_and_shown() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("grpo.jsonl"), published_replay()).unwrap();
    let run = run_in(
        folder.path(),
        "eval --task all --seeds 29..31 --policies trained --replay grpo.jsonl --out e.json",
    );
    let table = run.succeeds();
    let file = json(&std::fs::read_to_string(folder.path().join("e.json")).unwrap());
    let misses = file["replay"]["replay_misses"].as_u64().unwrap();
    assert!(misses > 0);
    assert!(
        table.contains(&format!("{misses} replay misses")),
        "{table}"
    );
    let by_task = file["replay"]["replay_misses_by_task"].as_object().unwrap();
    assert_eq!(
        by_task.values().map(|n| n.as_u64().unwrap()).sum::<u64>(),
        misses
    );
    // Rows of the other stream mode have other keys: no row of the file is played.
    let run = run_in(
        folder.path(),
        "eval --episodes 1 --policies trained --replay grpo.jsonl --streams independent",
    );
    assert!(
        run.succeeds().contains("trained: 0 recorded actions"),
        "{}",
        run.stdout
    );
}

#[test]
fn adaptive_difficulty_matches_recording() {
    let states = golden("adaptive.jsonl.gz");
    let folder = tempfile::tempdir().unwrap();
    for (task, policies) in [
        ("task3", "random,heuristic,oracle_lite"),
        ("task1", "heuristic"),
        ("task2", "oracle_lite"),
    ] {
        let line = format!(
            "eval --adaptive --task {task} --policies {policies} --episodes 60 --out e.json"
        );
        run_in(folder.path(), &line).succeeds();
        let file = json(&std::fs::read_to_string(folder.path().join("e.json")).unwrap());
        for policy in policies.split(',') {
            let start = format!(
                r#"{{"env":"trust","episode":59,"task":"{task}","seed":59,"policy":"{policy}","kind":"controller""#
            );
            let last = states.iter().find(|line| line.starts_with(&start)).unwrap();
            let expected = &json(last)["state"];
            assert_eq!(
                &file["difficulty_controller_by_task_policy"][task][policy],
                expected
            );
            let of_policy = file["episodes"].as_array().unwrap().iter();
            let row = of_policy
                .filter(|row| row["policy"] == policy)
                .nth(59)
                .unwrap();
            let end = start.replace("controller", "final");
            let end = json(states.iter().find(|line| line.starts_with(&end)).unwrap());
            assert_eq!(row["score"], end["score4"], "{task} {policy}");
        }
    }
}

#[test]
fn eval_file_names_independent_streams() {
    let folder = tempfile::tempdir().unwrap();
    let line = "eval --episodes 1 --policies self_solve --streams independent --out e.json";
    assert!(
        run_in(folder.path(), line)
            .succeeds()
            .contains("independent streams")
    );
    let file = json(&std::fs::read_to_string(folder.path().join("e.json")).unwrap());
    assert_eq!(file["streams"], "independent");
}

#[test]
fn eval_plays_every_scripted_policy() {
    let line = "eval --episodes 1 --policies random,heuristic,oracle_lite,self_solve,bayes";
    let run = run(line);
    for policy in ["random", "heuristic", "oracle_lite", "self_solve", "bayes"] {
        assert!(run.succeeds().contains(policy));
    }
}
