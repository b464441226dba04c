//! The chart of a training run.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::{Map, Value};

use super::{SourcedChart, provenance_of};
use crate::evidence::charts::{Axis, Chart, Plot, Point, PointSeries, palette};
use crate::evidence::input::{EvidenceError, InputKind};
use crate::files;
use crate::interval::mean_and_half_width;
use crate::provenance::{PROVENANCE_FILE, Provenance};

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

impl TrainerLog {
    /// Returns the values of a metric by step.
    fn metric(&self, name: &str) -> Vec<Point> {
        let number = |row: &Map<String, Value>, key: &str| row.get(key).and_then(Value::as_f64);
        let rows = self.log_history.iter();
        rows.filter_map(|row| Some(Point::new(number(row, "step")?, number(row, name)?)))
            .collect()
    }
}

/// Draws the reward of training over its steps, or the loss of a run without rewards. Several files
/// are runs from several training seeds: their mean with its interval.
pub(super) fn grpo_reward_curve(paths: &[PathBuf]) -> Result<SourcedChart, EvidenceError> {
    let mut logs = Vec::new();
    let mut fallbacks = Vec::new();
    for path in paths {
        logs.push(KIND.read::<TrainerLog>(path)?);
        fallbacks.push(Provenance::load(
            &files::parent_folder(path).join(PROVENANCE_FILE),
        )?);
    }
    let has_reward = logs.iter().all(|log| !log.metric("reward").is_empty());
    let metric = if has_reward { "reward" } else { "loss" };
    let curves: Vec<Vec<Point>> = logs.iter().map(|log| log.metric(metric)).collect();
    if let Some(i) = curves.iter().position(Vec::is_empty) {
        let reason = "its log_history has neither reward nor loss";
        return Err(KIND.invalid(&paths[i], reason));
    }
    let mut series = vec![PointSeries {
        label: format!("{metric} in training"),
        color: Some(palette::VERMILLION.to_owned()),
        dashed: false,
        points: merged(&curves, paths)?,
    }];
    let validation: Vec<Vec<Point>> = logs
        .iter()
        .map(|log| log.metric(&format!("eval_{metric}")))
        .collect();
    if validation.iter().all(|points| !points.is_empty()) {
        series.push(PointSeries {
            label: format!("{metric} on validation seeds"),
            color: Some(palette::BLUE.to_owned()),
            dashed: true,
            points: merged(&validation, paths)?,
        });
    }
    let runs = match paths {
        [path] => name_of(path),
        _ => format!("{} training seeds; bands: 95 % intervals", paths.len()),
    };
    let chart = Chart {
        name: "grpo_reward_curve".to_owned(),
        title: format!("{} during training", capitalized(metric)),
        subtitle: Some(runs),
        description: format!(
            "A line of the mean {metric} of training over optimizer steps, as the run logged it, \
             and one of the {metric} on validation seeds if the run measured it."
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
/// is.
fn merged(curves: &[Vec<Point>], paths: &[PathBuf]) -> Result<Vec<Point>, EvidenceError> {
    let [first, others @ ..] = curves else {
        return Ok(Vec::new());
    };
    let steps = |curve: &[Point]| -> Vec<f64> { curve.iter().map(|point| point.x).collect() };
    if let Some(i) = others.iter().position(|curve| steps(curve) != steps(first)) {
        return Err(EvidenceError::Unfit(format!(
            "{} and {} logged different steps: name runs that differ only in their training seed",
            paths[0].display(),
            paths[i + 1].display()
        )));
    }
    let at = |i: usize| -> Vec<f64> { curves.iter().map(|curve| curve[i].value).collect() };
    let points = first.iter().enumerate().map(|(i, point)| {
        let (mean, half_width) = mean_and_half_width(&at(i));
        Point {
            x: point.x,
            value: mean,
            interval: half_width.map(|half| [mean - half, mean + half]),
        }
    });
    Ok(points.collect())
}
