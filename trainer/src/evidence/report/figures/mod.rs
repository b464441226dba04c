//! The charts of a report. What a chart needs and is not there is listed with the command that
//! makes it; nothing is filled in.

mod evaluation;
mod integrity;
mod sweep;
mod training;

use super::integrity::PolicyStats;
use super::results::{ChartEntry, Evaluation, MissingChart, Section, TrainingRun};
use super::sweep_results::{Sweep, SweepEntry};
use crate::evidence::charts::{BarSeries, Chart, Estimate, Point, PointSeries};

/// The largest number of points of a curve; longer logs are averaged over windows.
const CURVE_POINTS: usize = 200;

/// The charts that were drawn and those that could not be.
#[derive(Debug, Default)]
pub(super) struct Figures {
    pub(super) charts: Vec<ChartEntry>,
    pub(super) missing: Vec<MissingChart>,
}

impl Figures {
    fn draw(&mut self, section: Section, of: Option<&str>, caption: String, chart: Chart) {
        self.charts.push(ChartEntry {
            section,
            of: of.map(str::to_owned),
            caption,
            provenance: None,
            chart,
        });
    }

    fn lacks(&mut self, chart: &str, reason: String, command: String) {
        self.missing.push(MissingChart {
            chart: chart.to_owned(),
            reason,
            command,
        });
    }
}

/// Returns the charts of all inputs, the charts of folders excepted.
pub(super) fn figures(
    sweeps: &[Sweep],
    runs: &[TrainingRun],
    evaluations: &[Evaluation],
    subjects: &[PolicyStats],
) -> Figures {
    let mut figures = Figures::default();
    let entries: Vec<&SweepEntry> = sweeps.iter().flat_map(|sweep| &sweep.entries).collect();
    if !entries.is_empty() {
        sweep::draw(&entries, &mut figures);
    }
    if !entries.is_empty() || !subjects.is_empty() {
        integrity::draw(subjects, &entries, &mut figures);
    }
    for run in runs {
        training::draw(run, &mut figures);
    }
    for evaluation in evaluations {
        evaluation::draw(evaluation, &mut figures);
    }
    figures
}

/// A curve for a chart, and the number of logged values that each of its points averages.
struct Curve {
    points: Vec<Point>,
    window: usize,
}

impl Curve {
    /// Creates a curve from pairs of step and value. A point is the mean over a window, at the
    /// window's last step.
    fn new(series: &[[f64; 2]]) -> Self {
        let window = series.len().div_ceil(CURVE_POINTS).max(1);
        let point = |chunk: &[[f64; 2]]| {
            let mean = chunk.iter().map(|[_, value]| value).sum::<f64>() / chunk.len() as f64;
            Point::new(chunk[chunk.len() - 1][0], mean)
        };
        Self {
            points: series.chunks(window).map(point).collect(),
            window,
        }
    }

    fn series(self, label: &str) -> PointSeries {
        PointSeries {
            label: label.to_owned(),
            points: self.points,
            ..PointSeries::default()
        }
    }
}

/// Returns the end of a caption about windows, empty if no point averages several values.
fn window_note(windows: impl IntoIterator<Item = usize>) -> String {
    match windows.into_iter().max() {
        Some(window) if window > 1 => {
            format!(" Each point is the mean of up to {window} logged values.")
        }
        _ => String::new(),
    }
}

/// Creates a series of bars.
fn bars(label: impl Into<String>, values: Vec<Option<Estimate>>) -> BarSeries {
    BarSeries {
        label: label.into(),
        color: None,
        values,
    }
}

/// Returns a count with its noun.
pub(super) fn counted(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}
