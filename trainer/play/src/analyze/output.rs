//! The file of `sentinel analyze`: a header, then one episode per line.

use std::io::{BufRead as _, BufReader};
use std::path::Path;

#[cfg(doc)]
use sentinel_policy::analysis::EpisodeReport;
use sentinel_policy::analysis::StateSourceReport;
use sentinel_policy::replay::{Diagnostic, EpisodeId};
use serde::Serialize;
use serde_json::{Map, Value};

use super::AnalyzeConfig;
use sentinel_base::provenance::Provenance;
use sentinel_base::{Error, files};

/// The name and version of the format, in the first line of a file.
pub const FORMAT: &str = "sentinel-analysis/1";
/// The header of a file.
#[derive(Debug, Serialize)]
struct Header<'a> {
    format: &'static str,
    replay: &'a Path,
    policy: &'a str,
    rollouts: u32,
    seed: u64,
    margin: f64,
    hindsight: bool,
    sentinel: &'a Provenance,
}

/// The analysis of one episode of a replay: a line of a file.
#[derive(Debug, Serialize)]
pub struct EpisodeAnalysis {
    /// World, rules, task, streams and seed.
    #[serde(flatten)]
    pub id: EpisodeId,
    #[serde(skip_serializing_if = "is_false")]
    pub(super) research_only: bool,
    /// Final score of the episode, unrounded.
    pub score: Option<f64>,
    /// `false` if the analysis was stopped before all rollouts were done.
    pub complete: bool,
    /// Number of rollouts that were done.
    pub rollouts_done: u64,
    /// Accuracy of the decisions: [`EpisodeReport::accuracy`].
    pub accuracy: Option<f64>,
    /// Mean supported loss of a step: [`EpisodeReport::mean_loss`].
    pub mean_loss: Option<f64>,
    /// Sum of the supported losses: [`EpisodeReport::lost`].
    pub lost: Option<f64>,
    /// Expected score of the policy that plays on: [`EpisodeReport::expected`].
    pub expected: Option<f64>,
    /// Gain of the player's decisions: [`EpisodeReport::decisions`].
    pub decisions: Option<f64>,
    /// Part of the score that comes from chance: [`EpisodeReport::luck`].
    pub luck: Option<f64>,
    /// Indices of the steps that were mistakes.
    pub mistakes: Vec<usize>,
    /// Number of steps without a row, at which the replay's fallback acted.
    pub misses: usize,
    /// Number of rows whose completion was not an action, so that the replay's fallback acted.
    pub fallbacks: usize,
    /// Number of rows that name another scenario.
    pub mismatches: usize,
    /// The steps in order.
    pub steps: Vec<StepAnalysis>,
}

/// The analysis of one step of an episode of a replay.
#[derive(Debug, Serialize)]
pub struct StepAnalysis {
    /// Number of actions taken before.
    pub index: usize,
    /// Steps of the budget used before: `step` of the row.
    pub step: u32,
    /// Line of the row; `None` if there is none.
    pub line: Option<usize>,
    /// Name of the player of the row.
    pub model_source: Option<String>,
    /// The actions that were compared: the keys of a replay, and the action in words.
    pub actions: Vec<Map<String, Value>>,
    /// Index of the action that was chosen.
    pub chosen: usize,
    /// Index of the action that the continuation policy would have chosen.
    pub policy: usize,
    /// The comparison in sampled hidden states.
    pub belief: Option<StateSourceReport>,
    /// The comparison in the true hidden state.
    pub hindsight: Option<StateSourceReport>,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "the signature that serde asks for"
)]
const fn is_false(value: &bool) -> bool {
    !*value
}

/// The analysis of a replay.
#[derive(Debug)]
pub struct ReplayAnalysis {
    /// The episodes that were analyzed, in order.
    pub episodes: Vec<EpisodeAnalysis>,
    /// `true` if the analysis was stopped.
    pub interrupted: bool,
    /// Problems of lines that could not be played, as far as they were kept.
    pub problems: Vec<Diagnostic>,
    /// Number of lines that could not be played.
    pub problem_count: usize,
    /// The files that were read.
    pub provenance: Provenance,
}

impl ReplayAnalysis {
    /// Returns the text of the file: a header, then one episode per line.
    ///
    /// # Errors
    /// Returns an error if a number cannot be written as JSON.
    pub fn to_lines(&self, config: &AnalyzeConfig) -> Result<String, Error> {
        let header = Header {
            format: FORMAT,
            replay: &config.replay,
            policy: &config.policy,
            rollouts: config.rollouts,
            seed: config.seed,
            margin: config.margin,
            hindsight: !config.belief_only,
            sentinel: &self.provenance,
        };
        let mut text = serde_json::to_string(&header)? + "\n";
        for episode in &self.episodes {
            text.push_str(&serde_json::to_string(episode)?);
            text.push('\n');
        }
        Ok(text)
    }
}

/// Checks that the file of results can be written, and overwrites no file of another kind.
///
/// # Errors
/// Returns an error if its folder is missing, or something else is there.
pub fn check_out(path: &Path) -> Result<(), Error> {
    files::check_writable(path)?;
    if !path.is_file() {
        return Ok(());
    }
    let failed = |source| Error::Read {
        path: path.to_owned(),
        source,
    };
    let mut first = Vec::new();
    let file = std::fs::File::open(path).map_err(failed)?;
    BufReader::new(file)
        .read_until(b'\n', &mut first)
        .map_err(failed)?;
    let header: Option<Value> = serde_json::from_slice(&first).ok();
    let format = header
        .as_ref()
        .and_then(|header| header.get("format")?.as_str());
    if first.is_empty() || format == Some(FORMAT) {
        return Ok(());
    }
    Err(Error::NotReplaceable {
        path: path.to_owned(),
        kind: "an analysis",
    })
}
