//! Reports and charts as a user makes them: `reward-report`, `cluster-health` and `plots`.
#![allow(
    clippy::unwrap_used,
    reason = "a test stops at the first thing that is not there"
)]

use crate::common;

use common::sentinel_in;

#[test]
fn plots_draws_charts_from_command_outputs() {
    let folder = tempfile::tempdir().unwrap();
    let run = |line: &str| sentinel_in(folder.path(), line.split_whitespace());
    let report = run("reward-report --policy heuristic");
    assert_eq!(
        report.succeeds(),
        "outputs/reward_report_task3_seed42.json: 25 steps, score 0.6759\n"
    );
    let health = run("cluster-health --policies blind,trust --seeds 0..2 --task task1");
    assert!(
        health
            .succeeds()
            .contains("wrote outputs/cluster_health_history.json")
    );
    run("eval --policies random,heuristic --episodes 2 --out outputs/eval_post.json").succeeds();
    let only = "baseline_grouped_bars,trust_evolution,cluster_health_timeline,failure_fishbone_map";
    let drawn = run(&format!("plots --only {only}"));
    let paths: Vec<&str> = drawn.succeeds().lines().collect();
    assert_eq!(paths.len(), 4);
    for path in paths {
        let svg = folder.path().join(path);
        assert!(svg.is_file(), "{path}");
        assert!(svg.with_extension("png").is_file() && svg.with_extension("json").is_file());
    }
}

#[test]
fn charts_without_input_are_listed_and_fail() {
    let folder = tempfile::tempdir().unwrap();
    let run = |line: &str| sentinel_in(folder.path(), line.split_whitespace());
    let none = run("plots");
    none.fails(&["12 of 12 charts were not drawn"]);
    assert_eq!(none.code, 1);
    let lines: Vec<&str> = none.stdout.lines().collect();
    assert_eq!(lines.len(), 12);
    for line in lines {
        let named = line.starts_with("not drawn: ") && line.contains("does not exist: make");
        assert!(named, "{line}");
    }
    run("plots --only pie").fails(&["--only", "pie", "baseline_grouped_bars"]);
    run("reward-report --policy nobody").fails(&["nobody", "heuristic"]);
    run("reward-report").fails(&["--policy"]);
    run("reward-report --policy trained").fails(&["--model or --replay"]);
    run("reward-report --policy heuristic --adapter here").fails(&["--adapter", "here", "--model"]);
    run("cluster-health --policies trained").fails(&["policy trained needs --model DIR"]);
    run("cluster-health --task task9").fails(&["task9"]);
}

#[test]
fn cluster_health_does_not_overwrite_other_files() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mine.json");
    std::fs::write(&path, "{}").unwrap();
    let run = sentinel_in(folder.path(), ["cluster-health", "--out", "mine.json"]);
    run.fails(&["mine.json", "is not a history of the cluster's health"]);
    assert_eq!(std::fs::read_to_string(path).unwrap(), "{}");
}
