//! Tests of `sentinel bound`: the comparison of an evaluation with bounds, and evaluations that are
//! refused. The bounds themselves are tested in `policy/src/trust/bound/`, `policy/src/cluster/bound/` and
//! `policy/src/polyguard/perfect_information.rs`.
#![allow(
    clippy::unwrap_used,
    reason = "a test stops at the first thing that is not there"
)]

use std::path::Path;

use sentinel_env::WorldName;
use sentinel_env::trust::{Scenario, TrustEnv};
use sentinel_play::bound::{BoundConfig, CaseBound, Plan, format_table};

use crate::common;
use common::{json, run_in};

fn config(folder: &Path, rules: &str) -> BoundConfig {
    BoundConfig {
        world: WorldName::Trust,
        rules: rules.to_owned(),
        task: Some("task1,task3".to_owned()),
        eval: Some(folder.join("eval.json")),
        search_steps: 1,
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
    let plan = Plan::<TrustEnv>::new(&config(folder.path(), "hardened")).unwrap();
    assert_eq!(plan.computations().unwrap().len(), 6);
    // Made-up bounds that differ from scenario to scenario.
    let made_up = |scenario: Scenario| CaseBound {
        case: scenario.id(),
        task: scenario.task.name(),
        bound: 0.9 + f64::from(scenario.variant) / 1000.0,
        is_reached: None,
    };
    let played = |scenario: &Scenario| plan.tasks.contains(&scenario.task);
    let bounds = plan.compare(Scenario::all().filter(played).map(made_up).collect());
    assert_eq!(bounds.rules, "hardened");
    assert_eq!(bounds.cases.len(), 80);
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
    let table = format_table::<TrustEnv>(&bounds);
    assert!(table.contains("under the hardened rules"), "{table}");
    assert!(
        table.contains("self_solve  task1      12  0.5033"),
        "{table}"
    );
    let read = json(&bounds.to_json().unwrap());
    assert_eq!(read["cases"][0]["case"], "SCN-TASK1-001");
}

#[test]
fn bounds_of_polyguard_are_those_of_the_episodes() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path();
    let line = "eval --world polyguard --rules hardened --task DDI-easy,DDI-medium-holdout --seeds 20000..20003 \
                --policies rules_only,oracle --out eval.json";
    run_in(place, line).succeeds();
    let line = "bound --world polyguard --rules hardened --eval eval.json --out bound.json";
    let run = run_in(place, line);
    let printed = run.succeeds();
    for words in [
        "even with everything known",
        "In 6 of 6 episodes",
        "(sees hidden state)",
    ] {
        assert!(printed.contains(words), "{printed}");
    }
    let found = json(&std::fs::read_to_string(place.join("bound.json")).unwrap());
    assert_eq!(found["research_only"], true);
    assert_eq!(found["cases"].as_array().unwrap().len(), 6);
    for row in found["policies"].as_array().unwrap() {
        assert!(row["gap"]["mean"].as_f64().unwrap() >= 0.0, "{row}");
    }
    // With one step bounds are looser, but for episodes with one good answer.
    let line = "bound --world polyguard --rules hardened --eval eval.json --search-steps 1 --json";
    let loose = json(run_in(place, line).succeeds());
    let cases = |found: &serde_json::Value| found["cases"].as_array().unwrap().clone();
    let mut looser = 0;
    for (loose, tight) in std::iter::zip(cases(&loose), cases(&found)) {
        assert_eq!(loose["case"], tight["case"]);
        let bounds = [&loose, &tight].map(|case| case["bound"].as_f64().unwrap());
        assert!(bounds[0] >= bounds[1], "{loose} {tight}");
        looser += usize::from(loose["is_reached"] == false && bounds[0] > bounds[1]);
    }
    assert!(looser > 0, "{loose}");
    run_in(place, "bound --world polyguard").fails(&["--eval FILE"]);
}

#[test]
fn bounds_of_cluster_are_those_of_the_episodes() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path();
    let line = "eval --world cluster --rules hardened --streams independent --task all --seeds 20000..20003 \
                --policies planner,oracle --out eval.json";
    run_in(place, line).succeeds();
    let line = "bound --world cluster --rules hardened --eval eval.json --out bound.json";
    let run = run_in(place, line);
    let printed = run.succeeds();
    for words in ["even with everything known", "(sees hidden state)"] {
        assert!(printed.contains(words), "{printed}");
    }
    let found = json(&std::fs::read_to_string(place.join("bound.json")).unwrap());
    assert_eq!(found["cases"].as_array().unwrap().len(), 9);
    for row in found["policies"].as_array().unwrap() {
        assert!(row["gap"]["mean"].as_f64().unwrap() >= 0.0, "{row}");
    }
    run_in(place, "bound --world cluster").fails(&["world cluster", "--eval FILE"]);
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
