//! The log of a run, appended and flushed event by event: `events.jsonl`, and TensorBoard's file.

use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};

use sentinel_base::{Error, files};

use super::event::{Event, LogPosition};
use super::history::{HistoryFormat, RunHistory};
use super::names::EVENTS_FILE;
use super::tensorboard::{self, WallTimes};

/// The folder that TensorBoard is pointed at.
pub const TENSORBOARD_DIR: &str = "runs";
/// The name of TensorBoard's file, fixed so that a resumed run appends to it; TensorBoard looks for
/// `tfevents`.
pub const TENSORBOARD_FILE: &str = "events.out.tfevents.0.sentinel";

/// The log of a run: its events are written to its files, reduced to its history, and passed to a
/// listener.
pub struct RunLog<'a> {
    history: RunHistory,
    listen: &'a mut dyn FnMut(&Event),
    lines: Appended,
    board: Appended,
    wall_times: WallTimes,
}

impl<'a> RunLog<'a> {
    /// Starts the log of a new run in an existing folder.
    ///
    /// # Errors
    /// Returns an error if its files cannot be written.
    pub fn create(
        folder: &Path,
        format: HistoryFormat,
        listen: &'a mut dyn FnMut(&Event),
    ) -> Result<Self, Error> {
        Self::with_events(folder, format, Vec::new(), listen)
    }

    /// Continues the log at a checkpoint of `step` and cuts off everything after it. If the file
    /// was changed since, the lines before the change stay, and a warning is logged.
    ///
    /// # Errors
    /// Returns an error if its files cannot be written.
    pub fn resume(
        folder: &Path,
        format: HistoryFormat,
        position: LogPosition,
        step: usize,
        listen: &'a mut dyn FnMut(&Event),
    ) -> Result<Self, Error> {
        let length = match position {
            LogPosition::Bytes(length) => length,
            LogPosition::Events(events) => {
                return Self::with_events(folder, format, events, listen);
            }
        };
        let path = folder.join(EVENTS_FILE);
        let mut log = Self::open(folder, format, listen, |add| {
            let mut kept = 0;
            let Ok(file) = File::open(&path) else {
                return Ok(kept);
            };
            let mut file = BufReader::with_capacity(1 << 16, file.take(length));
            let mut line = Vec::new();
            // An unreadable part counts as missing, as what follows a line that is not an event.
            while file.read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
                let Ok(event) = serde_json::from_slice(&line) else {
                    break;
                };
                add(event)?;
                kept += line.len() as u64;
                line.clear();
            }
            Ok(kept)
        })?;
        if log.lines.length < length {
            let text = format!(
                "{EVENTS_FILE} is not as the checkpoint left it: what it lacks before step {step} is lost"
            );
            log.emit(Event::Warning { step, text })?;
        }
        Ok(log)
    }

    fn with_events(
        folder: &Path,
        format: HistoryFormat,
        events: Vec<Event>,
        listen: &'a mut dyn FnMut(&Event),
    ) -> Result<Self, Error> {
        let mut text = String::new();
        for event in &events {
            text.push_str(&event.to_line()?);
        }
        files::write_atomic(&folder.join(EVENTS_FILE), text.as_bytes())?;
        Self::open(folder, format, listen, |add| {
            events.into_iter().try_for_each(add)?;
            Ok(text.len() as u64)
        })
    }

    /// Opens the files of a log. `earlier` passes the events that it begins with to its argument, one
    /// by one, and returns the number of their bytes in the file.
    fn open(
        folder: &Path,
        format: HistoryFormat,
        listen: &'a mut dyn FnMut(&Event),
        earlier: impl FnOnce(&mut dyn FnMut(Event) -> Result<(), Error>) -> Result<u64, Error>,
    ) -> Result<Self, Error> {
        let runs = folder.join(TENSORBOARD_DIR);
        files::create_folder(&runs)?;
        let path = runs.join(TENSORBOARD_FILE);
        let failed = |source| Error::Write {
            path: path.clone(),
            source,
        };
        let mut history = RunHistory::new(folder, format);
        let mut wall_times = WallTimes::default();
        let (mut kept, mut length) = (0, 0);
        files::write_pieces(&path, true, |board| {
            kept = earlier(&mut |event| {
                let tasks = &history.format().tasks;
                let records = tensorboard::records(&event, tasks, &mut wall_times);
                board.write_all(&records).map_err(failed)?;
                length += records.len() as u64;
                add(&mut history, event)
            })?;
            Ok(())
        })?;
        Ok(Self {
            board: Appended::open(path, length)?,
            lines: Appended::open(folder.join(EVENTS_FILE), kept)?,
            history,
            listen,
            wall_times,
        })
    }

    /// Appends an event to the files and passes it to the listener.
    ///
    /// # Errors
    /// Returns an error if the files cannot be written, or a number of the event is not finite.
    pub fn emit(&mut self, event: Event) -> Result<(), Error> {
        self.lines.write(event.to_line()?.as_bytes())?;
        let tasks = &self.history.format().tasks;
        let records = tensorboard::records(&event, tasks, &mut self.wall_times);
        self.board.write(&records)?;
        (self.listen)(&event);
        add(&mut self.history, event)
    }

    /// Passes an event to the listener without logging it.
    pub fn notify(&mut self, event: &Event) {
        (self.listen)(event);
    }

    /// Returns the events so far, reduced to what the summaries of the run need.
    #[must_use]
    pub const fn history(&self) -> &RunHistory {
        &self.history
    }

    /// Returns the same to write the summaries.
    pub const fn history_mut(&mut self) -> &mut RunHistory {
        &mut self.history
    }

    /// Returns the seconds that all steps took together.
    #[must_use]
    pub fn seconds(&self) -> f64 {
        self.wall_times.passed()
    }

    /// Flushes the events to the disk, and returns the position that a checkpoint stores for
    /// [`RunLog::resume`].
    ///
    /// # Errors
    /// Returns an error if the file cannot be written.
    pub fn sync(&mut self) -> Result<LogPosition, Error> {
        self.lines.sync()?;
        Ok(LogPosition::Bytes(self.lines.length))
    }
}

/// Adds an event to a history, whose entries wait in a file.
fn add(history: &mut RunHistory, event: Event) -> Result<(), Error> {
    let written = history.add(event);
    written.map_err(|source| Error::Write {
        path: history.folder().to_owned(),
        source,
    })
}

/// A file that is appended to.
struct Appended {
    path: PathBuf,
    file: File,
    length: u64,
}

impl Appended {
    /// Opens a file to append to it, after its first `length` bytes.
    fn open(path: PathBuf, length: u64) -> Result<Self, Error> {
        let opened = OpenOptions::new().create(true).append(true).open(&path);
        let cut = opened.and_then(|file| file.set_len(length).map(|()| file));
        match cut {
            Ok(file) => Ok(Self { path, file, length }),
            Err(source) => Err(Error::Write { path, source }),
        }
    }

    fn failed(&self, source: std::io::Error) -> Error {
        Error::Write {
            path: self.path.clone(),
            source,
        }
    }

    /// Appends in one unbuffered call, so that a reader sees whole lines.
    fn write(&mut self, bytes: &[u8]) -> Result<(), Error> {
        let written = self.file.write_all(bytes);
        written.map_err(|source| self.failed(source))?;
        self.length += bytes.len() as u64;
        Ok(())
    }

    fn sync(&self) -> Result<(), Error> {
        self.file.sync_data().map_err(|source| self.failed(source))
    }
}

/// The reason why a list of events cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum EventsError {
    /// The file cannot be read.
    #[error(transparent)]
    File(#[from] Error),
    /// A line is not an event.
    #[error("{} line {line} is not an event: {reason}; resume the run from its checkpoint", path.display())]
    Line {
        /// The path of the file.
        path: PathBuf,
        /// The 1-based line number.
        line: usize,
        /// The reason why it is not an event.
        reason: String,
    },
}

/// Parses JSON lines into events; `path` is only named in errors.
///
/// # Errors
/// Returns an error that names the first line that is not an event.
pub fn parse_events(path: &Path, content: &[u8]) -> Result<Vec<Event>, EventsError> {
    let mut events = Vec::new();
    for (index, line) in content.split_inclusive(|byte| *byte == b'\n').enumerate() {
        let event = serde_json::from_slice(line).map_err(|error| EventsError::Line {
            path: path.to_owned(),
            line: index + 1,
            reason: reason(&error),
        })?;
        events.push(event);
    }
    Ok(events)
}

/// Reads events from a file of JSON lines.
///
/// # Errors
/// Returns an error if the file cannot be read, or a line of it is not an event.
pub fn read_events(path: &Path) -> Result<Vec<Event>, EventsError> {
    let content = std::fs::read(path).map_err(|source| Error::Read {
        path: path.to_owned(),
        source,
    })?;
    parse_events(path, &content)
}

/// Returns the reason of an error without serde's line number, which is 1 on every line.
fn reason(error: &serde_json::Error) -> String {
    if error.is_eof() {
        return "it is cut off".to_owned();
    }
    let text = error.to_string();
    let (reason, _) = text.split_once(" at line ").unwrap_or((&text, ""));
    reason.to_owned()
}
