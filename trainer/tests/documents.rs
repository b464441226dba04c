//! Defaults of compact training in the specification, compared with the code.
#![allow(
    clippy::unwrap_used,
    reason = "a test stops at the first thing that is not there"
)]

use std::path::Path;

use sentinel_compact::config::{Method, TrainConfig};
use sentinel_env::cluster::ClusterEnv;
use sentinel_env::polyguard::PolyguardEnv;
use sentinel_env::trust::TrustEnv;
use serde_json::Value;

const EVALUATION: &str = include_str!("../../docs/spec/evaluation.md");

/// The methods, in the order of the values in a cell.
const METHODS: [Method; 3] = [Method::Grpo, Method::Imitation, Method::ExpertIteration];

/// Returns the defaults of the three worlds, in the order of the columns.
fn presets(method: Method, quick: bool) -> [TrainConfig; 3] {
    [
        TrainConfig::preset::<TrustEnv>(method, quick),
        TrainConfig::preset::<ClusterEnv>(method, quick),
        TrainConfig::preset::<PolyguardEnv>(method, quick),
    ]
}

/// Returns the cells of each row of the table that begins with `header`, without its rule.
fn table(header: &str) -> Vec<Vec<&'static str>> {
    let start = EVALUATION.find(header).unwrap();
    let lines = EVALUATION[start..]
        .lines()
        .take_while(|line| line.starts_with('|'));
    let inner = lines.filter_map(|line| line.strip_prefix('|')?.strip_suffix('|'));
    let cells = inner.map(|line| line.split('|').map(str::trim).collect());
    cells.skip(2).collect()
}

/// Returns the words between backticks.
fn quoted(text: &str) -> Vec<&str> {
    text.split('`').skip(1).step_by(2).collect()
}

/// Fails unless `text`, as the document writes it, is the value of an option.
fn check(config: &TrainConfig, option: &str, text: &str) {
    let fields = serde_json::to_value(config).unwrap();
    let place = format!("{option} of {} ({:?})", config.world, config.method);
    // An empty text is left out of the file.
    let value = fields.get(option).cloned().unwrap_or_else(|| "".into());
    match value {
        Value::String(name) => assert_eq!(name, text, "{place}"),
        number => {
            let number = number
                .as_f64()
                .unwrap_or_else(|| panic!("{place} is no number"));
            let written: f64 = text.parse().unwrap_or_else(|_| panic!("{place}: {text:?}"));
            // Some options are f32.
            assert!(
                (number - written).abs() <= written.abs() * 1e-6,
                "{place}: {number}, not {text}"
            );
        }
    }
}

#[test]
fn defaults_of_compact_training_match_specification() {
    let config = TrainConfig::default();
    let mut checked = 0;
    for row in table("| option | value | | option | value |") {
        for cells in [&row[..2], &row[3..]] {
            let options = quoted(cells[0]);
            for (option, value) in options.iter().zip(cells[1].split(", ")) {
                let value = value.trim_matches('`').split(" (").next().unwrap();
                check(&config, option, value);
                checked += 1;
            }
        }
    }
    assert_eq!(checked, 31, "options in the table");
}

#[test]
fn defaults_of_worlds_and_methods_match_specification() {
    let rows = table("| option | trust | cluster | polyguard |");
    assert_eq!(rows.len(), 19, "rows of the table");
    for row in rows {
        let mut options = quoted(row[0]);
        let quick = options[0] == "--quick";
        if quick {
            options.remove(0);
        }
        for (place, method) in METHODS.into_iter().enumerate() {
            for (config, cell) in presets(method, quick).iter().zip(&row[1..]) {
                let values: Vec<&str> = cell.split(" / ").collect();
                let value = match values[..] {
                    [one] => one,
                    [_, _, _] => values[place],
                    _ => panic!("{cell:?}: one value, or one for each method"),
                };
                for option in &options {
                    check(config, option, value);
                }
            }
        }
    }
}

#[test]
fn seeds_of_compact_training_match_specification() {
    for quick in [false, true] {
        for method in METHODS {
            let presets = presets(method, quick);
            let test = presets.each_ref().map(|config| config.test_seeds);
            let validation = presets.each_ref().map(|config| config.validation_seeds);
            for (purpose, [trust, cluster, polyguard]) in
                [("test", test), ("validation", validation)]
            {
                let row = if quick {
                    format!("| {trust}, {cluster}, {polyguard} | the same with `--quick` |")
                } else {
                    format!(
                        "| {trust} | {purpose} seeds of compact training in trust; {cluster} cluster, {polyguard} polyguard |"
                    )
                };
                assert!(EVALUATION.contains(&row), "{row}");
            }
        }
    }
}

/// Returns the text of all Rust files below a folder.
fn sources(folder: &Path) -> String {
    let mut all = String::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            all += &sources(&path);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            all += &std::fs::read_to_string(path).unwrap();
        }
    }
    all
}

/// Every form of another tool's file has a test.
#[test]
fn forms_of_other_tools_name_tests_that_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let crates = ["trainer", "policy", "web/engine"];
    let code: String = crates
        .iter()
        .map(|name| sources(&root.join(name)))
        .collect();
    let page = std::fs::read_to_string(root.join("docs/reference/foreign-files.md")).unwrap();
    let rows = page
        .lines()
        .filter_map(|line| line.strip_prefix('|')?.strip_suffix('|'));
    let tests = rows
        .filter_map(|row| row.split('|').nth(2))
        .flat_map(quoted);
    let tests: Vec<&str> = tests.collect();
    assert!(tests.len() > 30, "{tests:?}");
    for test in tests {
        let is_test = code.contains(&format!("#[test]\nfn {test}()"))
            || code.contains(&format!("#[test]\n    fn {test}()"));
        assert!(is_test, "there is no test {test}");
    }
}
