//! Tests of the charts: the numbers of each are those of its input, and a fault of an input is
//! named.

mod bad_input;
mod training;

use std::path::Path;

use sentinel_base::{EpisodeArgs, SeedRange};
use sentinel_env::WorldName;
use sentinel_env::cluster::ClusterEnv;
use sentinel_env::trust::TrustEnv;
use sentinel_play::eval::{EvalConfig, Evaluated, evaluate};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::*;
use crate::cluster_health;
use crate::cluster_health::ClusterHealthConfig;
use crate::reward_report::{RewardReportConfig, write_reports};

type Tested<T = ()> = Result<T, Box<dyn std::error::Error>>;

/// A folder with the inputs of all charts.
struct Inputs {
    folder: TempDir,
}

fn replays(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../replays")
        .join(name)
}

fn read(path: &Path) -> Tested<Value> {
    Ok(serde_json::from_slice(&std::fs::read(path)?)?)
}

fn write(path: &Path, value: &Value) -> Tested {
    Ok(std::fs::write(path, serde_json::to_string_pretty(value)?)?)
}

/// Writes an evaluation of `policies` on the first seeds.
fn write_eval<W: Evaluated>(
    path: &Path,
    policies: &str,
    model: Option<&str>,
    episodes: u64,
) -> Tested {
    let world = WorldName::parse(W::NAME).unwrap_or_default();
    let config = EvalConfig {
        policies: Some(policies.to_owned()),
        adaptive: false,
        adversary_threshold: None,
        model: model.map(replays),
        replay: None,
        out: None,
        episode: EpisodeArgs {
            task: Some("task1,task3".to_owned()),
            episodes: Some(episodes),
            ..EpisodeArgs::new(world)
        },
    };
    let plan = config.plan::<W>()?;
    let trained = plan.load_trained()?;
    let found = evaluate(&plan, trained.as_ref(), &|| {});
    Ok(std::fs::write(path, found.to_json()?)?)
}

impl Inputs {
    fn new(episodes: u64) -> Tested<Self> {
        let folder = tempfile::tempdir()?;
        let at = |name: &str| folder.path().join(name);
        let policies = "random,heuristic,oracle_lite,trained";
        write_eval::<TrustEnv>(&at("post.json"), policies, Some("grpo"), episodes)?;
        std::fs::create_dir(at("ablation"))?;
        for name in ["ablation/eval_all.json", "ablation/eval_no_history.json"] {
            write_eval::<TrustEnv>(&at(name), "trained", Some("grpo"), episodes)?;
        }
        std::fs::copy(replays("grpo/trainer_state.json"), at("trainer_state.json"))?;
        let report = RewardReportConfig {
            policy: Some("heuristic".to_owned()),
            model: None,
            adapter: None,
            replay: None,
            out: folder.path().to_owned(),
            episode: EpisodeArgs::new(WorldName::Trust),
        };
        write_reports::<TrustEnv>(&report, None, &|| {})?;
        let health = ClusterHealthConfig {
            policies: "random,blind,trust".to_owned(),
            model: None,
            task: "task1".to_owned(),
            seeds: SeedRange::new(0, episodes),
            steps: Some(12),
            rules: "reference".to_owned(),
            streams: sentinel_env::rng::Streams::Reference,
            out: at("health.json"),
        };
        let text = cluster_health::play(&health, &|| {})?.to_json()?;
        std::fs::write(at("health.json"), text)?;
        Ok(Self { folder })
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn config(&self) -> PlotsConfig {
        PlotsConfig {
            pre: None,
            post: self.at("post.json"),
            trainer_state: vec![self.at("trainer_state.json")],
            reward_report_task3: self.at("reward_report_task3_seed42.json"),
            cluster_health: self.at("health.json"),
            ablation: self.at("ablation"),
            analysis: Vec::new(),
            only: None,
            out_dir: self.at("charts"),
        }
    }

    /// Draws a chart and returns its JSON.
    fn drawn(&self, name: &str) -> Tested<Value> {
        let config = PlotsConfig {
            only: Some(name.to_owned()),
            ..self.config()
        };
        let result = draw(&config)?;
        let reasons: Vec<String> = result
            .not_drawn
            .iter()
            .map(|(_, reason)| reason.to_string())
            .collect();
        assert!(reasons.is_empty(), "{reasons:?}");
        read(&result.drawn[0].1.json)
    }

    /// Returns the reason why a chart is not drawn.
    fn refused(&self, config: &PlotsConfig, name: &str) -> Tested<String> {
        let config = PlotsConfig {
            only: Some(name.to_owned()),
            ..config.clone()
        };
        let result = draw(&config)?;
        assert!(result.drawn.is_empty(), "{name} was drawn");
        Ok(result.not_drawn[0].1.to_string())
    }
}

#[track_caller]
fn assert_near(a: &Value, b: &Value) {
    let (Some(x), Some(y)) = (a.as_f64(), b.as_f64()) else {
        panic!("{a} and {b} are not numbers");
    };
    assert!((x - y).abs() < 1e-9, "{x} is not {y}");
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

#[test]
fn all_twelve_charts_are_drawn_from_program_output() -> Tested {
    for episodes in [1, 3] {
        let inputs = Inputs::new(episodes)?;
        let result = draw(&inputs.config())?;
        let reasons: Vec<String> = result
            .not_drawn
            .iter()
            .map(|(_, reason)| reason.to_string())
            .collect();
        assert!(reasons.is_empty(), "{reasons:?}");
        let names: Vec<&str> = result.drawn.iter().map(|(name, _)| *name).collect();
        assert_eq!(names, CHART_NAMES);
        for (_, files) in &result.drawn {
            let svg = std::fs::read_to_string(&files.svg)?;
            assert!(
                svg.contains("<title") && !svg.contains("NaN"),
                "{}",
                files.svg.display()
            );
            assert!(std::fs::metadata(&files.png)?.len() > 1000);
            let inputs = &read(&files.json)?["provenance"]["inputs"];
            assert!(inputs.as_object().is_some_and(|inputs| !inputs.is_empty()));
        }
    }
    Ok(())
}

#[test]
fn evaluation_charts_match_file_values() -> Tested {
    let inputs = Inputs::new(3)?;
    let file = read(&inputs.at("post.json"))?;
    let policies = ["random", "heuristic", "oracle_lite", "trained"];
    let bars = inputs.drawn("baseline_grouped_bars")?;
    let attacks = inputs.drawn("detection_vs_poisoning")?;
    let radar = inputs.drawn("task_radar")?;
    for (i, policy) in policies.iter().enumerate() {
        for (j, task) in ["task1", "task3"].iter().enumerate() {
            let drawn = &bars["plot"]["series"][i]["values"][j];
            assert_near(&drawn["value"], &file["by_task"][task][policy]["avg_score"]);
            assert!(drawn["interval"].is_array());
        }
        let rows: Vec<&Value> = list(&file["episodes"])
            .iter()
            .filter(|row| row["policy"] == *policy)
            .collect();
        for (k, key) in ["adversarial_detections", "adversarial_poisonings"]
            .iter()
            .enumerate()
        {
            let sum: f64 = rows.iter().filter_map(|row| row[key].as_f64()).sum();
            let drawn = &attacks["plot"]["series"][k]["values"][i]["value"];
            assert_near(drawn, &json!(sum / rows.len() as f64));
        }
        let keys = [
            "avg_score",
            "avg_completion_rate",
            "avg_detection_rate",
            "avg_trust_calibration",
        ];
        for (k, key) in keys.iter().enumerate() {
            let drawn = &radar["plot"]["series"][i]["values"][k];
            assert_near(drawn, &file["summary"][policy][key]);
        }
    }
    Ok(())
}

#[test]
fn baseline_delta_chart_matches_file_values() -> Tested {
    let inputs = Inputs::new(3)?;
    let file = read(&inputs.at("post.json"))?;
    let delta = inputs.drawn("baseline_delta_lines")?;
    let score = |policy: &str, seed: u64| {
        let rows = list(&file["episodes"]).iter();
        let rows = rows.filter(|row| row["policy"] == policy && row["seed"] == seed);
        let scores: Vec<f64> = rows.filter_map(|row| row["score"].as_f64()).collect();
        scores.iter().sum::<f64>() / scores.len() as f64
    };
    let pairs = [
        ("heuristic", "random"),
        ("oracle_lite", "random"),
        ("trained", "random"),
        ("trained", "heuristic"),
    ];
    for (i, (policy, baseline)) in pairs.iter().enumerate() {
        for seed in 0..3 {
            let drawn = &delta["plot"]["series"][i]["points"][seed as usize];
            assert_near(
                &drawn["y"],
                &json!(score(policy, seed) - score(baseline, seed)),
            );
        }
    }
    Ok(())
}

#[test]
fn ablation_chart_matches_file_values() -> Tested {
    let inputs = Inputs::new(3)?;
    let ablation = inputs.drawn("ablation")?;
    let trained = read(&inputs.at("ablation/eval_no_history.json"))?;
    let row = &ablation["plot"]["rows"][1];
    assert_eq!(row["label"], "no history");
    let mean = trained["summary"]["trained"]["avg_score"]
        .as_f64()
        .ok_or("no score")?;
    assert!(
        row["value"]
            .as_f64()
            .is_some_and(|value| (value - mean).abs() < 6e-5)
    );
    Ok(())
}

#[test]
fn reward_report_charts_match_file_values() -> Tested {
    let inputs = Inputs::new(1)?;
    let file = read(&inputs.at("reward_report_task3_seed42.json"))?;
    let steps: Vec<&Value> = list(&file["events"])
        .iter()
        .filter(|event| event["kind"] == "step")
        .collect();
    let trust = inputs.drawn("trust_evolution")?;
    let gap = inputs.drawn("trust_gap_over_time")?;
    let areas = inputs.drawn("reward_component_stacked_area")?;
    for (i, event) in steps.iter().enumerate() {
        let snapshot = event["trust_snapshot"].as_object().ok_or("no trust")?;
        for (slot, value) in snapshot.values().enumerate() {
            let point = &trust["plot"]["series"][slot]["points"][i];
            assert_near(&point["y"], value);
            assert_near(&point["x"], &event["step_count"]);
        }
        let values = || snapshot.values().filter_map(Value::as_f64);
        let (low, high) = (values().fold(1.0, f64::min), values().fold(0.0, f64::max));
        for (k, expected) in [high, low, high - low].into_iter().enumerate() {
            assert_near(
                &gap["plot"]["series"][k]["points"][i]["y"],
                &json!(expected),
            );
        }
        for series in list(&areas["plot"]["series"]) {
            let key = series["label"]
                .as_str()
                .unwrap_or_default()
                .replace(' ', "_");
            assert_near(&series["values"][i], &event["signal_breakdown"][&key]);
        }
    }
    let bones = inputs.drawn("failure_fishbone_map")?;
    let lost: f64 = list(&file["events"])
        .iter()
        .filter_map(|event| Some(1.0 - event["reward"].as_f64()?))
        .sum();
    let effect = bones["plot"]["effect"]["value"]
        .as_f64()
        .ok_or("no effect")?;
    assert!((effect - lost).abs() < 2e-3, "{effect} is not {lost}");
    let causes = list(&bones["plot"]["causes"]).iter();
    let counted: u64 = causes.filter_map(|cause| cause["count"].as_u64()).sum();
    assert_eq!(counted as usize, list(&file["events"]).len());
    Ok(())
}

#[test]
fn training_and_cluster_charts_match_file_values() -> Tested {
    let inputs = Inputs::new(3)?;
    let log = read(&inputs.at("trainer_state.json"))?;
    let rewards: Vec<&Value> = list(&log["log_history"])
        .iter()
        .filter(|row| row.get("reward").is_some())
        .collect();
    let curve = inputs.drawn("grpo_reward_curve")?;
    let points = list(&curve["plot"]["series"][0]["points"]);
    assert_eq!(points.len(), rewards.len());
    for (point, row) in points.iter().zip(rewards) {
        assert_near(&point["x"], &row["step"]);
        assert_near(&point["y"], &row["reward"]);
    }
    let health = read(&inputs.at("health.json"))?;
    let timeline = inputs.drawn("cluster_health_timeline")?;
    for (i, policy) in ["random", "blind", "trust"].iter().enumerate() {
        let points = list(&timeline["plot"]["series"][i]["points"]);
        let series = list(&health["series"][policy]);
        assert_eq!(points.len(), series.len());
        for (point, value) in points.iter().zip(series) {
            let (drawn, value) = (point["y"].as_f64(), value.as_f64());
            let near = drawn.zip(value).is_some_and(|(a, b)| (a - b).abs() < 6e-5);
            assert!(near, "{drawn:?} {value:?}");
        }
    }
    Ok(())
}

#[test]
fn cluster_evaluation_charts_are_drawn() -> Tested {
    let inputs = Inputs::new(1)?;
    let config = inputs.config();
    write_eval::<ClusterEnv>(&config.post, "random,blind,trust", None, 2)?;
    for name in [
        "baseline_grouped_bars",
        "detection_vs_poisoning",
        "task_radar",
        "baseline_delta_lines",
    ] {
        inputs.drawn(name)?;
    }
    Ok(())
}

#[test]
fn many_tasks_are_grouped_by_difficulty() -> Tested {
    let inputs = Inputs::new(1)?;
    let tasks: Vec<String> = ["easy", "hard"]
        .iter()
        .flat_map(|end| (0..6).map(move |i| format!("CASE{i}-{end}")))
        .collect();
    let rows: Vec<Value> = tasks
        .iter()
        .map(|task| {
            let score = if task.ends_with("easy") { 1.0 } else { 0.5 };
            json!({"policy": "random", "task_type": task, "seed": 0, "score": score})
        })
        .collect();
    let file = json!({
        "environment": "polyguard",
        "tasks": tasks,
        "summary": {"random": {"avg_score": 0.75}},
        "episodes": rows,
    });
    write(&inputs.config().post, &file)?;
    let drawn = inputs.drawn("baseline_grouped_bars")?;
    assert_eq!(drawn["plot"]["groups"], json!(["easy", "hard"]));
    assert_eq!(drawn["plot"]["series"][0]["values"][1]["value"], 0.5);
    Ok(())
}

#[test]
fn fallback_is_marked_on_chart() -> Tested {
    let inputs = Inputs::new(1)?;
    let config = inputs.config();
    let mut eval = read(&config.post)?;
    eval["sentinel"]["fallbacks"] = json!([{"stage": "record", "what": "a script"}]);
    write(&config.post, &eval)?;
    let drawn = inputs.drawn("baseline_grouped_bars")?;
    assert!(
        drawn["subtitle"]
            .as_str()
            .is_some_and(|text| text.contains("fallback"))
    );
    assert_eq!(
        drawn["plot"]["series"][3]["label"],
        "Trained policy (fallback)"
    );
    assert_eq!(drawn["provenance"]["fallbacks"][0]["what"], "a script");
    Ok(())
}
