//! Recorded results: curves of training runs, and the tables and charts of reports.

use serde::{Deserialize, Serialize};

use crate::{Chart, Column, PlayedEpisode};

/// Curves of training runs, side by side.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Curves {
    /// Runs that can be shown, in menu order.
    pub runs: Vec<TrainingRun>,
    /// Charts whose horizontal axis is the optimizer step.
    pub charts: Vec<MetricChart>,
}

/// A training run that the page can show.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrainingRun {
    /// Name of the run in the address.
    pub name: String,
    /// Readable name of the run.
    pub label: String,
    /// Heading under which the menu lists the run.
    pub group: String,
    /// Path of its log relative to the page; empty if the visitor dropped it.
    pub path: String,
    /// Index of color and dash pattern of its lines, `0..8`; `None` for a run that is not shown.
    pub style: Option<u8>,
    /// Letter of the run at the ends of its lines; empty if it is the only one.
    pub tag: String,
    /// Length of the run; empty until its log was read.
    pub summary: String,
}

/// A chart of one logged metric, with a line for each run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MetricChart {
    /// Name of the metric in the log.
    pub metric: String,
    /// Sentence about what the metric measures.
    pub help: String,
    /// The lines.
    pub chart: Chart,
}

/// The tables and charts of the reports that ship with the page.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ResultsView {
    /// Sections in the order in which they are drawn.
    pub sections: Vec<ResultsSection>,
}

/// One evaluation, one sweep, or the charts of a folder.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ResultsSection {
    /// Identifier that is unique on the screen.
    pub id: String,
    /// Heading of the section.
    pub title: String,
    /// Sentence about what was played or trained.
    pub detail: String,
    /// Tables and charts in the order in which they are drawn.
    pub parts: Vec<ResultsPart>,
    /// Path of the file that holds the numbers, relative to the page.
    pub source: String,
    /// Command that made the numbers; empty if each table has its own.
    pub command: String,
}

/// A table or a chart.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum ResultsPart {
    /// Numbers in rows and columns.
    Table(ResultsTable),
    /// Lines over a shared axis.
    Chart(ResultsChart),
}

/// A chart with the names of its lines.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ResultsChart {
    /// The chart; its lines are named by letters if there are several.
    pub chart: Chart,
    /// Names of the lines, in their order; empty for a single line.
    pub legend: Vec<String>,
}

/// A table of numbers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ResultsTable {
    /// Identifier that is unique on the screen.
    pub id: String,
    /// Heading of the table.
    pub title: String,
    /// Sentence about how to read the table.
    pub help: String,
    /// Columns; the first is that of the names.
    pub columns: Vec<Column>,
    /// Rows from top to bottom.
    pub rows: Vec<ResultsRow>,
    /// `true` to show the table collapsed at first.
    pub folded: bool,
}

/// A row of a table.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ResultsRow {
    /// Name of the row.
    pub name: String,
    /// Cells of the other columns.
    pub cells: Vec<ResultsCell>,
    /// Episodes behind the numbers; empty if the page cannot play them.
    pub episodes: Vec<EpisodeLink>,
    /// Command that made the numbers; empty if it is that of the section.
    pub command: String,
}

/// A number of a table.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ResultsCell {
    /// The number with its interval, as text.
    pub text: String,
    /// The number as a share of the longest bar, `0..=1`; `None` for no bar.
    pub bar: Option<f32>,
}

/// A link to an episode.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct EpisodeLink {
    /// Place of the episode among its evaluation's, such as `lowest`.
    pub label: String,
    /// Name of the world.
    pub world: String,
    /// The episode and its player.
    pub episode: PlayedEpisode,
    /// Score of the episode, as the file has it.
    pub score: f64,
}
