//! Recording, verifying and listing replays; and the replays that are part of the repository.
#![allow(
    clippy::unwrap_used,
    reason = "a test stops at the first thing that is not there"
)]

use sentinel_play::replay_manifest::{MANIFEST_FILE, Manifest};
use serde_json::json as value;

use crate::common;
use common::{json, repository, run_in};

#[test]
fn recorded_replay_verifies_with_same_scores() {
    let folder = tempfile::tempdir().unwrap();
    for (policy, streams) in [
        ("random", "reference"),
        ("heuristic", "independent"),
        ("bayes", "reference"),
    ] {
        let record = format!(
            "record --policy {policy} --task task1,task3 --seeds 3..=5 --streams {streams} --force --out r.jsonl"
        );
        let recorded = run_in(folder.path(), &record);
        let verified = run_in(folder.path(), "replay verify r.jsonl");
        assert_eq!(recorded.succeeds(), verified.succeeds());
        assert!(
            verified.stdout.contains("episodes 6,"),
            "{}",
            verified.stdout
        );
        assert!(
            verified
                .stdout
                .contains("misses 0, unused rows 0, bad lines 0")
        );
        let eval = format!(
            "eval --task task1,task3 --seeds 3..6 --streams {streams} --policies {policy},trained --replay r.jsonl --out e.json"
        );
        run_in(folder.path(), &eval).succeeds();
        let file = json(&std::fs::read_to_string(folder.path().join("e.json")).unwrap());
        assert_eq!(file["summary"][policy], file["summary"]["trained"]);
        assert_eq!(file["replay"]["replay_misses"], 0);
    }
}

#[test]
fn verify_prints_json_with_json_option() {
    let folder = tempfile::tempdir().unwrap();
    run_in(
        folder.path(),
        "record --policy random --seeds 0..2 --out a.jsonl",
    )
    .succeeds();
    std::fs::write(folder.path().join("b.jsonl"), "{}").unwrap();
    let run = run_in(folder.path(), "replay verify --json a.jsonl b.jsonl");
    run.fails(&["b.jsonl: 1 bad lines"]);
    let reports = json(&run.stdout);
    assert_eq!(reports[0]["verification"]["misses"], 0);
    assert_eq!(reports[0]["verification"]["episode_count"], 6);
    assert_eq!(
        reports[1]["problems"],
        value!([{"line": 1, "reason": "task_type is missing"}])
    );
}

#[test]
fn manifest_drops_command_when_file_changes() {
    let folder = tempfile::tempdir().unwrap();
    let record = "record --policy heuristic --task all --seeds 0..2 --streams reference \
                  --out a.jsonl --manifest manifest.json";
    run_in(folder.path(), record).succeeds();
    run_in(
        folder.path(),
        "record --policy random --task task2 --seeds 5 --out b.jsonl",
    )
    .succeeds();
    run_in(folder.path(), "replay manifest --check .")
        .fails(&["does not match the files in its folder"]);
    run_in(folder.path(), "replay manifest .").succeeds();
    run_in(folder.path(), "replay manifest --check .").succeeds();
    let read = || json(&std::fs::read_to_string(folder.path().join(MANIFEST_FILE)).unwrap());
    let list = read();
    let (a, b) = (&list["files"][0], &list["files"][1]);
    assert_eq!(
        a["command"]
            .as_str()
            .unwrap()
            .split_whitespace()
            .skip(1)
            .collect::<Vec<_>>(),
        record.split_whitespace().collect::<Vec<_>>()
    );
    assert_eq!(
        (&b["command"], &b["policy"]),
        (&value!(null), &value!("random"))
    );
    assert_eq!(b["seeds"], value!({"first": 5, "last": 5, "count": 1}));
    assert_eq!(b["tasks"], value!(["task2"]));
    assert_eq!(a["scores"].as_object().unwrap().len(), 4);
    // Another file under the same name was not made by that command.
    std::fs::rename(folder.path().join("b.jsonl"), folder.path().join("a.jsonl")).unwrap();
    run_in(folder.path(), "replay manifest .").succeeds();
    let list = read();
    assert_eq!(list["files"].as_array().unwrap().len(), 1);
    assert_eq!(list["files"][0]["command"], value!(null));
}

#[test]
fn manifest_refuses_replay_with_mixed_streams() {
    let folder = tempfile::tempdir().unwrap();
    for streams in ["reference", "independent"] {
        let line =
            format!("record --policy random --seeds 0..1 --streams {streams} --out {streams}");
        run_in(folder.path(), &line).succeeds();
    }
    let text = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
    std::fs::write(
        folder.path().join("a.jsonl"),
        text("reference") + &text("independent"),
    )
    .unwrap();
    run_in(folder.path(), "replay verify a.jsonl").succeeds();
    run_in(folder.path(), "replay manifest .").fails(&["a.jsonl", "both stream modes"]);
}

#[test]
fn repository_replays_verify_and_match_manifest() {
    let folder = repository("replays");
    let listed = Manifest::load(&folder.join(MANIFEST_FILE)).unwrap();
    let found = Manifest::from_folder(&folder, &listed).unwrap();
    for (listed, found) in listed.files.iter().zip(&found.files) {
        assert_eq!(
            listed, found,
            "run `cargo run -p sentinel-trainer -- replay manifest replays`"
        );
        assert!(found.fits(), "{found:?}");
    }
    assert_eq!(listed, found);
}
