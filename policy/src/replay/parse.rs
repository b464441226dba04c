//! Text to replay, one line at a time, so that the size of a file does not matter.

use serde_json::error::Category;

use super::fields::RawRow;
use super::raw::{Reader, of_any, of_one};
use super::table::{Replay, Row};
use crate::Playable;

/// How many problems a replay keeps in words; all are counted.
pub const PROBLEMS_KEPT: usize = 1000;

/// Longest reason that repeats a part of the file, in characters.
const REASON_MAX: usize = 200;

/// How a file begins that git-lfs left in place of the real one.
const LFS_POINTER: &str = "version https://git-lfs";

/// A line that could not be used, or a row that does not fit.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Problem {
    /// 1-based line of the file.
    pub line: usize,
    /// What is wrong with it.
    pub reason: String,
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "line {}: {}", self.line, self.reason)
    }
}

/// Reads a whole file. Never fails: what is wrong is in the replay's problems, and every good line
/// is kept.
#[must_use]
pub fn parse(text: &str) -> Replay {
    Parser::default().whole(text)
}

/// [`parse`] for a program that plays one world only: rows of other worlds are among the problems.
#[must_use]
pub fn parse_world<W: Playable>(text: &str) -> Replay {
    Parser::reading(of_one::<W>).whole(text)
}

/// Reads a file that arrives line by line.
#[derive(Debug)]
pub struct Parser {
    replay: Replay,
    line: usize,
    lfs_pointer: bool,
    reader: Reader,
}

impl Default for Parser {
    /// Reads rows of all worlds.
    fn default() -> Self {
        Self::reading(of_any)
    }
}

impl Parser {
    fn reading(reader: Reader) -> Self {
        Self {
            replay: Replay::default(),
            line: 0,
            lfs_pointer: false,
            reader,
        }
    }

    fn whole(mut self, text: &str) -> Replay {
        for line in text.lines() {
            self.push_line(line);
        }
        self.finish()
    }

    /// Takes in the next line, with or without its line break.
    pub fn push_line(&mut self, line: &str) {
        self.line += 1;
        let line = if self.line == 1 {
            line.strip_prefix('\u{feff}').unwrap_or(line)
        } else {
            line
        };
        let line = line.trim();
        if line.is_empty() || (self.lfs_pointer && is_pointer_line(line)) {
            return;
        }
        let found = if self.line == 1 && line.starts_with(LFS_POINTER) {
            self.lfs_pointer = true;
            Err("this is a git-lfs pointer, not the replay itself: run `git lfs pull`".to_owned())
        } else {
            read(line, self.reader).and_then(|row| {
                self.replay.insert(Row {
                    line: self.line,
                    row,
                })
            })
        };
        if let Err(reason) = found {
            self.replay.problem(self.line, reason);
        }
    }

    /// Takes in the next line as bytes, which may not be text at all.
    pub fn push_bytes(&mut self, line: &[u8]) {
        match std::str::from_utf8(line) {
            Ok(text) => self.push_line(text),
            Err(error) => {
                self.line += 1;
                let byte = error.valid_up_to() + 1;
                self.replay
                    .problem(self.line, format!("not UTF-8 text from byte {byte} on"));
            }
        }
    }

    /// What was read.
    #[must_use]
    pub fn finish(self) -> Replay {
        self.replay
    }
}

impl Replay {
    pub(super) fn problem(&mut self, line: usize, reason: String) {
        self.problem_count += 1;
        if self.problems.len() < PROBLEMS_KEPT {
            self.problems.push(Problem { line, reason });
        }
    }
}

/// The other two lines of a git-lfs pointer.
fn is_pointer_line(line: &str) -> bool {
    line.starts_with("oid ") || line.starts_with("size ")
}

fn read(line: &str, reader: Reader) -> Result<super::ReplayRow, String> {
    if !line.starts_with('{') {
        return Err("not a JSON object: a row begins with {".to_owned());
    }
    let raw: RawRow = serde_json::from_str(line).map_err(|error| reason(line, &error))?;
    reader(raw).map_err(|error| clipped(&error.to_string()))
}

/// A value that is wrong may be as long as the line.
fn clipped(reason: &str) -> String {
    reason.chars().take(REASON_MAX).collect()
}

/// What is wrong, in words that do not need a look at the JSON grammar.
fn reason(line: &str, error: &serde_json::Error) -> String {
    let text = error.to_string();
    let what = text.split(" at line ").next().unwrap_or(&text);
    match error.classify() {
        Category::Eof => format!(
            "the line is cut off after {} characters",
            line.chars().count()
        ),
        // The grammar of numbers is where NaN fails, wherever in the line it stands.
        Category::Syntax | Category::Io => match non_finite(line) {
            Some(word) => format!("{word} is not a number in JSON"),
            None => format!("not JSON: {what} (column {})", error.column()),
        },
        Category::Data => clipped(what),
    }
}

/// A literal that Python writes and JSON does not know, outside of any text.
fn non_finite(line: &str) -> Option<&'static str> {
    let (mut in_text, mut escaped) = (false, false);
    for (index, c) in line.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' if in_text => escaped = true,
            '"' => in_text = !in_text,
            'N' | 'I' | '-' if !in_text => {
                let found = ["NaN", "Infinity", "-Infinity"]
                    .into_iter()
                    .find(|word| line[index..].starts_with(word));
                if found.is_some() {
                    return found;
                }
            }
            _ => {}
        }
    }
    None
}
