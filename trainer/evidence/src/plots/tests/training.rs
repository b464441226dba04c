//! The curve of training: its points, its gaps, and the mean of several runs.

use std::path::{Path, PathBuf};

use sentinel_base::provenance::Provenance;
use serde_json::{Value, json};

use super::super::training::grpo_reward_curve;
use super::super::*;
use super::{Inputs, Tested, list, read, write};

/// Returns the horizontal positions of the points and of the gaps of a curve of training.
fn points_and_gaps(drawn: &Value) -> (Vec<f64>, Vec<f64>) {
    let series = &drawn["plot"]["series"][0];
    let points = list(&series["points"]).iter();
    let gaps = list(&series["gaps"]).iter();
    (
        points.filter_map(|point| point["x"].as_f64()).collect(),
        gaps.filter_map(Value::as_f64).collect(),
    )
}

/// Draws the curve of training of a log and returns its JSON.
fn drawn_curve(path: PathBuf) -> Tested<Value> {
    let inputs = tempfile::tempdir()?;
    let chart = grpo_reward_curve(&[path])?.chart;
    let files = chart.write(inputs.path(), &Provenance::new())?;
    read(&files.json)
}

#[test]
fn logs_with_numbers_that_are_not_finite_are_drawn_whole() -> Tested {
    let recorded =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/oracle/trainer_state");
    let nan = drawn_curve(recorded.join("nan.json"))?;
    assert_eq!(points_and_gaps(&nan), (vec![1.0, 2.0, 3.0], vec![]));
    let infinity = drawn_curve(recorded.join("infinity.json"))?;
    assert_eq!(points_and_gaps(&infinity), (vec![1.0, 2.0], vec![]));
    Ok(())
}

#[test]
fn values_that_are_not_finite_are_gaps_of_the_curve() -> Tested {
    let folder = tempfile::tempdir()?;
    let log = |name: &str, rewards: &str| -> Tested<PathBuf> {
        let rows = rewards.split(' ').zip(1..);
        let rows = rows.map(|(reward, step)| format!("{{\"step\": {step}, \"reward\": {reward}}}"));
        let rows: Vec<String> = rows.collect();
        let path = folder.path().join(name);
        std::fs::write(
            &path,
            format!("{{\"log_history\": [{}]}}", rows.join(",\n")),
        )?;
        Ok(path)
    };
    let one = log("one.json", "0.1 NaN 0.3 0.4 -Infinity")?;
    let drawn = drawn_curve(one.clone())?;
    assert_eq!(
        points_and_gaps(&drawn),
        (vec![1.0, 3.0, 4.0], vec![2.0, 5.0])
    );
    let description = drawn["description"].as_str();
    assert!(description.is_some_and(|text| text.contains("not finite")));
    // The mean of several runs has a gap where one of them has.
    let other = log("other.json", "0.3 0.2 Infinity 0.2 0.1")?;
    let merged = grpo_reward_curve(&[one, other])?.chart;
    let merged = serde_json::to_value(&merged)?;
    assert_eq!(
        points_and_gaps(&merged),
        (vec![1.0, 4.0], vec![2.0, 3.0, 5.0])
    );
    let none = log("none.json", "NaN NaN")?;
    let error = drawn_curve(none).map_err(|error| error.to_string());
    assert!(error.is_err_and(|text| text.contains("none.json") && text.contains("finite number")));
    let cut = log("cut.json", "NaN 0.5")?;
    let text = std::fs::read_to_string(&cut)?;
    std::fs::write(&cut, &text[..text.len() - 3])?;
    let error = drawn_curve(cut).map_err(|error| error.to_string());
    assert!(error.is_err_and(|text| text.contains("the file ends too early")));
    Ok(())
}

#[test]
fn training_seeds_are_merged_into_mean_with_interval() -> Tested {
    let inputs = Inputs::new(1)?;
    let mut second = read(&inputs.at("trainer_state.json"))?;
    for row in second["log_history"].as_array_mut().ok_or("no log")? {
        if let Some(reward) = row.get("reward").and_then(Value::as_f64) {
            row["reward"] = json!(reward + 0.2);
        }
    }
    write(&inputs.at("second.json"), &second)?;
    let mut config = inputs.config();
    config.only = Some("grpo_reward_curve".to_owned());
    config.trainer_state.push(inputs.at("second.json"));
    let result = draw(&config)?;
    let drawn = read(&result.drawn[0].1.json)?;
    let point = &drawn["plot"]["series"][0]["points"][0];
    assert!(point["interval"].is_array());
    second["log_history"]
        .as_array_mut()
        .ok_or("no log")?
        .remove(0);
    write(&inputs.at("second.json"), &second)?;
    let reason = inputs.refused(&config, "grpo_reward_curve")?;
    assert!(reason.contains("logged different steps"), "{reason}");
    Ok(())
}
