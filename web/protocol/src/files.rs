//! Files that the visitor brings, and files that the page makes for the visitor.

use serde::{Deserialize, Serialize};

use crate::PlayedEpisode;

/// A file that the visitor wants to take away.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Export {
    /// The episode of a run, as the rows of a replay file.
    Episode,
    /// A chart that the engine has sent, as an SVG drawing on a light background.
    Chart {
        /// Identifier of the chart.
        id: String,
        /// `true` for the chart with hidden values.
        truth: bool,
        /// `true` if the visitor wants a PNG of the drawing.
        png: bool,
    },
    /// The latest standings that the engine has sent, as CSV.
    Standings {
        /// Names of the tournament's tasks.
        tasks: Vec<String>,
    },
}

/// The step that the shell takes before it saves a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Conversion {
    /// The content is saved as it is; the default.
    #[default]
    None,
    /// The content is an SVG drawing, of which a PNG is made.
    Png,
}

/// A file to save.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ExportedFile {
    /// File name, with the ending of the saved file.
    pub name: String,
    /// Media type of `content`.
    pub mime: String,
    /// Content before the conversion.
    #[serde(with = "crate::bytes")]
    pub content: Vec<u8>,
    /// The step before the file is saved.
    pub conversion: Conversion,
}

/// A file that the visitor dropped and that belongs to another world.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ForeignFile {
    /// Name of the world that the file belongs to.
    pub world: String,
    /// Name of the file.
    pub name: String,
    /// Content of the file.
    #[serde(with = "crate::bytes")]
    pub content: Vec<u8>,
}

/// The results of an evaluation file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Evaluation {
    /// Name of the file.
    pub name: String,
    /// One to three sentences about what was evaluated and how.
    pub summary: String,
    /// Results by task and policy.
    pub rows: Vec<EvaluationRow>,
}

/// The mean score of a policy on a task.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct EvaluationRow {
    /// Readable name of the task, or of all tasks.
    pub task: String,
    /// Name of the policy or model.
    pub policy: String,
    /// Number of episodes; 0 if the file does not say.
    pub episodes: u32,
    /// Mean score, 0..=1.
    pub mean: f64,
    /// Half the width of the 95 % interval of the mean; NaN if it is unknown.
    pub half_width: f64,
    /// Episodes to open, with the text of the link.
    pub links: Vec<(String, PlayedEpisode)>,
}
