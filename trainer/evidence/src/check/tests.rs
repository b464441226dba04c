//! Tests of the success criteria on a folder that meets them, and on broken ones.

use sentinel_env::trust::Episode;
use sentinel_policy::Scripted as _;
use sentinel_policy::replay::{record_episode, to_lines};

use super::*;
use sentinel_env::{EpisodeSpec, World};

type Trust = Episode;

/// Writes a replay of the heuristic on the first seeds of task3.
fn replay(path: &Path, seeds: u64) {
    let task = <Trust as World>::Task::ALL[2];
    assert_eq!(task.name(), "task3");
    let policy = <<Trust as sentinel_policy::Playable>::PolicyName as sentinel_env::Named>::parse(
        "heuristic",
    )
    .expect("a policy");
    let mut rows = Vec::new();
    for seed in 0..seeds {
        let setup = EpisodeSpec::<Trust>::new(task, seed).setup();
        let mut player = policy.start(&setup);
        rows.extend(record_episode(&setup, &mut player, "model").1);
    }
    std::fs::write(path, to_lines(&rows).expect("lines")).expect("a file");
}

/// Writes a folder that meets all criteria.
fn results() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path();
    replay(&root.join(REPLAY), EPISODES_DEFAULT);
    std::fs::create_dir(root.join(CHARTS)).expect("a folder");
    let mut provenance = Provenance::new();
    provenance
        .add_file("the replay", &root.join(REPLAY))
        .expect("a digest");
    for name in plots::CHART_NAMES {
        let path = root.join(CHARTS).join(name);
        std::fs::write(path.with_extension("png"), png::tests::picture()).expect("a file");
        let data = serde_json::json!({"name": name, "provenance": provenance});
        json_file::write_json(&path.with_extension("json"), &data).expect("a file");
    }
    folder
}

fn found(folder: &Path) -> CheckReport {
    let options = CheckOptions {
        folder: folder.to_owned(),
        inputs: Vec::new(),
        episodes: EPISODES_DEFAULT,
    };
    check_folder(&options).expect("a report")
}

/// Returns the names and evidence of the criteria that are not met.
#[track_caller]
fn failed(folder: &Path) -> Vec<String> {
    let report = found(folder);
    let failed = report.criteria.iter().filter(|one| !one.passed);
    let failed: Vec<String> = failed
        .map(|one| format!("{}: {}", one.name, one.evidence))
        .collect();
    assert_eq!(report.passed, failed.is_empty(), "{failed:?}");
    failed
}

#[test]
fn complete_results_pass_all_criteria() {
    let folder = results();
    let report = found(folder.path());
    assert!(report.passed, "{}", report.table());
    assert_eq!(report.criteria.len(), 14);
    let last = &report.criteria[13].evidence;
    assert!(
        last.starts_with("task3, seeds 0..5, independent streams: random 0."),
        "{last}"
    );
    assert!(
        last.contains("trained 0.") && last.contains("recorded actions"),
        "{last}"
    );
    assert!(report.table().ends_with("14 of 14 criteria are met\n"));
}

#[test]
fn empty_folder_fails_all_criteria() {
    let folder = tempfile::tempdir().expect("a folder");
    let failed = failed(folder.path());
    assert_eq!(failed.len(), 14, "{failed:?}");
    assert!(failed[0].contains("`sentinel record`") && failed[1].contains("`sentinel plots`"));
    let nowhere = CheckOptions {
        folder: folder.path().join("nowhere"),
        inputs: Vec::new(),
        episodes: EPISODES_DEFAULT,
    };
    assert!(check_folder(&nowhere).is_err_and(|e| e.to_string().contains("no such folder")));
}

#[test]
fn broken_replay_fails_check() {
    let folder = results();
    let path = folder.path().join(REPLAY);
    let text = std::fs::read_to_string(&path).expect("a replay");
    // The charts name the digest of the whole replay, so they fail as well.
    std::fs::write(&path, &text[..text.len() - 20]).expect("a file");
    let failures = failed(folder.path());
    assert_eq!(failures.len(), 14, "{failures:?}");
    assert!(
        failures[0].contains("it does not fit: 1 bad lines"),
        "{failures:?}"
    );
    assert!(failures[13].contains("steps have no row"), "{failures:?}");
    let scripted = text.replace("\"model\"", "\"heuristic_fallback\"");
    std::fs::write(&path, scripted).expect("a file");
    assert!(failed(folder.path())[0].contains("fallback (record)"));
    replay(&path, 2);
    let failures = failed(folder.path());
    assert!(!failures[0].starts_with("replay"), "{failures:?}");
    assert!(
        failures
            .iter()
            .any(|one| one.starts_with("evaluation") && one.contains("no row"))
    );
}

#[test]
fn truncated_or_foreign_chart_fails_check() {
    let folder = results();
    let charts = folder.path().join(CHARTS);
    let picture = png::tests::picture();
    std::fs::write(charts.join("ablation.png"), &picture[..40]).expect("a file");
    std::fs::write(charts.join("task_radar.json"), "{\"provenance\": {").expect("a file");
    let mut provenance = Provenance::new();
    let empty = serde_json::json!({"provenance": provenance});
    json_file::write_json(&charts.join("trust_evolution.json"), &empty).expect("a file");
    provenance.inputs.insert("state".to_owned(), "0".repeat(64));
    let other = serde_json::json!({"provenance": provenance});
    json_file::write_json(&charts.join("grpo_reward_curve.json"), &other).expect("a file");
    let failed = failed(folder.path());
    let expected = [
        (
            "grpo_reward_curve",
            "no file has the digest of state (000000000000)",
        ),
        ("trust_evolution", "names no input"),
        ("task_radar", "the file is cut off"),
        ("ablation", "is not a picture: it is cut off"),
    ];
    assert_eq!(failed.len(), expected.len(), "{failed:?}");
    for (found, (name, reason)) in failed.iter().zip(expected) {
        assert!(found.starts_with(name) && found.contains(reason), "{found}");
    }
}

#[test]
fn artifact_index_must_match_folder() {
    let folder = results();
    let index = ArtifactIndex::from_folder(folder.path()).expect("an index");
    json_file::write_json(&folder.path().join(INDEX_FILE), &index).expect("a file");
    assert!(failed(folder.path()).is_empty());
    std::fs::write(folder.path().join("new.txt"), "x").expect("a file");
    let failed = failed(folder.path());
    assert!(
        failed[0].starts_with("artifact_index.json: new.txt is not listed"),
        "{failed:?}"
    );
}
