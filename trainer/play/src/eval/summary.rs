//! The results of an evaluation, summarized; each world writes them as the reference does.

use std::path::PathBuf;
use std::sync::Arc;

use sentinel_base::Error;
use sentinel_env::adaptive_difficulty::DifficultyProfile;
use sentinel_env::rng::Streams;
use sentinel_policy::Playable;
use sentinel_policy::nn::{Model, NetworkWorld, TrainedPolicy};
use sentinel_policy::policy::Player;
use sentinel_policy::rollout::EpisodeRun;
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};

use super::origin::{EvalOrigin, WithOrigin};

/// A world with an evaluation that is summarized as in the reference.
pub trait Evaluated: NetworkWorld + Playable {
    /// One row of the file's `episodes`.
    type Row: Serialize + Clone + std::fmt::Debug + PartialEq + Send + Sync;
    /// The means over some rows.
    type Summary: Serialize + Clone + std::fmt::Debug + PartialEq + Send;
    /// The policies that play by default, separated by commas.
    const DEFAULT_POLICIES: &'static str;
    /// The task that is played by default; `None` for all of the world.
    const DEFAULT_TASK: Option<&'static str>;
    /// The columns of the table after policy, task and episodes.
    const TABLE_COLUMNS: &'static [&'static str];

    /// Returns the row of an episode.
    fn episode_row(policy: &str, run: &EpisodeRun<Self>) -> Self::Row;
    /// Returns the summary of some rows; all 0 for no rows.
    fn summarize(rows: &[&Self::Row]) -> Self::Summary;
    /// Returns the number of episodes, and the numbers of the table's columns.
    fn table_cells(summary: &Self::Summary) -> (usize, Vec<f64>);
    /// Returns the file: the reference's keys in its order, with additional keys only if needed.
    fn file_content(evaluation: &Evaluation<Self>) -> impl Serialize;
    /// Returns the greedy player of a model.
    #[must_use]
    fn trained_player(model: &Arc<Model<Self::Net>>) -> Player<Self> {
        Player::Public(Box::new(TrainedPolicy::new(Arc::clone(model))))
    }
}

/// A map in insertion order, as in Python.
#[derive(Clone, Debug, PartialEq)]
pub struct OrderedMap<T>(pub Vec<(String, T)>);

impl<T> OrderedMap<T> {
    /// Returns the value of a key.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&T> {
        self.0
            .iter()
            .find(|(name, _)| name == key)
            .map(|(_, value)| value)
    }

    pub(super) fn get_or_insert_with(&mut self, key: &str, make: impl FnOnce() -> T) -> &mut T {
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

impl<T> Default for OrderedMap<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T: Serialize> Serialize for OrderedMap<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (key, value) in &self.0 {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}

/// The state of a difficulty controller; `None` (`{}` in a file) for fixed difficulty.
pub type Difficulty = Option<DifficultyProfile>;

pub(crate) fn or_empty<S: Serializer>(
    difficulty: &Difficulty,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match difficulty {
        Some(profile) => profile.serialize(serializer),
        None => serializer.serialize_map(Some(0))?.end(),
    }
}

/// A controller's state as a map's value.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(transparent)]
pub struct DifficultyState(#[serde(serialize_with = "or_empty")] pub Difficulty);

/// Counts of recorded actions and of fallback actions of policy `trained`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ReplayUse {
    /// The path of the replay.
    pub file: Option<PathBuf>,
    /// The number of rows that can be played.
    pub rows: usize,
    /// The number of lines that cannot be played.
    pub problems: usize,
    /// The number of recorded actions that were played.
    pub replay_hits: usize,
    /// The number of actions of the fallback heuristic, for steps without a row.
    pub replay_misses: usize,
    /// The number of rows that name another scenario than the one played.
    pub replay_mismatches: usize,
    /// The number of recorded actions that are the fallback's, because the completion was not an
    /// action; left out for 0.
    #[serde(skip_serializing_if = "sentinel_base::is_zero")]
    pub replay_fallbacks: usize,
    /// The number of misses by task.
    pub replay_misses_by_task: OrderedMap<usize>,
}

/// The result of an evaluation.
#[derive(Clone, Debug, PartialEq)]
pub struct Evaluation<W: Evaluated> {
    /// The tasks as given on the command line.
    pub task: String,
    /// The names of the tasks, in order.
    pub tasks: Vec<&'static str>,
    /// The number of seeds.
    pub episodes_per_policy: u64,
    /// `true` if the difficulty followed the detection rate.
    pub adaptive: bool,
    /// The mode in which random streams were seeded.
    pub streams: Streams,
    /// The name of the rules.
    pub rules: String,
    /// The controller's state after the last block, if difficulty was adaptive.
    pub difficulty: Difficulty,
    /// The controller's state for each task and policy.
    pub difficulty_by_task_policy: OrderedMap<OrderedMap<DifficultyState>>,
    /// The summary of each policy, in the order given.
    pub summary: OrderedMap<W::Summary>,
    /// The summaries by task, sorted, and policy.
    pub by_task: OrderedMap<OrderedMap<W::Summary>>,
    /// The use of the replay, if policy `trained` took part and played one.
    pub replay: Option<ReplayUse>,
    /// The folder of the model, if policy `trained` took part and is one.
    pub model: Option<PathBuf>,
    /// The adversary's threshold, if one was given.
    pub adversary_threshold: Option<f64>,
    /// The rows of all episodes: by task, then policy, then seed.
    pub episodes: Vec<W::Row>,
    /// The origin of the result: what was played, by which program, and from which inputs.
    pub sentinel: EvalOrigin,
}

impl<W: Evaluated> Evaluation<W> {
    /// Returns the file's text: JSON indented by two, with a final line break.
    ///
    /// # Errors
    /// Returns the error of serialization, which a finished evaluation does not cause.
    pub fn to_json(&self) -> Result<String, Error> {
        let mut text = serde_json::to_string_pretty(&WithOrigin {
            file: W::file_content(self),
            sentinel: &self.sentinel,
        })?;
        text.push('\n');
        Ok(text)
    }
}
