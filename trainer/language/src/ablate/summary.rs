//! Summaries of the episodes of a row.

use sentinel_base::SeedRange;
use sentinel_base::interval::ConfidenceInterval;
use sentinel_base::provenance::Provenance;
use sentinel_env::Environment;
use sentinel_env::num::round_to;
use sentinel_env::polyguard::{Action, EndReason, Episode, Step};
use serde::Serialize;

use super::RowKey;

/// The outcome of an episode that has ended.
#[derive(Clone, Copy, Debug)]
pub(super) struct EpisodeOutcome {
    score: f64,
    end: Option<EndReason>,
    steps: u32,
    invalid: u32,
    fallbacks: u32,
}

/// Returns `true` if a critic replaced the choice of this step.
pub(super) const fn is_fallback(step: &Step) -> bool {
    match step.action {
        Action::Choose(choice) => choice.fallback,
        Action::Invalid(_) | Action::Exploit => false,
    }
}

impl EpisodeOutcome {
    pub(super) fn from_episode(episode: &Episode, fallbacks: u32) -> Self {
        let o = episode.observation();
        Self {
            score: episode.score(),
            end: o.end,
            steps: u32::from(o.step_count),
            invalid: u32::from(o.invalid_count),
            fallbacks,
        }
    }
}

/// A row of an ablation: its player and the summary of its episodes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AblationRow {
    /// The name of the row's player.
    pub row: String,
    /// The summary of the row's episodes; absent if the row needs a model and none was given.
    #[serde(flatten)]
    pub found: Option<RowSummary>,
}

/// The summary of a row's episodes. Shares are of episodes unless they say otherwise.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RowSummary {
    /// The number of episodes.
    pub episodes: usize,
    /// The mean score with its 95 % interval; every cell has the same weight.
    pub score: ConfidenceInterval,
    /// The mean score of each cell, in the order of the cells.
    pub by_cell: Vec<f64>,
    /// Share that ended with all problems resolved.
    pub safe_resolution: f64,
    /// Share that ended with a justified review.
    pub justified_review: f64,
    /// Share that ended because an exploit was detected.
    pub exploit_detection: f64,
    /// Share that ended because a critic intervened three times.
    pub safety_veto: f64,
    /// Share that ended with the patient's conditions out of control.
    pub destabilised: f64,
    /// Share of steps that were refused, of all steps.
    pub invalid: f64,
    /// Share of steps that a critic's fallback took, of all steps.
    pub fallback_rate: f64,
    /// The mean number of steps.
    pub steps: f64,
}

impl AblationRow {
    /// Summarizes the episodes of each cell; `found` is `None` if there was no model.
    pub(super) fn new(key: RowKey, cells: Option<Vec<Vec<EpisodeOutcome>>>) -> Self {
        Self {
            row: key.name(),
            found: cells.map(|cells| RowSummary::from_cells(&cells)),
        }
    }
}

impl RowSummary {
    fn from_cells(cells: &[Vec<EpisodeOutcome>]) -> Self {
        let scores: Vec<Vec<f64>> = cells
            .iter()
            .map(|cell| cell.iter().map(|ended| ended.score).collect())
            .collect();
        let all = || cells.iter().flatten();
        let count = all().count().max(1) as f64;
        let share = |end: EndReason| {
            let with = all().filter(|ended| ended.end == Some(end)).count();
            round_to(with as f64 / count, 4)
        };
        let sum = |of: fn(&EpisodeOutcome) -> u32| f64::from(all().map(of).sum::<u32>());
        let steps = sum(|ended| ended.steps).max(1.0);
        let mean = |scores: &Vec<f64>| scores.iter().sum::<f64>() / scores.len().max(1) as f64;
        Self {
            episodes: all().count(),
            score: ConfidenceInterval::from_cells(&scores),
            by_cell: scores.iter().map(|cell| round_to(mean(cell), 4)).collect(),
            safe_resolution: share(EndReason::SafeResolution),
            justified_review: share(EndReason::JustifiedReview),
            exploit_detection: share(EndReason::ExploitDetection),
            safety_veto: share(EndReason::SafetyVeto),
            destabilised: share(EndReason::Destabilised),
            invalid: round_to(sum(|ended| ended.invalid) / steps, 4),
            fallback_rate: round_to(sum(|ended| ended.fallbacks) / steps, 4),
            steps: round_to(sum(|ended| ended.steps) / count, 4),
        }
    }
}

/// The result of an ablation.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Ablation {
    /// The name of the world.
    pub world: &'static str,
    /// The rules of every episode.
    pub rules: String,
    /// The seeds that were played in each cell.
    pub seeds: SeedRange,
    /// The names of the cells, in order.
    pub cells: Vec<&'static str>,
    /// The name of the language model, if one played.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The rows, in the order of `RowKey::all`.
    pub ablation: Vec<AblationRow>,
    /// The provenance of the program and of the language model.
    pub sentinel: Provenance,
}

impl Ablation {
    /// Returns the file's text: JSON indented by two, with a final line break.
    ///
    /// # Errors
    /// Returns the error of serialization, which a finished ablation does not cause.
    pub fn to_json(&self) -> Result<String, sentinel_base::Error> {
        let mut text = serde_json::to_string_pretty(self)?;
        text.push('\n');
        Ok(text)
    }
}
