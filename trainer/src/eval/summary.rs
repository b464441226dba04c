//! The results of an evaluation, summarized; each world writes them as the reference does.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use sentinel_env::TaskName as _;
use sentinel_env::adaptive_difficulty::DifficultyProfile;
use sentinel_env::rng::Streams;
use sentinel_policy::Playable;
use sentinel_policy::nn::{Model, TrainedPolicy};
use sentinel_policy::policy::Player;
use sentinel_policy::replay::Replay;
use sentinel_policy::rollout::EpisodeRun;
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};

use super::origin::{EvalOrigin, WithOrigin};
use super::{Block, Diagnostics, Plan, ReplayCounts, TrainedSource};
use crate::provenance::Provenance;
use crate::trainable::Trainable;
use crate::{Error, EvalPolicy};

/// A world with an evaluation that is summarized as in the reference.
pub trait Evaluated: Trainable + Playable {
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
    #[serde(skip_serializing_if = "crate::is_zero")]
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
    /// Summarizes the episodes that were played.
    pub(super) fn new(
        plan: &Plan<'_, W>,
        blocks: Vec<Block<W>>,
        trained: Option<&TrainedSource<W>>,
    ) -> Self {
        let mut states = OrderedMap::default();
        for block in &blocks {
            let of_task: &mut OrderedMap<DifficultyState> =
                states.get_or_insert_with(block.task.name(), OrderedMap::default);
            of_task.0.push((
                block.policy.name().to_owned(),
                DifficultyState(block.difficulty),
            ));
        }
        let config = plan.config;
        let mut tasks = plan.tasks.clone();
        tasks.sort_unstable();
        let by_task = tasks.iter().map(|task| {
            let summary = summarize(plan, &blocks, |other| other == *task);
            (task.name().to_owned(), summary)
        });
        let takes_part = plan.policies.contains(&EvalPolicy::Trained);
        let model = match trained {
            Some(TrainedSource::Model { path, .. }) => Some(path.clone()),
            _ => None,
        };
        let replay = (takes_part && model.is_none())
            .then(|| replay_use(&blocks, trained.and_then(TrainedSource::replay)));
        let sentinel = EvalOrigin {
            diagnostics: diagnostics(plan, &blocks),
            ..origin(plan, trained, model.as_deref(), replay.as_ref())
        };
        Self {
            task: (config.episode.task)
                .as_deref()
                .or(W::DEFAULT_TASK)
                .unwrap_or("all")
                .to_owned(),
            tasks: plan.tasks.iter().map(|task| task.name()).collect(),
            episodes_per_policy: config.seed_range().count(),
            adaptive: config.adaptive,
            streams: plan.streams,
            rules: plan.rules.to_string(),
            difficulty: blocks.last().and_then(|block| block.difficulty),
            difficulty_by_task_policy: states,
            summary: summarize(plan, &blocks, |_| true),
            by_task: OrderedMap(by_task.collect()),
            replay,
            model,
            adversary_threshold: config.adversary_threshold,
            episodes: blocks
                .into_iter()
                .flat_map(|block| block.played.into_iter().map(|played| played.row))
                .collect(),
            sentinel,
        }
    }

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

fn summarize<W: Evaluated>(
    plan: &Plan<'_, W>,
    blocks: &[Block<W>],
    counts: impl Fn(W::Task) -> bool,
) -> OrderedMap<W::Summary> {
    let summary = plan.policies.iter().map(|policy| {
        let of_policy = blocks.iter().filter(|block| block.policy == *policy);
        let of_tasks = of_policy.filter(|block| counts(block.task));
        let rows = of_tasks.flat_map(|block| block.played.iter().map(|played| &played.row));
        let rows: Vec<&W::Row> = rows.collect();
        (policy.name().to_owned(), W::summarize(&rows))
    });
    OrderedMap(summary.collect())
}

/// Returns the behavior of each policy, in the order given.
fn diagnostics<W: Evaluated>(plan: &Plan<'_, W>, blocks: &[Block<W>]) -> Vec<Diagnostics> {
    let of_policy = |policy: &EvalPolicy<W>| {
        let blocks = blocks.iter().filter(|block| block.policy == *policy);
        let played = blocks.flat_map(|block| &block.played);
        let facts = played.filter_map(|one| one.facts.as_ref());
        Diagnostics::summarize_by_split(policy.name(), facts, W::EXPLOITS)
    };
    plan.policies.iter().flat_map(of_policy).collect()
}

/// Returns the origin of the result, with the fallbacks of its sources and those that acted.
fn origin<W: Evaluated>(
    plan: &Plan<'_, W>,
    trained: Option<&TrainedSource<W>>,
    model: Option<&Path>,
    replay: Option<&ReplayUse>,
) -> EvalOrigin {
    let mut provenance = trained.map_or_else(Provenance::new, |source| source.provenance().clone());
    let acted = replay.map_or([0; 2], |used| [used.replay_fallbacks, used.replay_misses]);
    let why = ["the completion was not an action", "the replay has no row"];
    for (count, why) in acted.into_iter().zip(why).filter(|(count, _)| *count > 0) {
        provenance.add_fallback("eval", format!("{count} steps are the fallback's: {why}"));
    }
    EvalOrigin {
        world: W::NAME,
        model: model.map(|path| path.display().to_string()),
        adapter: None,
        replay: replay.and_then(|used| used.file.clone()),
        seeds: plan.config.seed_range(),
        streams: plan.streams,
        rules: plan.rules.to_string(),
        diagnostics: Vec::new(),
        warnings: Vec::new(),
        provenance,
    }
}

fn replay_use<W: Evaluated>(blocks: &[Block<W>], replay: Option<(&Path, &Replay<W>)>) -> ReplayUse {
    let mut misses = OrderedMap::default();
    let mut sum = ReplayCounts::default();
    for block in blocks
        .iter()
        .filter(|block| block.policy == EvalPolicy::Trained)
    {
        let of_task = misses.get_or_insert_with(block.task.name(), || 0);
        for counts in block.played.iter().map(|played| played.replay) {
            *of_task += counts.misses;
            sum.hits += counts.hits;
            sum.misses += counts.misses;
            sum.mismatches += counts.mismatches;
            sum.fallbacks += counts.fallbacks;
        }
    }
    ReplayUse {
        file: replay.map(|(path, _)| path.to_owned()),
        rows: replay.map_or(0, |(_, replay)| replay.row_count()),
        problems: replay.map_or(0, |(_, replay)| replay.problem_count()),
        replay_hits: sum.hits,
        replay_misses: sum.misses,
        replay_mismatches: sum.mismatches,
        replay_fallbacks: sum.fallbacks,
        replay_misses_by_task: misses,
    }
}
