//! Charts over the actions of an episode, or over the steps of a training run.

use serde::{Deserialize, Serialize};

use crate::Tone;

/// A chart of lines over a shared horizontal axis, with strips of bars below them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Chart {
    /// Stable identifier, unique among the charts of a run.
    pub id: String,
    /// Title above the chart.
    pub title: String,
    /// One sentence that says what the chart shows.
    pub subtitle: String,
    /// Quantity on the horizontal axis, such as `action`.
    pub x_label: String,
    /// Quantity and unit on the vertical axis.
    pub y_label: String,
    /// Lowest and highest value of the vertical axis.
    pub range: [f32; 2],
    /// Lines, the most important first; it is drawn on top.
    pub lines: Vec<Line>,
    /// Strips of bars, from top to bottom.
    pub strips: Vec<Strip>,
}

/// One line of a chart.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Line {
    /// Name at the end of the line and in the legend.
    pub name: String,
    /// Index of the color and dash pattern, `0..8`.
    pub style: u8,
    /// Horizontal positions, ascending; empty means 0, 1, 2, …
    pub x: Vec<f32>,
    /// Value at each position; NaN leaves a gap.
    pub y: Vec<f32>,
    /// Half the width of an interval around each value; empty if the line has no interval.
    pub half_width: Vec<f32>,
}

/// A row of bars below a chart, one for each action.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Strip {
    /// Name beside the row.
    pub label: String,
    /// Bars; bar `i` belongs to action `i + 1`.
    pub bars: Vec<Bar>,
}

/// One bar of a strip.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Bar {
    /// Height as a share of the row, `0..=1`.
    pub value: f32,
    /// Meaning of the bar's color.
    pub tone: Tone,
    /// Sign above the bar; empty for none.
    pub sign: String,
    /// Description shown and read out while the cursor is at the bar; empty for none.
    pub text: String,
}
