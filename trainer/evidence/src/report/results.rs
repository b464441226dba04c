//! The content of a report as typed data, which is written as `results.json`.
//!
//! The page and the HTML report read nothing else, so that both show the same numbers.

use std::collections::BTreeMap;

use sentinel_base::provenance::Provenance;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::evaluation::Evaluation;
use super::sweep_results::Sweep;
use crate::charts::Chart;

/// The version of `results.json`. It grows when a key changes its meaning or is removed.
pub const FORMAT: u32 = 1;

/// Everything that a report shows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Results {
    /// The version of the format, [`FORMAT`].
    pub format: u32,
    /// The title of the report.
    pub title: String,
    /// The sweeps, in the order of the command line.
    pub sweeps: Vec<Sweep>,
    /// The training runs that were named on their own.
    pub runs: Vec<TrainingRun>,
    /// The evaluations that were named on their own.
    pub evaluations: Vec<Evaluation>,
    /// The charts, in the order of the report.
    pub charts: Vec<ChartEntry>,
    /// The charts that could not be drawn, because an input is missing.
    pub missing: Vec<MissingChart>,
    /// The raw data that was copied beside the report.
    pub files: Vec<RawFile>,
    /// The program and command that made the report, the digests of all inputs, and every fallback
    /// that one of them depends on.
    pub provenance: Provenance,
}

/// A run of `train`, `imitate`, `lm sft` or `lm grpo`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrainingRun {
    /// The name of the run in this report and of its folder in `data/`.
    pub id: String,
    /// The folder that was read.
    pub path: String,
    /// The algorithm: `grpo`, `imitation` or `sft`.
    pub method: String,
    /// The state in which the run is.
    pub status: RunStatus,
    /// The world, where the options name one.
    pub world: Option<String>,
    /// The tasks, where the options name them.
    pub task: Option<String>,
    /// The rules, where the options name them.
    pub rules: Option<String>,
    /// The model that was trained further, where there is one.
    pub model: Option<String>,
    /// The seed of the run.
    pub seed: Option<u64>,
    /// The number of parameters of the model.
    pub parameters: usize,
    /// The number of parameters that are trained.
    pub trained: usize,
    /// The number of steps done.
    pub steps: usize,
    /// The number of steps of the whole run.
    pub max_steps: usize,
    /// The seconds that all steps took, of a run that has finished.
    pub seconds: Option<f64>,
    /// The evaluation with the best score.
    pub best: Option<BestScore>,
    /// The scores on the test seeds, of a run that has finished and has some.
    pub test: Option<TestScores>,
    /// The logged values of each drawn metric, as pairs of step and value.
    pub series: BTreeMap<String, Vec<[f64; 2]>>,
    /// The warnings that the run emitted.
    pub warnings: Vec<String>,
    /// All options by name.
    pub options: Map<String, Value>,
    /// The program that trained, the digests of what it read, and its fallbacks.
    pub provenance: Provenance,
}

/// The state in which a run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunStatus {
    /// All steps were taken.
    Finished,
    /// The run was interrupted and can be resumed.
    Interrupted,
    /// The run is active, or was killed.
    Unfinished,
}

impl RunStatus {
    /// Returns the word for the state.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Finished => "finished",
            Self::Interrupted => "interrupted",
            Self::Unfinished => "unfinished",
        }
    }
}

/// The best evaluation of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BestScore {
    /// The step after which it was made.
    pub step: usize,
    /// The score of the evaluation.
    pub score: f64,
    /// The folder of its checkpoint, if it was kept.
    pub checkpoint: Option<String>,
}

/// The scores of a run's policy and of scripted policies on the test seeds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TestScores {
    /// The seeds of each task, as `A..B`.
    pub seeds: Option<String>,
    /// The mean score over the tasks.
    pub overall: f64,
    /// The mean score of each task, in the order of the run's tasks.
    pub tasks: Vec<f64>,
    /// The mean scores of scripted policies on the same seeds, in the order of the run.
    pub baselines: Vec<(String, f64)>,
}

/// A chart of the report.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ChartEntry {
    /// The section of the report that shows the chart: `sweep`, `integrity`, `run`, `evaluation` or
    /// `charts`.
    pub section: Section,
    /// The id of the run or evaluation that it shows, where it shows a single one.
    pub of: Option<String>,
    /// The caption: how to read the chart, and what its numbers are.
    pub caption: String,
    /// The origin of a chart of a folder; that of the report for the others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provenance: Option<Provenance>,
    /// The data that is drawn. Its files are `charts/NAME.svg`, `.png` and `.json`.
    pub chart: Chart,
}

/// A section of the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Section {
    /// The comparison of the models of a sweep.
    Sweep,
    /// The checks against reward hacking and overfitting.
    Integrity,
    /// The curves of a training run.
    Run,
    /// The scores of an evaluation.
    Evaluation,
    /// The charts of a folder.
    Charts,
}

/// A chart that could not be drawn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MissingChart {
    /// The name that the chart would have.
    pub chart: String,
    /// The input that is missing.
    pub reason: String,
    /// A command that makes the input.
    pub command: String,
}

/// A file that was copied beside the report.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RawFile {
    /// The path in the report's folder.
    pub path: String,
    /// The path that was read.
    pub source: String,
    /// The SHA-256 of its content.
    pub sha256: String,
    /// The size in bytes.
    pub bytes: u64,
}
