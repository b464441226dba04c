//! Charts of the cluster's health.

use std::path::Path;

use sentinel_base::interval::mean_and_half_width;

use super::sourced_chart::{SourcedChart, provenance_of};
use crate::charts::{Axis, Chart, Plot, Point, PointSeries, palette};
use crate::cluster_health::{ClusterHealth, by_step};
use crate::input::EvidenceError;

/// Draws the mean health after each step, a line for each policy.
pub(super) fn cluster_health_timeline(path: &Path) -> Result<SourcedChart, EvidenceError> {
    let file = ClusterHealth::load(path)?;
    let chart = Chart {
        name: "cluster_health_timeline".to_owned(),
        title: "Health of the cluster over an episode".to_owned(),
        subtitle: Some(played(&file)),
        description: "A line for each policy: the mean health of the cluster after each step, \
            over the episodes that still run. The health is between 0 and 1, and is 0.5 while \
            neither enough GPUs are busy nor any has failed."
            .to_owned(),
        x: Axis::new("step").with_integer_ticks(),
        y: Axis::new("cluster health").with_range(0.0, 1.0),
        plot: Plot::Lines {
            series: lines(&file, |health, _| health.to_vec()),
            references: Vec::new(),
        },
    };
    sourced(path, &file, chart)
}

/// Draws the mean health from the start of the episode to each step, which separates policies whose
/// health differs little at any single step.
pub(super) fn cluster_health_policy_lines(path: &Path) -> Result<SourcedChart, EvidenceError> {
    let file = ClusterHealth::load(path)?;
    let chart = Chart {
        name: "cluster_health_policy_lines".to_owned(),
        title: "Mean health of the cluster since the start of the episode".to_owned(),
        subtitle: Some(played(&file)),
        description: "A line for each policy: the health of the cluster averaged from the start \
            of the episode to each step, and over episodes; an episode that has ended keeps its \
            mean. The vertical axis shows only the range that occurs."
            .to_owned(),
        x: Axis::new("step").with_integer_ticks(),
        y: Axis::new("mean cluster health so far"),
        plot: Plot::Lines {
            series: lines(&file, running_means),
            references: Vec::new(),
        },
    };
    sourced(path, &file, chart)
}

fn sourced(path: &Path, file: &ClusterHealth, chart: Chart) -> Result<SourcedChart, EvidenceError> {
    let found = file.sentinel.as_ref().map(|origin| &origin.provenance);
    Ok(SourcedChart {
        chart,
        provenance: provenance_of([(path, found)])?,
    })
}

/// Returns what was played in words.
fn played(file: &ClusterHealth) -> String {
    match &file.sentinel {
        Some(origin) => {
            let count = origin.seeds.count();
            let bands = if count > 1 {
                "; bands: 95 % intervals"
            } else {
                ""
            };
            format!("cluster {}, seeds {}{bands}", file.task, origin.seeds)
        }
        None => format!("cluster {}", file.task),
    }
}

/// Returns the mean from the start to each step. An episode that has ended keeps its mean.
fn running_means(health: &[f64], steps: usize) -> Vec<f64> {
    let mut sum = 0.0;
    let numbered = health.iter().enumerate();
    let mut means: Vec<f64> = numbered
        .map(|(i, value)| {
            sum += value;
            sum / (i + 1) as f64
        })
        .collect();
    let last = means.last().copied();
    means.extend(
        last.into_iter()
            .cycle()
            .take(steps.saturating_sub(health.len())),
    );
    means
}

/// Returns a line for each policy: the means over episodes of `curve` at each step, with their
/// intervals if the file holds the episodes.
fn lines(file: &ClusterHealth, curve: impl Fn(&[f64], usize) -> Vec<f64>) -> Vec<PointSeries> {
    let origin = file.sentinel.as_ref();
    let drawn: Vec<&(String, Vec<f64>)> = file
        .series
        .iter()
        .filter(|(_, series)| !series.is_empty())
        .collect();
    let names: Vec<&str> = drawn.iter().map(|(policy, _)| policy.as_str()).collect();
    let colors = palette::policy_colors(&names);
    let line = |(i, (policy, series)): (usize, &&(String, Vec<f64>))| {
        let found = origin.and_then(|o| o.episodes.iter().find(|(name, _)| name == policy));
        let episodes: Vec<Vec<f64>> = match found {
            Some((_, episodes)) => episodes
                .iter()
                .map(|one| curve(&one.health, series.len()))
                .collect(),
            None => vec![curve(series, series.len())],
        };
        let points = by_step(&episodes)
            .into_iter()
            .enumerate()
            .map(|(i, values)| {
                let (mean, half_width) = mean_and_half_width(&values);
                Point {
                    x: (i + 1) as f64,
                    value: mean,
                    interval: half_width.map(|half| [mean - half, mean + half]),
                }
            });
        PointSeries {
            label: palette::policy_label(policy),
            color: Some(colors[i].to_owned()),
            points: points.collect(),
            ..PointSeries::default()
        }
    };
    drawn.iter().enumerate().map(line).collect()
}
