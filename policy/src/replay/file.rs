//! A replay file that may hold rows of several worlds.

use std::any::Any;
use std::fmt::Debug;

use sentinel_env::task::join_names;
use sentinel_env::truncate::truncate_chars;
use sentinel_env::{WorldName, in_world};

use super::fields::{RawRow, RowError, excerpt};
use super::parse::{LineReader, REASON_MAX};
use super::verify::{EpisodeCheck, Verification, verify_episode};
use super::{Diagnostic, LmTranscript, LocatedRow, PROBLEMS_KEPT, Recordable, Replay, ReplayRow};

/// A check that has not been made yet: a call replays one episode and compares it with its rows.
pub type PendingCheck<'a> = Box<dyn Fn() -> EpisodeCheck + Send + Sync + 'a>;

/// The rows of one world of a [`ReplayFile`], with the world erased from the type.
pub trait AnyReplay: Any + Debug + Send + Sync {
    /// Returns the name of the world.
    fn world(&self) -> &'static str;

    /// Returns the number of rows that can be played.
    fn row_count(&self) -> usize;

    /// Returns the number of distinct episodes.
    fn episode_count(&self) -> usize;

    /// Returns one check for each episode, in order, none of which has been made yet.
    fn pending_checks(&self) -> Vec<PendingCheck<'_>>;

    /// Calls `visit` with the acting policy's name and the transcript of each row.
    fn visit_rows(&self, visit: &mut dyn FnMut(&str, Option<&LmTranscript>));

    /// Adds a row of this world.
    ///
    /// # Errors
    /// If the row is not valid, or its step already has a row. The text says why.
    fn insert(&mut self, line: usize, row: RawRow, task: &str) -> Result<(), String>;
}

impl<W: Recordable> AnyReplay for Replay<W> {
    fn world(&self) -> &'static str {
        W::NAME
    }

    fn row_count(&self) -> usize {
        Self::row_count(self)
    }

    fn episode_count(&self) -> usize {
        self.episodes().count()
    }

    fn pending_checks(&self) -> Vec<PendingCheck<'_>> {
        self.episodes()
            .map(|origin| -> PendingCheck<'_> { Box::new(move || verify_episode(self, origin)) })
            .collect()
    }

    fn visit_rows(&self, visit: &mut dyn FnMut(&str, Option<&LmTranscript>)) {
        for LocatedRow { row, .. } in self.iter() {
            visit(&row.model_source, row.transcript.as_deref());
        }
    }

    fn insert(&mut self, line: usize, raw: RawRow, task: &str) -> Result<(), String> {
        let row = ReplayRow::from_raw(raw, task)
            .map_err(|error| truncate_chars(&error.to_string(), REASON_MAX).to_owned())?;
        Self::insert(self, LocatedRow { line, row })
    }
}

/// The rows of a file by world, and the problems of its other lines.
#[derive(Debug)]
pub struct ReplayFile {
    worlds: Vec<Box<dyn AnyReplay>>,
    reader: LineReader,
    problems: Vec<Diagnostic>,
    problem_count: usize,
}

impl Default for ReplayFile {
    /// Creates an empty file that accepts rows of every registered world.
    fn default() -> Self {
        let empty = |world: &WorldName| -> Box<dyn AnyReplay> {
            in_world!(*world, W => Box::new(Replay::<W>::default()))
        };
        Self::new(WorldName::ALL.iter().map(empty).collect())
    }
}

impl ReplayFile {
    /// Creates an empty file that accepts rows of these worlds: one empty [`Replay`] per world, in
    /// the order in which they are reported.
    #[must_use]
    pub fn new(worlds: Vec<Box<dyn AnyReplay>>) -> Self {
        Self {
            worlds,
            reader: LineReader::default(),
            problems: Vec::new(),
            problem_count: 0,
        }
    }

    /// Parses a whole text. Never fails: every valid row is kept, and each invalid line is recorded
    /// as a problem.
    #[must_use]
    pub fn parse(mut self, text: &str) -> Self {
        for line in text.lines() {
            let read = self.reader.parse_line(line);
            self.push(read);
        }
        self
    }

    /// Parses the next line from bytes, which need not be valid UTF-8.
    pub fn push_bytes(&mut self, line: &[u8]) {
        let read = self.reader.parse_line_bytes(line);
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
        let said = |error: RowError| truncate_chars(&error.to_string(), REASON_MAX).to_owned();
        let task = raw.fields.take_string("task_type").map_err(said)?;
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
        let known = match join_names(&others, " or ") {
            names if names.is_empty() => names,
            names => format!("{comma}{names}"),
        };
        let found = excerpt(found);
        RowError::World { found, known }
    }

    /// Returns the rows of a world, if the file accepts that world.
    #[must_use]
    pub fn replay<W: Recordable>(&self) -> Option<&Replay<W>> {
        self.worlds.iter().find_map(|replay| {
            let any: &dyn Any = replay.as_ref();
            any.downcast_ref()
        })
    }

    /// Returns the rows of a world, with the problems of the whole file; empty if the file does not
    /// accept that world.
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

    /// Returns the worlds that have rows, in the order in which they are reported.
    pub fn worlds(&self) -> impl Iterator<Item = &dyn AnyReplay> {
        let filled = self.worlds.iter().filter(|replay| replay.row_count() > 0);
        filled.map(|replay| replay.as_ref())
    }

    /// Replays every episode of the file and compares it with its rows.
    #[must_use]
    pub fn verify(&self) -> Verification {
        let pending = self.worlds().flat_map(|replay| replay.pending_checks());
        Verification::from_checks(pending.map(|check| check()).collect())
    }

    /// Returns the number of rows that can be played, over all worlds.
    #[must_use]
    pub fn row_count(&self) -> usize {
        self.worlds.iter().map(|replay| replay.row_count()).sum()
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
