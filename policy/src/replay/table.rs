//! The rows of a file by episode and step.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;

use sentinel_env::rng::Streams;
use sentinel_env::rules::{RuleBits, Rules};
use sentinel_env::{TaskBits, TaskName, World, cluster, polyguard, trust};

use super::{Problem, ReplayRow};
use crate::{Playable, WorldName, in_world};

/// Which episode a row belongs to. Ordered by world, rules, streams, task and seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EpisodeKey {
    /// The world.
    pub world: WorldName,
    /// What differs from the reference's rules.
    pub rules: RuleBits,
    /// How the streams are seeded.
    pub streams: Streams,
    /// The task, one of the world's.
    pub task: TaskBits,
    /// The seed.
    pub seed: u64,
}

impl EpisodeKey {
    /// The episode of a row.
    #[must_use]
    pub const fn of(row: &ReplayRow) -> Self {
        Self {
            world: row.world,
            rules: row.rules,
            streams: row.streams,
            task: row.task_type,
            seed: row.seed,
        }
    }

    /// The episode that a setup makes; its difficulty is no part of the key.
    #[must_use]
    pub fn made_by<W: Playable>(setup: &W::Setup) -> Self {
        let origin = W::origin(setup);
        Self {
            world: W::WORLD,
            rules: origin.rules.bits(),
            streams: origin.streams,
            task: origin.task.bits(),
            seed: origin.seed,
        }
    }

    /// What to play, at default difficulty; none when `W` has no such task, as it has when it is
    /// not the key's world.
    #[must_use]
    pub fn setup<W: World>(&self) -> Option<W::Setup> {
        let task = W::Task::of(self.task)?;
        let rules = Rules::of(self.rules);
        Some(W::setup(task, self.seed, self.streams, rules))
    }

    /// The name of the task.
    #[must_use]
    pub fn task_name(&self) -> &'static str {
        task_name(self.world, self.task)
    }

    /// The name of the rules.
    #[must_use]
    pub fn rules_text(&self) -> String {
        rules_text(self.world, self.rules)
    }

    fn order(&self) -> (WorldName, RuleBits, u8, TaskBits, u64) {
        (
            self.world,
            self.rules,
            self.streams as u8,
            self.task,
            self.seed,
        )
    }
}

/// The name of a world's task; only bits of another world have none.
pub(super) fn task_name(world: WorldName, task: TaskBits) -> &'static str {
    in_world!(world, W => <W as World>::Task::of(task).map_or("unknown", TaskName::name))
}

/// The name of a world's rules.
pub(super) fn rules_text(world: WorldName, rules: RuleBits) -> String {
    in_world!(world, W => Rules::<<W as World>::Change>::of(rules).to_string())
}

impl From<&trust::Setup> for EpisodeKey {
    fn from(setup: &trust::Setup) -> Self {
        Self::made_by::<trust::TrustWorld>(setup)
    }
}

impl From<&polyguard::Setup> for EpisodeKey {
    fn from(setup: &polyguard::Setup) -> Self {
        Self::made_by::<polyguard::PolyguardWorld>(setup)
    }
}

impl From<&cluster::Setup> for EpisodeKey {
    fn from(setup: &cluster::Setup) -> Self {
        Self::made_by::<cluster::ClusterWorld>(setup)
    }
}

impl Ord for EpisodeKey {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.order().cmp(&other.order())
    }
}

impl PartialOrd for EpisodeKey {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl serde::Serialize for EpisodeKey {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeStruct;
        let mut s = serializer.serialize_struct("EpisodeKey", 5)?;
        s.serialize_field("world", &self.world)?;
        if !self.rules.are_reference() {
            s.serialize_field("rules", &self.rules_text())?;
        }
        s.serialize_field("task", self.task_name())?;
        s.serialize_field("streams", &self.streams)?;
        s.serialize_field("seed", &self.seed)?;
        s.end()
    }
}

impl std::fmt::Display for EpisodeKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.world != WorldName::default() {
            write!(f, "{} ", self.world.name())?;
        }
        let (task, streams) = (self.task_name(), self.streams.name());
        write!(f, "{task} seed {} ({streams} streams", self.seed)?;
        if !self.rules.are_reference() {
            write!(f, ", {} rules", self.rules_text())?;
        }
        f.write_str(")")
    }
}

/// A row and where it stands.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// 1-based line of the file.
    pub line: usize,
    /// What it says.
    pub row: ReplayRow,
}

/// The rows of one episode by step.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EpisodeRows(BTreeMap<u8, Row>);

impl EpisodeRows {
    /// The row for the action at `step_count` steps used.
    #[must_use]
    pub fn get(&self, step_count: u8) -> Option<&Row> {
        self.0.get(&step_count)
    }

    /// All rows by step.
    pub fn iter(&self) -> impl Iterator<Item = &Row> {
        self.0.values()
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// What a file holds: the rows that can be played, and what is wrong with the others.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Replay {
    episodes: BTreeMap<EpisodeKey, Arc<EpisodeRows>>,
    rows: usize,
    pub(super) problems: Vec<Problem>,
    pub(super) problem_count: usize,
}

impl Replay {
    /// A replay of rows that were made here, numbered as the lines that they would be written to.
    #[must_use]
    pub fn of(rows: impl IntoIterator<Item = ReplayRow>) -> Self {
        let mut replay = Self::default();
        for (index, row) in rows.into_iter().enumerate() {
            let line = index + 1;
            if let Err(reason) = replay.insert(Row { line, row }) {
                replay.problem(line, reason);
            }
        }
        replay
    }

    /// Keeps the row, unless its place is taken: the first one stays.
    pub(super) fn insert(&mut self, row: Row) -> Result<(), String> {
        let key = EpisodeKey::of(&row.row);
        let episode = Arc::make_mut(self.episodes.entry(key).or_default());
        match episode.0.entry(row.row.step) {
            Entry::Vacant(place) => {
                place.insert(row);
                self.rows += 1;
                Ok(())
            }
            Entry::Occupied(first) => Err(format!(
                "a second row for {key} step {}: the first, on line {}, is kept",
                row.row.step,
                first.get().line
            )),
        }
    }

    /// All episodes in order.
    pub fn episodes(&self) -> impl Iterator<Item = &EpisodeKey> {
        self.episodes.keys()
    }

    /// The rows of an episode, if there are any.
    #[must_use]
    pub fn episode(&self, key: &EpisodeKey) -> Option<&Arc<EpisodeRows>> {
        self.episodes.get(key)
    }

    /// All rows by episode and step.
    pub fn iter(&self) -> impl Iterator<Item = &Row> {
        self.episodes.values().flat_map(|rows| rows.iter())
    }

    /// How many rows can be played.
    #[must_use]
    pub const fn rows(&self) -> usize {
        self.rows
    }

    /// What is wrong with the other lines: the first [`super::PROBLEMS_KEPT`].
    #[must_use]
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// How many lines have something wrong with them.
    #[must_use]
    pub const fn problem_count(&self) -> usize {
        self.problem_count
    }
}
