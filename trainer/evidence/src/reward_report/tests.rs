//! Tests of reports: every world, every kind of player, and what cannot be reported.

use std::path::{Path, PathBuf};

use sentinel_env::cluster::ClusterEnv;
use sentinel_env::polyguard::PolyguardEnv;
use sentinel_env::trust::TrustEnv;
use sentinel_env::{TaskName as _, World, WorldName};
use serde_json::Value;

use super::*;

type Tested = Result<(), Box<dyn std::error::Error>>;

/// Returns the options for a policy in a world.
fn config<W: World>(policy: &str, task: &str, out: &Path) -> RewardReportConfig {
    let world = WorldName::parse(W::NAME).unwrap_or_default();
    RewardReportConfig {
        policy: Some(policy.to_owned()),
        model: None,
        adapter: None,
        replay: None,
        out: out.to_owned(),
        episode: EpisodeArgs {
            task: Some(task.to_owned()),
            ..EpisodeArgs::new(world)
        },
    }
}

/// Writes the reports of a configuration and reads the first.
fn report<W: RewardReportable>(
    config: &RewardReportConfig,
) -> Result<Value, Box<dyn std::error::Error>> {
    let source = config.source::<W>()?;
    let written = write_reports::<W>(config, source.as_ref(), &|| {})?;
    let first = written.first().ok_or("no report")?;
    Ok(serde_json::from_slice(&std::fs::read(&first.path)?)?)
}

fn replays(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../replays")
        .join(name)
}

fn events(report: &Value) -> &[Value] {
    report["events"].as_array().map_or(&[], Vec::as_slice)
}

#[test]
fn heuristic_report_matches_published_score() -> Tested {
    let folder = tempfile::tempdir()?;
    let made = report::<TrustEnv>(&config::<TrustEnv>("heuristic", "task3", folder.path()))?;
    // The committed report of the reference: task3, seed 42.
    assert_eq!(
        (made["score"].as_f64(), events(&made).len()),
        (Some(0.6759), 26)
    );
    assert!(
        folder
            .path()
            .join("reward_report_task3_seed42.json")
            .is_file()
    );
    let text = std::fs::read_to_string(folder.path().join("reward_report_task3_seed42.json"))?;
    let places: Vec<_> = ["episode_id", "task_type", "events", "formula", "sentinel"]
        .iter()
        .map(|key| text.find(&format!("\n  \"{key}\":")))
        .collect();
    assert!(
        places.is_sorted() && places.iter().all(Option::is_some),
        "{places:?}"
    );
    Ok(())
}

/// Checks that the object `sentinel` says what the events say.
fn check_consistent(report: &Value) {
    let origin: ReportOrigin =
        serde_json::from_value(report["sentinel"].clone()).expect("an object `sentinel`");
    let rewards: Vec<f64> = (origin.steps.iter())
        .flat_map(|step| std::iter::once(step.reward).chain(step.terminal_reward))
        .collect();
    let stated: Vec<f64> = events(report)
        .iter()
        .filter_map(|event| event["reward"].as_f64())
        .collect();
    let near = |(a, b): (&f64, &f64)| (a - b).abs() < 1e-4;
    assert_eq!(rewards.len(), stated.len());
    assert!(
        rewards.iter().zip(&stated).all(near),
        "{rewards:?} {stated:?}"
    );
    let lost: f64 = origin.losses.iter().map(|loss| loss.reward_lost).sum();
    let expected: f64 = rewards.iter().map(|reward| 1.0 - reward).sum();
    assert!((lost - expected).abs() < 2e-3);
    let counted: usize = origin.losses.iter().map(|loss| loss.events).sum();
    assert_eq!(counted, rewards.len());
    assert!(origin.hidden_truth.is_object() && origin.steps[0].hidden_truth.is_object());
    assert!(
        origin
            .steps
            .iter()
            .all(|step| !step.reason.is_empty() && step.shown.is_object())
    );
    assert!(origin.steps.iter().all(|step| !step.components.is_empty()));
}

#[test]
fn scripted_policies_of_all_worlds_have_consistent_reports() -> Tested {
    fn all<W: RewardReportable>() -> Tested {
        let folder = tempfile::tempdir()?;
        let all =
            EpisodeArgs::new(WorldName::parse(W::NAME).unwrap_or_default()).tasks_or::<W>(None)?;
        let task = all[0].name();
        for policy in <W::PolicyName as sentinel_env::Named>::NAMES {
            // Those that look ahead take seconds.
            if ["lookahead", "oracle", "bayes", "planner"].contains(policy) {
                continue;
            }
            check_consistent(&report::<W>(&config::<W>(policy, task, folder.path()))?);
        }
        Ok(())
    }
    all::<TrustEnv>()?;
    all::<ClusterEnv>()?;
    all::<PolyguardEnv>()
}

#[test]
fn replay_report_matches_recorded_policy_report() -> Tested {
    let folder = tempfile::tempdir()?;
    let mut asked = config::<TrustEnv>("heuristic", "task3", folder.path());
    asked.episode.seeds = "0".parse().ok();
    let scripted = report::<TrustEnv>(&asked)?;
    asked.policy = None;
    asked.replay = Some(replays("heuristic-reference.jsonl"));
    let replayed = report::<TrustEnv>(&asked)?;
    assert_eq!(events(&scripted), events(&replayed));
    assert_eq!(replayed["sentinel"]["policy"], "trained");
    assert_eq!(replayed["sentinel"]["fallbacks"], Value::Array(Vec::new()));
    // A seed that the replay lacks is played by the fallback, which is marked.
    asked.episode.seeds = "900".parse().ok();
    let missed = report::<TrustEnv>(&asked)?;
    assert_eq!(missed["sentinel"]["fallbacks"][0]["stage"], "reward-report");
    assert_eq!(missed["sentinel"]["steps"][0]["player"]["fallback"], true);
    Ok(())
}

#[test]
fn model_report_has_probabilities_and_inputs() -> Tested {
    let folder = tempfile::tempdir()?;
    let mut asked = config::<TrustEnv>("heuristic", "task1", folder.path());
    asked.policy = None;
    asked.model = Some(replays("grpo"));
    let made = report::<TrustEnv>(&asked)?;
    check_consistent(&made);
    assert!(made["sentinel"]["steps"][0]["player"]["probabilities"].is_array());
    assert!(
        made["sentinel"]["inputs"]
            .as_object()
            .is_some_and(|inputs| !inputs.is_empty())
    );
    Ok(())
}

#[test]
fn invalid_reward_report_requests_are_refused() -> Tested {
    let folder = tempfile::tempdir()?;
    let refused = |config: &RewardReportConfig| {
        let source = config.source::<TrustEnv>();
        let written = source.and_then(|from| write_reports(config, from.as_ref(), &|| {}));
        written
            .map(|_| ())
            .map_err(|error| error.to_string())
            .expect_err("refused")
    };
    let mut asked = config::<TrustEnv>("greedy", "task3", folder.path());
    assert!(refused(&asked).contains("greedy"));
    asked.policy = Some("trained".to_owned());
    assert!(refused(&asked).contains("--model or --replay"));
    asked.policy = None;
    asked.model = Some(folder.path().join("none"));
    assert!(refused(&asked).contains("none"));
    let asked = config::<TrustEnv>("heuristic", "task3", folder.path());
    let path = folder.path().join("reward_report_task3_seed42.json");
    std::fs::write(&path, "{\"mine\": 1}")?;
    assert!(refused(&asked).contains("is not a reward report"));
    assert_eq!(std::fs::read_to_string(path)?, "{\"mine\": 1}");
    Ok(())
}
