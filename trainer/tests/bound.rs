//! Tests of `sentinel bound`: the comparison of an evaluation with bounds, and evaluations that are
//! refused. The bounds themselves are tested in `policy/src/trust/bound/`.
#![allow(
    clippy::unwrap_used,
    reason = "a test stops at the first thing that is not there"
)]

use std::path::Path;

use sentinel_env::trust::Scenario;
use sentinel_play::bound::{BoundConfig, Plan, ScenarioBound, format_table};

use crate::common;
use common::{json, run_in};

fn config(folder: &Path, rules: &str) -> BoundConfig {
    BoundConfig {
        rules: rules.to_owned(),
        task: "task1,task3".to_owned(),
        eval: Some(folder.join("eval.json")),
        json: false,
        out: None,
    }
}

fn play(folder: &Path, options: &str) {
    let line = format!("eval --seeds 20000..20012 --task all --out eval.json {options}");
    run_in(folder, &line).succeeds();
}

#[test]
fn policies_are_compared_with_the_bounds_of_their_scenarios() {
    let folder = tempfile::tempdir().unwrap();
    play(
        folder.path(),
        "--rules hardened --streams independent --policies heuristic,self_solve",
    );
    let plan = Plan::new(&config(folder.path(), "hardened")).unwrap();
    // Made-up bounds that differ from scenario to scenario.
    let made_up = |scenario: &Scenario| 0.9 + f64::from(scenario.variant) / 1000.0;
    let scenarios = Scenario::all().map(|s| ScenarioBound::new(&s, made_up(&s)));
    let bounds = plan.compare(scenarios.collect());
    assert_eq!(bounds.rules, "hardened");
    assert_eq!(bounds.scenarios.len(), 120);
    let names = bounds.bounds.iter().map(|row| row.task.as_str());
    assert_eq!(names.collect::<Vec<_>>(), ["task1", "task3", "all"]);
    for row in &bounds.bounds {
        assert!((row.mean - 0.9195).abs() < 1e-12, "{row:?}");
        assert!((row.highest - row.lowest - 0.039).abs() < 1e-12, "{row:?}");
    }
    let names = bounds.policies.iter().map(|row| {
        let (policy, task) = (row.policy.as_str(), row.task.as_str());
        (policy, task, row.seeds)
    });
    let expected = ["heuristic", "self_solve"].map(|policy| {
        [("task1", 12), ("task3", 12), ("all", 12)].map(|(task, count)| (policy, task, count))
    });
    assert_eq!(names.collect::<Vec<_>>(), expected.concat());
    // Solving alone scores the same in every episode of task1, so that the gap varies with the bound.
    let alone = &bounds.policies[3];
    assert!((alone.score - 0.5033).abs() < 1e-9, "{alone:?}");
    let above = alone.gap.mean + alone.score;
    assert!(
        (0.9..0.939).contains(&above) && alone.gap.se > 0.0,
        "{alone:?}"
    );
    let all = &bounds.policies[5];
    let mean = (alone.gap.mean + bounds.policies[4].gap.mean) / 2.0;
    assert!((all.gap.mean - mean).abs() < 1e-12, "{all:?}");
    // One seed has one scenario in all tasks, so that they are not independent: their mean varies as each.
    assert!((all.gap.se - alone.gap.se).abs() < 1e-4, "{all:?}");
    assert!(bounds.policies.iter().all(|row| !row.is_privileged));
    let table = format_table(&bounds);
    assert!(table.contains("under the hardened rules"), "{table}");
    assert!(
        table.contains("self_solve  task1      12  0.5033"),
        "{table}"
    );
    let read = json(&bounds.to_json().unwrap());
    assert_eq!(read["scenarios"][0]["scenario"], "SCN-TASK1-001");
}

#[test]
fn evaluations_that_bounds_do_not_hold_for_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path();
    let refused = |rules: &str, words: &[&str]| {
        let line = format!("bound --task task1 --rules {rules} --eval eval.json");
        run_in(place, &line).fails(words);
    };
    refused("hardened", &["cannot read", "eval.json"]);
    std::fs::write(place.join("eval.json"), "[1, 2").unwrap();
    refused("hardened", &["eval.json", "not an evaluation"]);
    std::fs::remove_file(place.join("eval.json")).unwrap();
    play(place, "--streams independent --policies heuristic");
    refused(
        "hardened",
        &["its rules are reference", "--rules reference"],
    );
    play(place, "--streams reference --policies heuristic");
    refused("reference", &["reveals a slot", "--streams independent"]);
    play(
        place,
        "--streams independent --policies heuristic --adaptive",
    );
    refused("reference", &["difficulty"]);
    let other = "--world cluster --streams independent --policies random";
    play(place, other);
    refused("reference", &["its world is cluster"]);
    run_in(place, "bound --rules nonsense").fails(&["nonsense"]);
    run_in(place, "bound --task task9").fails(&["task9"]);
    std::fs::write(place.join("mine.json"), "{\"a\": 1}").unwrap();
    run_in(place, "bound --out mine.json").fails(&["mine.json", "a table of bounds"]);
}
