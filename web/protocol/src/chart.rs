//! Charts over the actions of an episode, or over the steps of a training run.

use serde::{Deserialize, Serialize};

use crate::Tone;

/// Lines over a shared axis, and strips of bars below them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Chart {
    /// Identifies the chart.
    pub id: String,
    /// The title.
    pub title: String,
    /// A sentence that says what the chart shows.
    pub subtitle: String,
    /// The quantity of the horizontal axis, such as `action`.
    pub x_label: String,
    /// The quantity and unit of the vertical axis.
    pub y_label: String,
    /// Lowest and highest value of the vertical axis.
    pub range: [f32; 2],
    /// The lines.
    pub lines: Vec<Line>,
    /// The strips, from top to bottom.
    pub strips: Vec<Strip>,
}

/// A line of a chart.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Line {
    /// The name at the end of the line and in the legend.
    pub name: String,
    /// Index of color and dashes, 0..8.
    pub style: u8,
    /// Horizontal positions; empty for 0, 1, 2, …
    pub x: Vec<f32>,
    /// Values; not a number where there is none.
    pub y: Vec<f32>,
    /// Half the width of an interval around each value; empty for none.
    pub half_width: Vec<f32>,
}

/// A row of bars, one for each action.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Strip {
    /// The label.
    pub label: String,
    /// The bars; bar `i` belongs to action `i + 1`.
    pub bars: Vec<Bar>,
}

/// A bar.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Bar {
    /// Height, 0..=1.
    pub value: f32,
    /// The color.
    pub tone: Tone,
    /// A sign above the bar; empty for none.
    pub sign: String,
    /// What the bar says when it is pointed at.
    pub text: String,
}
