//! The rows of one world, indexed by episode and step.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt;
use std::sync::Arc;

use sentinel_env::rng::Streams;
use sentinel_env::rules::Rules;
use sentinel_env::{EpisodeSpec, TaskName, World, WorldName};

use super::{Diagnostic, PROBLEMS_KEPT, ReplayRow};

/// The identity of an episode as names, for reports that cover several worlds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EpisodeId {
    /// Name of the world.
    pub world: &'static str,
    /// Name of the rules; empty for the reference rules.
    pub rules: String,
    /// Seeding of the random streams.
    pub streams: Streams,
    /// Name of the task.
    pub task: &'static str,
    /// Seed of the episode.
    pub seed: u64,
}

impl EpisodeId {
    /// Returns the name of the rules, `reference` for the reference rules.
    #[must_use]
    pub fn rules(&self) -> &str {
        if self.rules.is_empty() {
            "reference"
        } else {
            &self.rules
        }
    }
}

impl<W: World> From<EpisodeSpec<W>> for EpisodeId {
    fn from(origin: EpisodeSpec<W>) -> Self {
        Self {
            world: W::NAME,
            rules: if origin.rules == Rules::REFERENCE {
                String::new()
            } else {
                origin.rules.to_string()
            },
            streams: origin.streams,
            task: origin.task.name(),
            seed: origin.seed,
        }
    }
}

impl serde::Serialize for EpisodeId {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeStruct;
        let mut s = serializer.serialize_struct("EpisodeId", 5)?;
        s.serialize_field("world", self.world)?;
        if !self.rules.is_empty() {
            s.serialize_field("rules", &self.rules)?;
        }
        s.serialize_field("task", self.task)?;
        s.serialize_field("streams", &self.streams)?;
        s.serialize_field("seed", &self.seed)?;
        s.end()
    }
}

impl fmt::Display for EpisodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.world != WorldName::DEFAULT.name() {
            write!(f, "{} ", self.world)?;
        }
        let (task, streams) = (self.task, self.streams.name());
        write!(f, "{task} seed {} ({streams} streams", self.seed)?;
        if !self.rules.is_empty() {
            write!(f, ", {} rules", self.rules)?;
        }
        f.write_str(")")
    }
}

/// A row with its line number.
#[derive(Clone, Debug, PartialEq)]
pub struct LocatedRow<W: World> {
    /// 1-based line number in the file.
    pub line: usize,
    /// The row itself, validated.
    pub row: ReplayRow<W>,
}

/// The rows of one episode, ordered by step.
#[derive(Debug)]
pub struct EpisodeRows<W: World>(BTreeMap<u32, LocatedRow<W>>);

// Implemented by hand because derives would require the same traits of `W`.
impl<W: World> Clone for EpisodeRows<W> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<W: World> Default for EpisodeRows<W> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<W: World> EpisodeRows<W> {
    /// Returns the row of the action taken after `step_count` steps were used.
    #[must_use]
    pub fn get(&self, step_count: u32) -> Option<&LocatedRow<W>> {
        self.0.get(&step_count)
    }

    /// Returns all rows, ordered by step.
    pub fn iter(&self) -> impl Iterator<Item = &LocatedRow<W>> {
        self.0.values()
    }

    /// Returns the number of rows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns `true` if the episode has no rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// The valid rows of one world, and the problems of the other lines.
#[derive(Debug)]
pub struct Replay<W: World> {
    episodes: BTreeMap<EpisodeSpec<W>, Arc<EpisodeRows<W>>>,
    rows: usize,
    problems: Vec<Diagnostic>,
    problem_count: usize,
}

impl<W: World> Clone for Replay<W> {
    fn clone(&self) -> Self {
        Self {
            episodes: self.episodes.clone(),
            rows: self.rows,
            problems: self.problems.clone(),
            problem_count: self.problem_count,
        }
    }
}

impl<W: World> Default for Replay<W> {
    fn default() -> Self {
        Self {
            episodes: BTreeMap::new(),
            rows: 0,
            problems: Vec::new(),
            problem_count: 0,
        }
    }
}

impl<W: World> Replay<W> {
    /// Creates a replay from rows built in memory, numbered as the lines of the file that they
    /// would be written to.
    #[must_use]
    pub fn from_rows(rows: impl IntoIterator<Item = ReplayRow<W>>) -> Self {
        let mut replay = Self::default();
        for (index, row) in rows.into_iter().enumerate() {
            let line = index + 1;
            if let Err(reason) = replay.insert(LocatedRow { line, row }) {
                replay.add_problem(line, reason);
            }
        }
        replay
    }

    /// Inserts a row. If the episode already has a row for the step, keeps the first one and
    /// returns an error.
    pub(super) fn insert(&mut self, row: LocatedRow<W>) -> Result<(), String> {
        let origin = row.row.origin;
        let episode = Arc::make_mut(self.episodes.entry(origin).or_default());
        match episode.0.entry(row.row.step) {
            Entry::Vacant(place) => {
                place.insert(row);
                self.rows += 1;
                Ok(())
            }
            Entry::Occupied(first) => Err(format!(
                "a second row for {} step {}: the first, on line {}, is kept",
                EpisodeId::from(origin),
                row.row.step,
                first.get().line
            )),
        }
    }

    pub(super) fn add_problem(&mut self, line: usize, reason: String) {
        self.problem_count += 1;
        if self.problems.len() < PROBLEMS_KEPT {
            self.problems.push(Diagnostic { line, reason });
        }
    }

    pub(super) fn take_problems(&mut self, problems: Vec<Diagnostic>, count: usize) {
        (self.problems, self.problem_count) = (problems, count);
    }

    /// Returns the specs of all episodes, ordered by rules, streams, task and seed.
    pub fn episodes(&self) -> impl Iterator<Item = &EpisodeSpec<W>> {
        self.episodes.keys()
    }

    /// Returns the rows of an episode, if there are any.
    #[must_use]
    pub fn episode(&self, origin: &EpisodeSpec<W>) -> Option<&Arc<EpisodeRows<W>>> {
        self.episodes.get(origin)
    }

    /// Returns all rows, ordered by episode and step.
    pub fn iter(&self) -> impl Iterator<Item = &LocatedRow<W>> {
        self.episodes.values().flat_map(|rows| rows.iter())
    }

    /// Returns the number of rows that can be played.
    #[must_use]
    pub const fn row_count(&self) -> usize {
        self.rows
    }

    /// Returns the problems of the other lines, at most the first [`PROBLEMS_KEPT`].
    #[must_use]
    pub fn problems(&self) -> &[Diagnostic] {
        &self.problems
    }

    /// Returns the number of lines that have a problem, including those whose problem was not kept.
    #[must_use]
    pub const fn problem_count(&self) -> usize {
        self.problem_count
    }
}
