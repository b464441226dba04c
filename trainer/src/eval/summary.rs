//! The reference's evaluation file: its keys, their order, its rounding.

use std::path::{Path, PathBuf};

use sentinel_env::controller::DifficultyProfile;
use sentinel_env::num::round_to;
use sentinel_env::rng::Streams;
use sentinel_policy::EpisodeRow;
use sentinel_policy::replay::Replay;
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};

use super::{Block, EvalConfig, ReplayCounts, Source};
use crate::{Contestant, Error};

/// A map in insertion order, as Python's are.
#[derive(Clone, Debug, PartialEq)]
pub struct Ordered<T>(pub Vec<(String, T)>);

impl<T> Ordered<T> {
    /// The value under a key.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&T> {
        self.0
            .iter()
            .find(|(name, _)| name == key)
            .map(|(_, value)| value)
    }

    fn get_or_insert_with(&mut self, key: &str, make: impl FnOnce() -> T) -> &mut T {
        let index = self
            .0
            .iter()
            .position(|(name, _)| name == key)
            .unwrap_or_else(|| {
                self.0.push((key.to_owned(), make()));
                self.0.len() - 1
            });
        &mut self.0[index].1
    }
}

impl<T> Default for Ordered<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T: Serialize> Serialize for Ordered<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (key, value) in &self.0 {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}

/// Means over the episodes of a policy, of the rounded values of their rows, to four decimals.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[allow(
    missing_docs,
    reason = "the field names are the format, spec training-eval §1"
)]
pub struct PolicySummary {
    pub episodes: usize,
    pub avg_score: f64,
    pub avg_completion_rate: f64,
    pub avg_detection_rate: f64,
    pub avg_trust_calibration: f64,
    pub avg_steps: f64,
}

impl PolicySummary {
    /// Sums up some rows; all 0 without any.
    #[must_use]
    pub fn of(rows: &[&EpisodeRow]) -> Self {
        let mean = |value: fn(&EpisodeRow) -> f64| {
            let sum: f64 = rows.iter().map(|row| value(row)).sum();
            round_to(sum / rows.len().max(1) as f64, 4)
        };
        Self {
            episodes: rows.len(),
            avg_score: mean(|row| row.score),
            avg_completion_rate: mean(|row| row.completion_rate),
            avg_detection_rate: mean(|row| row.detection_rate),
            avg_trust_calibration: mean(|row| row.trust_calibration),
            avg_steps: mean(|row| f64::from(row.steps)),
        }
    }
}

/// The state of a difficulty controller; `{}` when difficulty was fixed.
pub type Difficulty = Option<DifficultyProfile>;

fn or_empty<S: Serializer>(difficulty: &Difficulty, serializer: S) -> Result<S::Ok, S::Error> {
    match difficulty {
        Some(profile) => profile.serialize(serializer),
        None => serializer.serialize_map(Some(0))?.end(),
    }
}

/// A controller's state as a map's value.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(transparent)]
pub struct State(#[serde(serialize_with = "or_empty")] pub Difficulty);

/// How much of policy `trained` was recorded, and how much the fallback filled in.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ReplayUse {
    /// The replay.
    pub file: Option<PathBuf>,
    /// Its rows that can be played.
    pub rows: usize,
    /// Its lines that cannot.
    pub problems: usize,
    /// Recorded actions that were played.
    pub replay_hits: usize,
    /// Actions of the fallback heuristic, for which there was no row.
    pub replay_misses: usize,
    /// Rows that name another scenario than the one played.
    pub replay_mismatches: usize,
    /// Misses by task.
    pub replay_misses_by_task: Ordered<usize>,
}

/// Everything that an evaluation found. Serialises to the reference's file; keys of ours stand in
/// it only where they say something that its reader must know.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[allow(
    missing_docs,
    reason = "the field names are the format, spec training-eval §1"
)]
pub struct Evaluation {
    pub task: String,
    pub tasks: Vec<&'static str>,
    pub episodes_per_policy: u64,
    pub adaptive: bool,
    #[serde(serialize_with = "or_empty")]
    pub difficulty_controller: Difficulty,
    pub difficulty_controller_by_task_policy: Ordered<Ordered<State>>,
    pub summary: Ordered<PolicySummary>,
    pub by_task: Ordered<Ordered<PolicySummary>>,
    /// Only when they are not the reference's.
    #[serde(skip_serializing_if = "is_reference")]
    pub streams: Streams,
    /// Only when policy `trained` took part and played a replay.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replay: Option<ReplayUse>,
    /// Only when policy `trained` took part and is a model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<PathBuf>,
    /// Only when it was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub adversary_threshold: Option<f64>,
    pub episodes: Vec<EpisodeRow>,
}

fn is_reference(streams: &Streams) -> bool {
    *streams == Streams::Reference
}

impl Evaluation {
    /// Sums up what was played.
    pub(super) fn of(config: &EvalConfig, blocks: Vec<Block>, trained: Option<&Source>) -> Self {
        let mut states = Ordered::default();
        for block in &blocks {
            let of_task: &mut Ordered<State> =
                states.get_or_insert_with(block.task.name(), Ordered::default);
            of_task
                .0
                .push((block.policy.name().to_owned(), State(block.difficulty)));
        }
        let mut tasks = config.task.list.clone();
        tasks.sort_unstable();
        let by_task = tasks.iter().map(|task| {
            let of_task = |row: &EpisodeRow| row.task_type == *task;
            (task.name().to_owned(), summarise(config, &blocks, of_task))
        });
        let takes_part = config.policies.0.contains(&Contestant::Trained);
        let model = match trained {
            Some(Source::Model(path, _)) => Some(path.clone()),
            _ => None,
        };
        Self {
            task: config.task.name.clone(),
            tasks: config.task.list.iter().map(|task| task.name()).collect(),
            episodes_per_policy: config.seed_range().count(),
            adaptive: config.adaptive,
            difficulty_controller: blocks.last().and_then(|block| block.difficulty),
            difficulty_controller_by_task_policy: states,
            summary: summarise(config, &blocks, |_| true),
            by_task: Ordered(by_task.collect()),
            streams: config.streams,
            replay: (takes_part && model.is_none())
                .then(|| replay_use(&blocks, trained.and_then(Source::replay))),
            model,
            adversary_threshold: config.adversary_threshold,
            episodes: blocks
                .into_iter()
                .flat_map(|block| block.played.into_iter().map(|played| played.row))
                .collect(),
        }
    }

    /// The file: indented by two, with a final line break.
    ///
    /// # Errors
    /// None that a finished evaluation can cause.
    pub fn to_json(&self) -> Result<String, Error> {
        let mut text = serde_json::to_string_pretty(self)?;
        text.push('\n');
        Ok(text)
    }
}

fn summarise(
    config: &EvalConfig,
    blocks: &[Block],
    counts: impl Fn(&EpisodeRow) -> bool,
) -> Ordered<PolicySummary> {
    let summary = config.policies.0.iter().map(|policy| {
        let of_policy = blocks.iter().filter(|block| block.policy == *policy);
        let rows = of_policy.flat_map(|block| block.played.iter().map(|played| &played.row));
        let rows: Vec<&EpisodeRow> = rows.filter(|row| counts(row)).collect();
        (policy.name().to_owned(), PolicySummary::of(&rows))
    });
    Ordered(summary.collect())
}

fn replay_use(blocks: &[Block], replay: Option<(&Path, &Replay)>) -> ReplayUse {
    let mut misses = Ordered::default();
    let mut sum = ReplayCounts::default();
    for block in blocks
        .iter()
        .filter(|block| block.policy == Contestant::Trained)
    {
        let of_task = misses.get_or_insert_with(block.task.name(), || 0);
        for counts in block.played.iter().map(|played| played.replay) {
            *of_task += counts.misses;
            sum.hits += counts.hits;
            sum.misses += counts.misses;
            sum.mismatches += counts.mismatches;
        }
    }
    ReplayUse {
        file: replay.map(|(path, _)| path.to_owned()),
        rows: replay.map_or(0, |(_, replay)| replay.rows()),
        problems: replay.map_or(0, |(_, replay)| replay.problem_count()),
        replay_hits: sum.hits,
        replay_misses: sum.misses,
        replay_mismatches: sum.mismatches,
        replay_misses_by_task: misses,
    }
}
