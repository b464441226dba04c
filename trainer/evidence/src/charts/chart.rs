//! The description of a chart: plain data that is drawn, checked and written as JSON.

use sentinel_base::Error;
use serde::{Deserialize, Serialize};

/// The smallest number of axes that a radar can have.
const RADAR_AXES: usize = 3;

/// A chart: its texts, its axes and the numbers that it draws.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Chart {
    /// The stem of its files: letters, digits, `-` and `_`.
    pub name: String,
    /// The title above the chart.
    pub title: String,
    /// A line below the title: what was measured, on which episodes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subtitle: Option<String>,
    /// The chart in words, for readers who do not see it: what it shows, and how to read it.
    pub description: String,
    /// The horizontal axis. Charts of groups use only its label; radars and fishbones none of it.
    pub x: Axis,
    /// The vertical axis with its range.
    pub y: Axis,
    /// The series that are drawn.
    pub plot: Plot,
}

/// The reason why a chart is not drawn.
#[derive(Debug, thiserror::Error)]
pub enum ChartError {
    /// The name cannot be that of a file.
    #[error("`{0}` is not the name of a chart: use letters, digits, `-` and `_`")]
    Name(String),
    /// The chart has no number.
    #[error("chart {0}: there is nothing to draw")]
    Empty(String),
    /// The numbers do not fit together.
    #[error("chart {chart}: {reason}")]
    Data {
        /// The name of the chart.
        chart: String,
        /// The fault of the numbers.
        reason: String,
    },
    /// A picture cannot be made, or a file cannot be written.
    #[error(transparent)]
    File(#[from] Error),
}

/// An axis with its label and range.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Axis {
    /// The quantity that the axis shows.
    pub label: String,
    /// The unit, written in parentheses after the label.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
    /// The values at both ends; chosen from the data if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub range: Option<[f64; 2]>,
    /// Ticks at whole numbers only.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub whole: bool,
}

/// The series of a chart, by the kind of chart.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Plot {
    /// Bars side by side in groups, with error bars.
    GroupedBars {
        /// The names of the groups, from left to right.
        groups: Vec<String>,
        /// The series, each with one value per group.
        series: Vec<BarSeries>,
    },
    /// One bar per row, from top to bottom, with error bars.
    HorizontalBars {
        /// The rows, from top to bottom.
        rows: Vec<BarRow>,
    },
    /// Lines, each with an optional band around it.
    Lines {
        /// The lines, drawn in this order.
        series: Vec<PointSeries>,
        /// Horizontal lines to compare with.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        references: Vec<BaselineLine>,
    },
    /// Separate points with error bars.
    Points {
        /// The series, drawn in this order.
        series: Vec<PointSeries>,
        /// Horizontal lines to compare with.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        references: Vec<BaselineLine>,
    },
    /// Areas stacked on each other; negative values are stacked below zero.
    StackedArea {
        /// The horizontal position of each value.
        x: Vec<f64>,
        /// The areas, from zero outwards.
        series: Vec<AreaSeries>,
    },
    /// A polygon per series over axes that start in one point.
    Radar {
        /// The names of the axes.
        axes: Vec<String>,
        /// The values in the center and at the rim.
        range: [f64; 2],
        /// The series, each with one value per axis.
        series: Vec<AreaSeries>,
    },
    /// A diagram of an effect and its counted causes.
    Fishbone {
        /// The effect, which is the sum of its causes.
        effect: FishboneItem,
        /// The causes, largest first.
        causes: Vec<FishboneItem>,
    },
}

/// A number with its interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// The number itself, such as a mean.
    pub value: f64,
    /// Both ends of its interval, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<[f64; 2]>,
}

/// A series of bars.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BarSeries {
    /// The name in the legend.
    pub label: String,
    /// The color, such as `#0072B2`; from the palette if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub color: Option<String>,
    /// One value per group; `null` where nothing was measured.
    pub values: Vec<Option<Estimate>>,
}

/// A row of horizontal bars.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BarRow {
    /// The name of the row.
    pub label: String,
    /// The color; from the palette if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub color: Option<String>,
    /// The length of the bar.
    #[serde(flatten)]
    pub estimate: Estimate,
}

/// A series of points, connected or not.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PointSeries {
    /// The name in the legend.
    pub label: String,
    /// The color; from the palette if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub color: Option<String>,
    /// Draws a dashed line.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub dashed: bool,
    /// The points, from left to right.
    pub points: Vec<Point>,
    /// The positions on the horizontal axis, from left to right, at which a value was logged that is
    /// not finite. A line breaks there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gaps: Vec<f64>,
}

/// A point of a series.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// The position on the horizontal axis.
    pub x: f64,
    /// The position on the vertical axis.
    #[serde(rename = "y")]
    pub value: f64,
    /// Both ends of the interval or band.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<[f64; 2]>,
}

/// A series of plain numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AreaSeries {
    /// The name in the legend.
    pub label: String,
    /// The color; from the palette if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub color: Option<String>,
    /// The numbers of the series, in order.
    pub values: Vec<f64>,
}

/// A horizontal line to compare with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BaselineLine {
    /// The text beside the line.
    pub label: String,
    /// The position on the vertical axis.
    pub value: f64,
}

/// An effect or a cause of a fishbone diagram.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FishboneItem {
    /// The name of the effect or cause.
    pub label: String,
    /// The amount, in the unit of the vertical axis.
    pub value: f64,
    /// The number of events that it was counted from.
    pub count: usize,
}

impl Axis {
    /// Creates an axis of a quantity without a unit.
    #[must_use]
    pub fn new(label: impl Into<String>) -> Self {
        Self {
            label: label.into(),
            ..Self::default()
        }
    }

    /// Sets the unit of the quantity.
    #[must_use]
    pub fn with_unit(mut self, unit: impl Into<String>) -> Self {
        self.unit = Some(unit.into());
        self
    }

    /// Sets the values at both ends.
    #[must_use]
    pub const fn with_range(mut self, low: f64, high: f64) -> Self {
        self.range = Some([low, high]);
        self
    }

    /// Restricts ticks to whole numbers.
    #[must_use]
    pub const fn with_integer_ticks(mut self) -> Self {
        self.whole = true;
        self
    }

    /// Returns the label with its unit.
    pub(super) fn label_with_unit(&self) -> String {
        match &self.unit {
            Some(unit) => format!("{} ({unit})", self.label),
            None => self.label.clone(),
        }
    }
}

impl Estimate {
    /// Creates a number without an interval.
    #[must_use]
    pub const fn exact(value: f64) -> Self {
        Self {
            value,
            interval: None,
        }
    }

    /// Creates a mean with an interval of `half_width` on both sides.
    #[must_use]
    pub fn with_half_width(value: f64, half_width: f64) -> Self {
        Self {
            value,
            interval: Some([value - half_width, value + half_width]),
        }
    }

    /// Returns the lengths of the whiskers below and above the number.
    pub(super) fn whiskers(&self) -> Option<(f64, f64)> {
        let [low, high] = self.interval?;
        Some((self.value - low, high - self.value))
    }

    fn numbers(self) -> impl Iterator<Item = f64> {
        std::iter::once(self.value).chain(self.interval.into_iter().flatten())
    }
}

impl PointSeries {
    /// Returns the runs of points between gaps; each has at least one point.
    pub(super) fn segments(&self) -> impl Iterator<Item = &[Point]> {
        self.points.chunk_by(|left, right| {
            let next = self.gaps.partition_point(|gap| *gap <= left.x);
            self.gaps.get(next).is_none_or(|gap| *gap >= right.x)
        })
    }
}

impl Point {
    /// Creates a point without an interval.
    #[must_use]
    pub const fn new(x: f64, y: f64) -> Self {
        Self {
            x,
            value: y,
            interval: None,
        }
    }

    /// Returns its height with the interval.
    #[must_use]
    pub const fn estimate(&self) -> Estimate {
        Estimate {
            value: self.value,
            interval: self.interval,
        }
    }
}

impl Chart {
    /// Checks that the chart can be drawn.
    ///
    /// # Errors
    /// Returns an error if the name is not a file name, there is nothing to draw, a number is not
    /// finite, an interval does not hold its number, or series differ in length.
    pub fn validate(&self) -> Result<(), ChartError> {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        if self.name.is_empty() || !self.name.chars().all(is_plain) {
            return Err(ChartError::Name(self.name.clone()));
        }
        for axis in [&self.x, &self.y] {
            if let Some([low, high]) = axis.range
                && !(low < high && low.is_finite() && high.is_finite())
            {
                return Err(self.fault(format!("its axis {} has no extent", axis.label)));
            }
        }
        self.validate_lengths()?;
        self.validate_numbers()
    }

    fn fault(&self, reason: String) -> ChartError {
        ChartError::Data {
            chart: self.name.clone(),
            reason,
        }
    }

    fn validate_lengths(&self) -> Result<(), ChartError> {
        let (expected, lengths): (usize, Vec<(&str, usize)>) = match &self.plot {
            Plot::GroupedBars { groups, series } => (
                groups.len(),
                series.iter().map(|s| (&*s.label, s.values.len())).collect(),
            ),
            Plot::StackedArea { x, series } => (
                x.len(),
                series.iter().map(|s| (&*s.label, s.values.len())).collect(),
            ),
            Plot::Radar { axes, series, .. } => (
                axes.len(),
                series.iter().map(|s| (&*s.label, s.values.len())).collect(),
            ),
            Plot::HorizontalBars { .. }
            | Plot::Lines { .. }
            | Plot::Points { .. }
            | Plot::Fishbone { .. } => return Ok(()),
        };
        if let Plot::Radar { axes, .. } = &self.plot
            && !lengths.is_empty()
            && axes.len() < RADAR_AXES
        {
            let (count, least) = (axes.len(), RADAR_AXES);
            return Err(self.fault(format!(
                "a radar of {count} axes: at least {least} are needed"
            )));
        }
        match lengths.iter().find(|(_, length)| *length != expected) {
            Some((label, length)) => Err(self.fault(format!(
                "series {label} has {length} values where {expected} are needed"
            ))),
            None => Ok(()),
        }
    }

    fn validate_numbers(&self) -> Result<(), ChartError> {
        let estimates = self.estimates();
        if estimates.is_empty() {
            return Err(ChartError::Empty(self.name.clone()));
        }
        for (label, estimate) in estimates {
            if !estimate.numbers().all(f64::is_finite) {
                return Err(self.fault(format!("series {label} holds a number that is not finite")));
            }
            if let Some((below, above)) = estimate.whiskers()
                // Means and their intervals are rounded separately.
                && (below < -1e-3 || above < -1e-3)
                && !matches!(self.plot, Plot::Lines { .. })
            {
                return Err(self.fault(format!(
                    "series {label} has the value {} outside of its interval",
                    estimate.value
                )));
            }
        }
        let positions: Vec<f64> = match &self.plot {
            Plot::StackedArea { x, .. } => x.clone(),
            Plot::Lines { series, .. } | Plot::Points { series, .. } => {
                let positions = series.iter().flat_map(|s| {
                    let points = s.points.iter().map(|point| point.x);
                    points.chain(s.gaps.iter().copied())
                });
                positions.collect()
            }
            _ => Vec::new(),
        };
        if positions.iter().all(|x| x.is_finite()) {
            Ok(())
        } else {
            Err(self.fault("a horizontal position is not finite".to_owned()))
        }
    }

    /// Returns every number that is drawn, with the name of its series.
    pub(super) fn estimates(&self) -> Vec<(&str, Estimate)> {
        let plain = |series: &'_ [AreaSeries]| -> Vec<(usize, Estimate)> {
            let numbered = series.iter().enumerate();
            numbered
                .flat_map(|(i, s)| s.values.iter().map(move |v| (i, Estimate::exact(*v))))
                .collect()
        };
        match &self.plot {
            Plot::GroupedBars { series, .. } => series
                .iter()
                .flat_map(|s| s.values.iter().flatten().map(|v| (&*s.label, *v)))
                .collect(),
            Plot::HorizontalBars { rows } => {
                rows.iter().map(|row| (&*row.label, row.estimate)).collect()
            }
            Plot::Lines { series, .. } | Plot::Points { series, .. } => series
                .iter()
                .flat_map(|s| s.points.iter().map(|p| (&*s.label, p.estimate())))
                .collect(),
            Plot::StackedArea { series, .. } | Plot::Radar { series, .. } => plain(series)
                .into_iter()
                .map(|(i, estimate)| (&*series[i].label, estimate))
                .collect(),
            Plot::Fishbone { effect, causes } => std::iter::once(effect)
                .chain(causes)
                .map(|bone| (&*bone.label, Estimate::exact(bone.value)))
                .collect(),
        }
    }
}
