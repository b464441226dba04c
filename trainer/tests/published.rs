//! The table of results in the README, measured again by the commands that stand below it.
//!
//! Takes minutes: `cargo test --release -p sentinel-trainer --test published -- --ignored`, or
//! `cargo xtask test --full`.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

/// Returns the section "Results" of the README.
fn section() -> String {
    let readme = Path::new(env!("CARGO_MANIFEST_DIR")).join("../README.md");
    let text = std::fs::read_to_string(readme).expect("the README");
    let (_, after) = text
        .split_once("\n## Results\n")
        .expect("a section Results");
    let (section, _) = after.split_once("\n## ").expect("another section");
    section.to_owned()
}

/// Returns the scores of each row of the table: random, heuristic, planner, trained, oracle; `None` for
/// a dash.
fn rows(section: &str) -> Vec<Vec<Option<f64>>> {
    let lines = section.lines().filter(|line| line.starts_with("| "));
    let cells = |line: &str| {
        let cells = line.trim_matches('|').split('|').skip(1);
        cells
            .map(|cell| cell.trim().trim_matches('*').parse().ok())
            .collect()
    };
    lines.skip(1).map(cells).collect()
}

/// Returns the commands as lists of words.
fn commands(section: &str) -> Vec<Vec<String>> {
    let (_, block) = section.split_once("```sh\n").expect("commands");
    let (block, _) = block.split_once("```").expect("an end of the commands");
    let joined = block.replace("\\\n", " ");
    let words = |line: &str| line.split_whitespace().map(str::to_owned).collect();
    joined.lines().map(words).collect()
}

/// Runs a command from the root of the repository; returns the mean score of each policy over all
/// tasks.
fn scores(command: &[String]) -> BTreeMap<String, f64> {
    assert_eq!(command[0], "sentinel");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let output = Command::new(env!("CARGO_BIN_EXE_sentinel"))
        .args(&command[1..])
        .current_dir(root)
        .output()
        .expect("the command starts");
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {errors}");
    let mut found = BTreeMap::new();
    for line in text.lines() {
        if let [policy, "all", _, score, ..] = line.split_whitespace().collect::<Vec<_>>()[..] {
            found.insert(policy.to_owned(), score.parse().expect("a score"));
        }
    }
    found
}

#[test]
fn readme_has_one_row_per_command() {
    let section = section();
    let (rows, commands) = (rows(&section), commands(&section));
    assert_eq!((rows.len(), commands.len()), (4, 4));
    assert!(rows.iter().all(|row| row.len() == 5), "{rows:?}");
}

#[test]
#[ignore = "plays some 110 000 episodes"]
fn readme_scores_match_its_commands() {
    let section = section();
    for (row, command) in rows(&section).into_iter().zip(commands(&section)) {
        let scores = scores(&command);
        let policies = command.iter().position(|word| word == "--policies");
        let policies = &command[policies.expect("policies") + 1];
        let mut order: Vec<&str> = policies.split(',').collect();
        let last = order.len() - 1;
        // The table has the oracle last, the command names the trained policy last.
        order.swap(last - 1, last);
        let expected: Vec<f64> = row.into_iter().flatten().collect();
        assert_eq!(expected.len(), order.len(), "{policies}");
        for (policy, expected) in order.into_iter().zip(expected) {
            let score = scores[policy];
            assert!(
                (score - expected).abs() < 6e-4,
                "{policy}: {score}, but the README says {expected}"
            );
        }
    }
}
