//! Inputs that are missing, truncated, empty or do not compare, each with an error that names it.

use sentinel_env::trust::TrustEnv;
use serde_json::{Value, json};

use super::super::*;
use super::{Inputs, Tested, read, write, write_eval};

#[test]
fn missing_input_error_names_file_and_command() -> Tested {
    let folder = tempfile::tempdir()?;
    let gone = |name: &str| folder.path().join(name);
    let config = PlotsConfig {
        pre: None,
        post: gone("post.json"),
        trainer_state: vec![gone("trainer_state.json")],
        reward_report_task3: gone("report.json"),
        cluster_health: gone("health.json"),
        ablation: gone("ablation"),
        analysis: Vec::new(),
        only: None,
        out_dir: gone("charts"),
    };
    let result = draw(&config)?;
    assert!(result.drawn.is_empty());
    assert_eq!(result.not_drawn.len(), CHART_NAMES.len());
    for (name, reason) in &result.not_drawn {
        let reason = reason.to_string();
        let named = reason.contains("does not exist: make") && reason.contains("`sentinel ");
        assert!(named, "{name}: {reason}");
    }
    assert_eq!(folder.path().join("charts").read_dir()?.count(), 0);
    Ok(())
}

#[test]
fn truncated_or_inconsistent_input_is_refused() -> Tested {
    let inputs = Inputs::new(1)?;
    let config = inputs.config();
    let report = std::fs::read(&config.reward_report_task3)?;
    std::fs::write(&config.reward_report_task3, &report[..report.len() / 2])?;
    for name in ["trust_evolution", "failure_fishbone_map"] {
        let reason = inputs.refused(&config, name)?;
        assert!(
            reason.contains("is not a reward report: the file ends too early"),
            "{reason}"
        );
    }
    let mut value: Value = serde_json::from_slice(&report)?;
    value["sentinel"]["losses"][0]["reward_lost"] = json!(0.0);
    write(&config.reward_report_task3, &value)?;
    let reason = inputs.refused(&config, "failure_fishbone_map")?;
    assert!(
        reason.contains("causes of lost reward are not those of its steps"),
        "{reason}"
    );
    value["events"] = json!([]);
    write(&config.reward_report_task3, &value)?;
    let reason = inputs.refused(&config, "trust_evolution")?;
    assert!(reason.contains("holds no episode"), "{reason}");
    let mut eval = read(&config.post)?;
    eval["episodes"][0]["score"] = json!(0.0);
    write(&config.post, &eval)?;
    let reason = inputs.refused(&config, "task_radar")?;
    assert!(reason.contains("is not that of its episodes"), "{reason}");
    eval["episodes"] = json!([]);
    write(&config.post, &eval)?;
    let reason = inputs.refused(&config, "task_radar")?;
    assert!(reason.contains("holds no episode"), "{reason}");
    let mut health = read(&config.cluster_health)?;
    health["series"]["blind"][0] = json!(0.9);
    write(&config.cluster_health, &health)?;
    let reason = inputs.refused(&config, "cluster_health_timeline")?;
    assert!(
        reason.contains("is not the mean of its episodes"),
        "{reason}"
    );
    write(
        &config.trainer_state[0],
        &json!({"log_history": [{"step": 1}]}),
    )?;
    let reason = inputs.refused(&config, "grpo_reward_curve")?;
    assert!(reason.contains("neither reward nor loss"), "{reason}");
    Ok(())
}

#[test]
fn reference_report_draws_charts_it_supports() -> Tested {
    let inputs = Inputs::new(1)?;
    let config = inputs.config();
    let mut value = read(&config.reward_report_task3)?;
    value.as_object_mut().ok_or("no object")?.remove("sentinel");
    write(&config.reward_report_task3, &value)?;
    for name in [
        "trust_evolution",
        "trust_gap_over_time",
        "reward_component_stacked_area",
    ] {
        inputs.drawn(name)?;
    }
    let reason = inputs.refused(&config, "failure_fishbone_map")?;
    assert!(reason.contains("no object `sentinel`"), "{reason}");
    Ok(())
}

#[test]
fn incomparable_inputs_are_refused() -> Tested {
    let inputs = Inputs::new(2)?;
    let mut config = inputs.config();
    // A replay or a scripted policy is not an ablation.
    write_eval::<TrustEnv>(&inputs.at("ablation/a.json"), "random", None, 2)?;
    let reason = inputs.refused(&config, "ablation")?;
    assert!(
        reason.contains("is not an evaluation of a trained model alone"),
        "{reason}"
    );
    write_eval::<TrustEnv>(&inputs.at("ablation/a.json"), "trained", Some("grpo"), 1)?;
    let reason = inputs.refused(&config, "ablation")?;
    assert!(
        reason.contains("not played on the same episodes"),
        "{reason}"
    );
    // An evaluation before training must be of the same episodes.
    write_eval::<TrustEnv>(&inputs.at("pre.json"), "random,heuristic", None, 1)?;
    config.pre = Some(inputs.at("pre.json"));
    let reason = inputs.refused(&config, "baseline_grouped_bars")?;
    assert!(reason.contains("do not compare"), "{reason}");
    // One policy has nothing to be compared with.
    write_eval::<TrustEnv>(&config.post, "heuristic", None, 1)?;
    let reason = inputs.refused(&config, "baseline_delta_lines")?;
    assert!(reason.contains("no pair of policies"), "{reason}");
    config.only = Some("pie".to_owned());
    let error = draw(&config).map_err(|error| error.to_string());
    assert!(error.is_err_and(|text| text.contains("task_radar")));
    Ok(())
}
