//! `events.jsonl`: one event as JSON on each line.

use std::path::{Path, PathBuf};

use serde::de::Error as _;

use crate::Error;
use crate::compact::events::Event;

/// Why a list of events cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum EventsError {
    /// The file cannot be read.
    #[error(transparent)]
    File(#[from] Error),
    /// A line is no event.
    #[error("{} line {line} is no event: {reason}; resume the run to write the file anew", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// 1-based line.
        line: usize,
        /// Why.
        reason: String,
    },
}

/// Returns the events as JSON lines. A metric that is not finite is left out: JSON cannot hold it.
///
/// # Errors
/// If another number of an event is not finite, so that the line could not be read again.
pub fn text(events: &[Event]) -> Result<String, serde_json::Error> {
    let mut text = String::new();
    for (index, event) in events.iter().enumerate() {
        let line = match event {
            Event::Step { step, metrics } => {
                let mut metrics = metrics.clone();
                metrics.retain(|_, value| value.is_finite());
                serde_json::to_string(&Event::Step {
                    step: *step,
                    metrics,
                })?
            }
            other => serde_json::to_string(other)?,
        };
        // NaN has become null, which is seen only by reading it.
        serde_json::from_str::<Event>(&line).map_err(|error| {
            serde_json::Error::custom(format!("event {} cannot be read again: {error}", index + 1))
        })?;
        text.push_str(&line);
        text.push('\n');
    }
    Ok(text)
}

/// Reads JSON lines; `path` is only what an error calls them.
///
/// # Errors
/// Names the first line that is no event.
pub fn parse(path: &Path, content: &[u8]) -> Result<Vec<Event>, EventsError> {
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

/// Reads a file of JSON lines.
///
/// # Errors
/// If it cannot be read, or a line of it is no event.
pub fn read(path: &Path) -> Result<Vec<Event>, EventsError> {
    let content = std::fs::read(path).map_err(|source| Error::Read {
        path: path.to_owned(),
        source,
    })?;
    parse(path, &content)
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
