//! The chart of a training run.

use std::path::{Path, PathBuf};

use sentinel_base::files;
use sentinel_base::interval::mean_and_half_width;
use sentinel_base::provenance::{PROVENANCE_FILE, Provenance};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::sourced_chart::{SourcedChart, provenance_of};
use crate::charts::{Axis, Chart, Plot, Point, PointSeries, palette};
use crate::input::{EvidenceError, InputKind};

/// The kind of file that this module reads.
const KIND: InputKind = InputKind {
    what: "the log of a training run",
    command: "sentinel train --output-dir DIR",
};

/// The part of `trainer_state.json` that is drawn.
#[derive(Deserialize)]
struct TrainerLog {
    log_history: Vec<Map<String, Value>>,
}

/// A value that was logged at a step; `None` if it is not finite.
type Logged = (f64, Option<f64>);

impl TrainerLog {
    /// Returns the values of a metric by step.
    fn metric(&self, name: &str) -> Vec<Logged> {
        let value = |row: &Map<String, Value>| match row.get(name)? {
            Value::Null => Some(None),
            value => value.as_f64().map(Some),
        };
        let rows = self.log_history.iter();
        rows.filter_map(|row| Some((row.get("step")?.as_f64()?, value(row)?)))
            .collect()
    }
}

/// Returns `true` if a value of a metric is finite.
fn has_points(logged: &[Logged]) -> bool {
    logged.iter().any(|(_, value)| value.is_some())
}

/// Draws the reward of training over its steps, or the loss of a run without rewards. Several files
/// are runs from several training seeds: their mean with its interval.
pub(super) fn grpo_reward_curve(paths: &[PathBuf]) -> Result<SourcedChart, EvidenceError> {
    let mut logs = Vec::new();
    let mut fallbacks = Vec::new();
    for path in paths {
        logs.push(KIND.read_trainer_state::<TrainerLog>(path)?);
        fallbacks.push(Provenance::load(
            &files::parent_folder(path).join(PROVENANCE_FILE),
        )?);
    }
    let has_reward = logs.iter().all(|log| has_points(&log.metric("reward")));
    let metric = if has_reward { "reward" } else { "loss" };
    let curves: Vec<Vec<Logged>> = logs.iter().map(|log| log.metric(metric)).collect();
    if let Some(i) = curves.iter().position(|curve| !has_points(curve)) {
        let is_logged = |name| !logs[i].metric(name).is_empty();
        let reason = if is_logged("reward") || is_logged("loss") {
            "no reward and no loss in its log_history is a finite number"
        } else {
            "its log_history has neither reward nor loss"
        };
        return Err(KIND.invalid(&paths[i], reason));
    }
    let mut series = vec![PointSeries {
        label: format!("{metric} in training"),
        color: Some(palette::VERMILLION.to_owned()),
        ..merged(&curves, paths)?
    }];
    let validation: Vec<Vec<Logged>> = logs
        .iter()
        .map(|log| log.metric(&format!("eval_{metric}")))
        .collect();
    if validation.iter().all(|curve| has_points(curve)) {
        series.push(PointSeries {
            label: format!("{metric} on validation seeds"),
            color: Some(palette::BLUE.to_owned()),
            dashed: true,
            ..merged(&validation, paths)?
        });
    }
    let runs = match paths {
        [path] => name_of(path),
        _ => format!("{} training seeds; bands: 95 % intervals", paths.len()),
    };
    let gaps = if series.iter().all(|series| series.gaps.is_empty()) {
        ""
    } else {
        " A line is interrupted where the logged value is not finite."
    };
    let chart = Chart {
        name: "grpo_reward_curve".to_owned(),
        title: format!("{} during training", capitalized(metric)),
        subtitle: Some(runs),
        description: format!(
            "A line of the mean {metric} of training over optimizer steps, as the run logged it, \
             and one of the {metric} on validation seeds if the run measured it.{gaps}"
        ),
        x: Axis::new("step").with_integer_ticks(),
        y: Axis::new(format!("mean {metric}")),
        plot: Plot::Lines {
            series,
            references: Vec::new(),
        },
    };
    let files = paths.iter().map(PathBuf::as_path);
    Ok(SourcedChart {
        chart,
        provenance: provenance_of(files.zip(fallbacks.iter().map(Option::as_ref)))?,
    })
}

/// Returns the name of a run: the folder of its log.
fn name_of(path: &Path) -> String {
    let folder = files::parent_folder(path);
    let name = folder
        .file_name()
        .map(|name| name.to_string_lossy().into_owned());
    name.map_or_else(String::new, |name| format!("run {name}"))
}

fn capitalized(word: &str) -> String {
    let mut letters = word.chars();
    let first = letters.next().map(|c| c.to_uppercase().to_string());
    first.unwrap_or_default() + letters.as_str()
}

/// Returns the mean of several curves at each step, with its interval. A single curve stays as it
/// is. A step at which one of them has no finite value is a gap.
fn merged(curves: &[Vec<Logged>], paths: &[PathBuf]) -> Result<PointSeries, EvidenceError> {
    let mut series = PointSeries::default();
    let [first, others @ ..] = curves else {
        return Ok(series);
    };
    let steps = |curve: &[Logged]| -> Vec<f64> { curve.iter().map(|(step, _)| *step).collect() };
    if let Some(i) = others.iter().position(|curve| steps(curve) != steps(first)) {
        return Err(EvidenceError::Unfit(format!(
            "{} and {} logged different steps: name runs that differ only in their training seed",
            paths[0].display(),
            paths[i + 1].display()
        )));
    }
    for (i, (step, _)) in first.iter().enumerate() {
        let values: Option<Vec<f64>> = curves.iter().map(|curve| curve[i].1).collect();
        let Some(values) = values else {
            series.gaps.push(*step);
            continue;
        };
        let (mean, half_width) = mean_and_half_width(&values);
        series.points.push(Point {
            x: *step,
            value: mean,
            interval: half_width.map(|half| [mean - half, mean + half]),
        });
    }
    Ok(series)
}
