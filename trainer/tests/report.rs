//! `sentinel report` as a user runs it: evaluations and a run become a folder, faults are answered.
#![allow(
    clippy::unwrap_used,
    reason = "a test stops at the first thing that is not there"
)]

use crate::common;

use common::{json, run_in};

#[test]
fn report_command_writes_report_of_evaluation() {
    let folder = tempfile::tempdir().unwrap();
    let run = |line: &str| run_in(folder.path(), line);
    run("eval --world polyguard --split train --difficulty easy --seeds 0..2 --policies random,rules_only --out e.json")
        .succeeds();
    run("report e.json --out r --title Trial").succeeds();
    let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
    let (results, eval) = (json(&read("r/results.json")), json(&read("e.json")));
    let policies = results["evaluations"][0]["policies"].as_array().unwrap();
    for policy in policies {
        let name = policy["policy"].as_str().unwrap();
        assert_eq!(policy["score"]["mean"], eval["summary"][name]["avg_score"]);
    }
    assert_eq!(
        results["evaluations"][0]["diagnostics"],
        eval["sentinel"]["diagnostics"]
    );
    assert_eq!(
        results["provenance"]["command"],
        "sentinel report e.json --out r --title Trial"
    );
    assert!(read("r/index.html").contains("<h1>Trial</h1>"));
    // Rules and scripts of the judgments are those of the evaluation.
    let overfit = json(&read("r/anti_hacking_overfit_report.json"));
    assert_eq!(overfit["subjects"][1]["label"], "rules_only");
    assert_eq!(overfit["subjects"][1]["exploits"]["episodes"], 16);
    let output = run("report e.json --out r");
    assert!(output.succeeds().contains("missing in train_holdout_gap"));
}

#[test]
fn report_command_refuses_invalid_inputs() {
    let folder = tempfile::tempdir().unwrap();
    let run = |line: &str| run_in(folder.path(), line);
    run("report nowhere --out r").fails(&["there is no nowhere", "name a run folder"]);
    run("report . --out r").fails(&["holds no run"]);
    std::fs::write(folder.path().join("e.json"), "{\"summary\": {").unwrap();
    run("report e.json --out r").fails(&["e.json line 1", "truncated"]);
    assert!(!folder.path().join("r").exists());
}
