//! The list of charts that were drawn or could not be, and the curves and bars that they share.

use sentinel_base::interval::ConfidenceInterval;

use crate::charts::{BarSeries, Chart, Estimate, Point, PointSeries};
use crate::report::results::{ChartEntry, MissingChart, Section};

/// The largest number of points of a curve; longer logs are averaged over windows.
const CURVE_POINTS: usize = 200;
/// The upper end of an axis of shares and scores, with room for the labels of bars.
pub(super) const SHARE_TOP: f64 = 1.1;

/// The charts that were drawn and those that could not be.
#[derive(Debug, Default)]
pub(in super::super) struct Figures {
    pub(in super::super) charts: Vec<ChartEntry>,
    pub(in super::super) missing: Vec<MissingChart>,
}

impl Figures {
    pub(super) fn draw(
        &mut self,
        section: Section,
        of: Option<&str>,
        caption: String,
        chart: Chart,
    ) {
        self.charts.push(ChartEntry {
            section,
            of: of.map(str::to_owned),
            caption,
            provenance: None,
            chart,
        });
    }

    pub(super) fn lacks(&mut self, chart: &str, reason: String, command: String) {
        self.missing.push(MissingChart {
            chart: chart.to_owned(),
            reason,
            command,
        });
    }
}

/// A curve for a chart, and the number of logged values that each of its points averages.
pub(super) struct Curve {
    points: Vec<Point>,
    pub(super) window: usize,
}

impl Curve {
    /// Creates a curve from pairs of step and value. A point is the mean over a window, at the
    /// window's last step.
    pub(super) fn new(series: &[[f64; 2]]) -> Self {
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

    pub(super) fn series(self, label: &str) -> PointSeries {
        PointSeries {
            label: label.to_owned(),
            points: self.points,
            ..PointSeries::default()
        }
    }
}

/// Returns the end of a caption about windows, empty if no point averages several values.
pub(super) fn window_note(windows: impl IntoIterator<Item = usize>) -> String {
    match windows.into_iter().max() {
        Some(window) if window > 1 => {
            format!(" Each point is the mean of up to {window} logged values.")
        }
        _ => String::new(),
    }
}

/// Creates a series of bars.
pub(super) fn bars(label: impl Into<String>, values: Vec<Option<Estimate>>) -> BarSeries {
    BarSeries {
        label: label.into(),
        color: None,
        values,
    }
}

/// Returns a mean with its interval.
pub(super) fn estimate(score: ConfidenceInterval) -> Estimate {
    Estimate::with_half_width(score.mean, score.half_width)
}

/// Returns a count with its noun.
pub(in super::super) fn counted(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}
