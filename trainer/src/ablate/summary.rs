//! What came of the episodes of a row.

use sentinel_env::Environment;
use sentinel_env::num::round_to;
use sentinel_env::polyguard::{Action, End, Episode, Step};
use serde::Serialize;

use super::RowKey;
use crate::SeedRange;
use crate::interval::Interval;
use crate::provenance::Provenance;

/// An episode that has ended.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ended {
    score: f64,
    end: Option<End>,
    steps: u32,
    invalid: u32,
    fallbacks: u32,
}

/// Whether a critic put something in the place of a choice.
pub(super) const fn is_fallback(step: &Step) -> bool {
    match step.action {
        Action::Choose(choice) => choice.fallback,
        Action::Invalid(_) | Action::Exploit => false,
    }
}

impl Ended {
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

/// One row.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// Who played.
    pub row: String,
    /// What came of it; absent where no model was given.
    #[serde(flatten)]
    pub found: Option<Found>,
}

/// What came of the episodes of a row. Shares are of episodes unless they say otherwise.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Found {
    /// Episodes.
    pub episodes: usize,
    /// Score, cells counting alike.
    pub score: Interval,
    /// Mean score cell by cell, in the order of the cells.
    pub by_cell: Vec<f64>,
    /// Ended with everything put right.
    pub safe_resolution: f64,
    /// Ended with a review that was justified.
    pub justified_review: f64,
    /// Ended as cheating.
    pub exploit_detection: f64,
    /// Ended because a critic stepped in three times.
    pub safety_veto: f64,
    /// Ended with the patient's conditions out of control.
    pub destabilised: f64,
    /// Steps that were refused, of all steps.
    pub invalid: f64,
    /// Steps that a critic's fallback took, of all steps.
    pub fallback_rate: f64,
    /// Mean number of steps.
    pub steps: f64,
}

impl Row {
    /// Sums up the episodes, cell by cell; `None` where there was no model.
    pub(super) fn new(key: RowKey, cells: Option<Vec<Vec<Ended>>>) -> Self {
        Self {
            row: key.name(),
            found: cells.map(|cells| Found::from_cells(&cells)),
        }
    }
}

impl Found {
    fn from_cells(cells: &[Vec<Ended>]) -> Self {
        let scores: Vec<Vec<f64>> = cells
            .iter()
            .map(|cell| cell.iter().map(|ended| ended.score).collect())
            .collect();
        let all = || cells.iter().flatten();
        let count = all().count().max(1) as f64;
        let share = |end: End| {
            let with = all().filter(|ended| ended.end == Some(end)).count();
            round_to(with as f64 / count, 4)
        };
        let sum = |of: fn(&Ended) -> u32| f64::from(all().map(of).sum::<u32>());
        let steps = sum(|ended| ended.steps).max(1.0);
        let mean = |scores: &Vec<f64>| scores.iter().sum::<f64>() / scores.len().max(1) as f64;
        Self {
            episodes: all().count(),
            score: Interval::of_cells(&scores),
            by_cell: scores.iter().map(|cell| round_to(mean(cell), 4)).collect(),
            safe_resolution: share(End::SafeResolution),
            justified_review: share(End::JustifiedReview),
            exploit_detection: share(End::ExploitDetection),
            safety_veto: share(End::SafetyVeto),
            destabilised: share(End::Destabilised),
            invalid: round_to(sum(|ended| ended.invalid) / steps, 4),
            fallback_rate: round_to(sum(|ended| ended.fallbacks) / steps, 4),
            steps: round_to(sum(|ended| ended.steps) / count, 4),
        }
    }
}

/// What an ablation found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Ablation {
    /// The world.
    pub world: &'static str,
    /// The rules.
    pub rules: String,
    /// The seeds of each cell.
    pub seeds: SeedRange,
    /// The cells, in order.
    pub cells: Vec<&'static str>,
    /// The language model, where one played.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Row by row.
    pub ablation: Vec<Row>,
    /// The program, and where the language model comes from.
    pub sentinel: Provenance,
}

impl Ablation {
    /// The file: indented by two, with a final line break.
    ///
    /// # Errors
    /// None that a finished ablation can cause.
    pub fn to_json(&self) -> Result<String, crate::Error> {
        let mut text = serde_json::to_string_pretty(self)?;
        text.push('\n');
        Ok(text)
    }
}
