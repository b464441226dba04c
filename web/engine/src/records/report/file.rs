//! The parts of `results.json` and `policy_ablations.json` that the page shows.
//! docs/reference/results.md describes the format.

use std::collections::BTreeMap;

use serde::Deserialize;

/// The version of `results.json` that is read.
const FORMAT: u32 = 1;

/// A file of `sentinel report`.
#[derive(Debug, Deserialize)]
pub(super) struct Results {
    format: u32,
    pub title: String,
    pub sweeps: Vec<Sweep>,
    pub evaluations: Vec<Evaluation>,
    pub charts: Vec<ChartEntry>,
    pub provenance: Provenance,
}

#[derive(Debug, Deserialize)]
pub(super) struct Provenance {
    #[serde(default)]
    pub command: Option<String>,
}

impl Provenance {
    /// Returns the command; empty if the file has none.
    pub(super) fn command(&self) -> String {
        self.command.clone().unwrap_or_default()
    }
}

#[derive(Debug, Deserialize)]
pub(super) struct Sweep {
    pub entries: Vec<SweepEntry>,
}

#[derive(Debug, Deserialize)]
pub(super) struct SweepEntry {
    pub label: String,
    #[serde(default)]
    pub improvement: Option<Improvement>,
    #[serde(default)]
    pub gate: Option<Gate>,
    pub evaluations: BTreeMap<String, Evaluation>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Improvement {
    pub difference: f64,
    #[serde(default)]
    pub interval: Option<[f64; 2]>,
    #[serde(default)]
    pub pairs: Option<u64>,
    #[serde(default)]
    pub seeds: Option<String>,
    pub provenance: Provenance,
}

#[derive(Debug, Deserialize)]
pub(super) struct Gate {
    pub accepted: bool,
}

#[derive(Debug, Deserialize)]
pub(super) struct Evaluation {
    pub id: String,
    pub world: String,
    #[serde(default)]
    pub model: Option<String>,
    pub seeds: String,
    pub streams: String,
    pub rules: String,
    pub policies: Vec<PolicyScore>,
    #[serde(default)]
    pub validity: Option<f64>,
    pub provenance: Provenance,
}

#[derive(Debug, Deserialize)]
pub(super) struct PolicyScore {
    pub policy: String,
    pub episodes: u64,
    pub score: Interval,
    pub tasks: Vec<TaskScore>,
}

#[derive(Debug, Deserialize)]
pub(super) struct TaskScore {
    pub task: String,
    pub score: Interval,
    #[serde(default)]
    pub examples: Vec<ScoredEpisode>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
pub(super) struct ScoredEpisode {
    pub seed: u64,
    pub score: f64,
}

/// A mean with half the width of its interval, which a single episode does not have.
#[derive(Clone, Copy, Debug, Deserialize)]
pub(super) struct Interval {
    pub mean: f64,
    #[serde(default)]
    pub half_width: Option<f64>,
}

#[derive(Debug, Deserialize)]
pub(super) struct ChartEntry {
    pub section: String,
    pub caption: String,
    pub chart: ChartFile,
}

#[derive(Debug, Deserialize)]
pub(super) struct ChartFile {
    pub name: String,
    pub title: String,
    #[serde(default)]
    pub subtitle: Option<String>,
    pub x: Axis,
    pub y: Axis,
    pub plot: Plot,
}

#[derive(Debug, Deserialize)]
pub(super) struct Axis {
    pub label: String,
    #[serde(default)]
    pub unit: Option<String>,
    #[serde(default)]
    pub range: Option<[f64; 2]>,
}

impl Axis {
    /// Returns the label with its unit.
    pub(super) fn name(&self) -> String {
        match &self.unit {
            Some(unit) => format!("{} ({unit})", self.label),
            None => self.label.clone(),
        }
    }
}

#[derive(Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(super) enum Plot {
    GroupedBars {
        groups: Vec<String>,
        series: Vec<BarSeries>,
    },
    HorizontalBars {
        rows: Vec<BarRow>,
    },
    Lines {
        series: Vec<PointSeries>,
    },
    Points {
        series: Vec<PointSeries>,
    },
    StackedArea {
        x: Vec<f64>,
        series: Vec<AreaSeries>,
    },
    Radar {
        axes: Vec<String>,
        series: Vec<AreaSeries>,
    },
    Fishbone {
        causes: Vec<Cause>,
    },
}

#[derive(Debug, Deserialize)]
pub(super) struct BarSeries {
    pub label: String,
    pub values: Vec<Option<Estimate>>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
pub(super) struct Estimate {
    pub value: f64,
    #[serde(default)]
    pub interval: Option<[f64; 2]>,
}

#[derive(Debug, Deserialize)]
pub(super) struct BarRow {
    pub label: String,
    pub value: f64,
    #[serde(default)]
    pub interval: Option<[f64; 2]>,
}

#[derive(Debug, Deserialize)]
pub(super) struct PointSeries {
    pub label: String,
    pub points: Vec<Point>,
    /// Horizontal positions at which there is no finite value.
    #[serde(default)]
    pub gaps: Vec<f64>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
pub(super) struct Point {
    pub x: f64,
    pub y: f64,
    #[serde(default)]
    pub interval: Option<[f64; 2]>,
}

#[derive(Debug, Deserialize)]
pub(super) struct AreaSeries {
    pub label: String,
    pub values: Vec<f64>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Cause {
    pub label: String,
    pub value: f64,
    pub count: u64,
}

/// The file of `sentinel ablate --out`.
#[derive(Debug, Deserialize)]
pub(super) struct Ablations {
    pub seeds: String,
    pub rules: String,
    pub ablation: Vec<AblationRow>,
}

#[derive(Debug, Deserialize)]
pub(super) struct AblationRow {
    pub row: String,
    pub episodes: u64,
    pub score: Interval,
    pub safe_resolution: f64,
    pub exploit_detection: f64,
    pub invalid: f64,
}

/// Parses the text of a `results.json`.
///
/// # Errors
/// Returns a sentence that names the file and says what is wrong.
pub(super) fn parse_results(path: &str, text: &str) -> Result<Results, String> {
    let results: Results = parse(path, text)?;
    if results.format == FORMAT {
        return Ok(results);
    }
    Err(format!(
        "{path} has format {}; the page reads format {FORMAT}.",
        results.format
    ))
}

/// Parses a JSON file.
///
/// # Errors
/// Returns a sentence that names the file and says what is wrong.
pub(super) fn parse<T: serde::de::DeserializeOwned>(path: &str, text: &str) -> Result<T, String> {
    serde_json::from_str(text).map_err(|error| format!("{path} is not a file of results: {error}"))
}
