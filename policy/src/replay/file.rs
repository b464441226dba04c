//! A replay file that may hold rows of several worlds.

use std::any::Any;
use std::fmt::Debug;

use sentinel_env::task::listed;
use sentinel_env::text::clip;
use sentinel_env::{WorldName, in_world};

use super::fields::{RawRow, RowError, quoted};
use super::parse::{LineReader, REASON_MAX};
use super::row::{LmTranscript, Recordable, ReplayRow};
use super::rows::{LocatedRow, Replay};
use super::verify::{EpisodeCheck, Verification, verify_episode};
use super::{Diagnostic, PROBLEMS_KEPT};

/// The rows of one world of a [`ReplayFile`].
pub trait AnyReplay: Any + Debug + Send + Sync {
    /// Returns the world's name.
    fn world(&self) -> &'static str;

    /// Returns the number of rows that can be played.
    fn rows(&self) -> usize;

    /// Returns the number of episodes.
    fn episode_count(&self) -> usize;

    /// Plays the episode at `index` again.
    fn verify_episode(&self, index: usize) -> Option<EpisodeCheck>;

    /// Calls `visit` with the acting policy's name and transcript of each row.
    fn each_source(&self, visit: &mut dyn FnMut(&str, Option<&LmTranscript>));

    /// Adds a row of this world.
    ///
    /// # Errors
    /// Says what is wrong with it.
    fn insert(&mut self, line: usize, row: RawRow, task: &str) -> Result<(), String>;
}

impl<W: Recordable> AnyReplay for Replay<W> {
    fn world(&self) -> &'static str {
        W::NAME
    }

    fn rows(&self) -> usize {
        Self::rows(self)
    }

    fn episode_count(&self) -> usize {
        self.episodes().count()
    }

    fn verify_episode(&self, index: usize) -> Option<EpisodeCheck> {
        let origin = self.episodes().nth(index)?;
        Some(verify_episode(self, origin))
    }

    fn each_source(&self, visit: &mut dyn FnMut(&str, Option<&LmTranscript>)) {
        for LocatedRow { row, .. } in self.iter() {
            visit(&row.model_source, row.transcript.as_deref());
        }
    }

    fn insert(&mut self, line: usize, raw: RawRow, task: &str) -> Result<(), String> {
        let row = ReplayRow::read(raw, task)
            .map_err(|error| clip(&error.to_string(), REASON_MAX).to_owned())?;
        Self::insert(self, LocatedRow { line, row })
    }
}

/// The rows of a file by world, and what is wrong with its other lines.
#[derive(Debug)]
pub struct ReplayFile {
    worlds: Vec<Box<dyn AnyReplay>>,
    reader: LineReader,
    problems: Vec<Diagnostic>,
    problem_count: usize,
}

impl Default for ReplayFile {
    /// An empty file for rows of every registered world.
    fn default() -> Self {
        let empty = |world: &WorldName| -> Box<dyn AnyReplay> {
            in_world!(*world, W => Box::new(Replay::<W>::default()))
        };
        Self::new(WorldName::ALL.iter().map(empty).collect())
    }
}

impl ReplayFile {
    /// An empty file for rows of these worlds, in the order in which they are reported: an empty
    /// [`Replay`] for each.
    #[must_use]
    pub fn new(worlds: Vec<Box<dyn AnyReplay>>) -> Self {
        Self {
            worlds,
            reader: LineReader::default(),
            problems: Vec::new(),
            problem_count: 0,
        }
    }

    /// Reads a whole text. Never fails: what is wrong is in the problems, and every good line is kept.
    #[must_use]
    pub fn parse(mut self, text: &str) -> Self {
        for line in text.lines() {
            let read = self.reader.read(line);
            self.push(read);
        }
        self
    }

    /// Reads the next line as bytes, which may not be text at all.
    pub fn push_bytes(&mut self, line: &[u8]) {
        let read = self.reader.read_bytes(line);
        self.push(read);
    }

    fn push(&mut self, read: Option<(usize, Result<RawRow, String>)>) {
        let Some((line, found)) = read else { return };
        if let Err(reason) = found.and_then(|raw| self.insert(line, raw)) {
            self.problem_count += 1;
            if self.problems.len() < PROBLEMS_KEPT {
                self.problems.push(Diagnostic { line, reason });
            }
        }
    }

    fn insert(&mut self, line: usize, mut raw: RawRow) -> Result<(), String> {
        let said = |error: RowError| clip(&error.to_string(), REASON_MAX).to_owned();
        let task = raw.fields.text("task_type").map_err(said)?;
        let task = task.ok_or_else(|| said(RowError::Missing("task_type")))?;
        let world = raw.take_world().map_err(said)?;
        match self.worlds.iter_mut().find(|known| known.world() == world) {
            Some(replay) => replay.insert(line, raw, &task),
            None => Err(said(self.unknown_world(&world))),
        }
    }

    fn unknown_world(&self, found: &str) -> RowError {
        let others: Vec<&str> = self.worlds.iter().skip(1).map(|w| w.world()).collect();
        let comma = if others.len() > 1 { ", " } else { " or " };
        let known = match listed(&others, " or ") {
            names if names.is_empty() => names,
            names => format!("{comma}{names}"),
        };
        let found = quoted(found);
        RowError::World { found, known }
    }

    /// Returns the rows of a world, if the file was read for it.
    #[must_use]
    pub fn replay<W: Recordable>(&self) -> Option<&Replay<W>> {
        self.worlds.iter().find_map(|replay| {
            let any: &dyn Any = replay.as_ref();
            any.downcast_ref()
        })
    }

    /// Takes the rows of a world out of the file; empty where it has none.
    #[must_use]
    pub fn into_replay<W: Recordable>(self) -> Replay<W> {
        for replay in self.worlds {
            let any: Box<dyn Any> = replay;
            if let Ok(found) = any.downcast::<Replay<W>>() {
                let mut found = *found;
                found.take_problems(self.problems, self.problem_count);
                return found;
            }
        }
        Replay::default()
    }

    /// Returns the worlds that have rows, in order.
    pub fn worlds(&self) -> impl Iterator<Item = &dyn AnyReplay> {
        let filled = self.worlds.iter().filter(|replay| replay.rows() > 0);
        filled.map(|replay| replay.as_ref())
    }

    /// Plays all episodes of the file again.
    #[must_use]
    pub fn verify(&self) -> Verification {
        let all = self.worlds().flat_map(|replay| {
            let indices = 0..replay.episode_count();
            indices.filter_map(|index| replay.verify_episode(index))
        });
        Verification::from_checks(all.collect())
    }

    /// Returns the number of rows that can be played.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.worlds.iter().map(|replay| replay.rows()).sum()
    }

    /// Returns what is wrong with the other lines: the first [`PROBLEMS_KEPT`].
    #[must_use]
    pub fn problems(&self) -> &[Diagnostic] {
        &self.problems
    }

    /// Returns the number of lines that have something wrong with them.
    #[must_use]
    pub const fn problem_count(&self) -> usize {
        self.problem_count
    }
}
