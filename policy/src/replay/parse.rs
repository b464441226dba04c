//! Parses replay text line by line, so that memory use does not depend on the length of the text.

use sentinel_env::truncate::truncate_chars;
use serde_json::error::Category;

use super::fields::RawRow;
use super::{LocatedRow, Recordable, Replay, ReplayRow};
use crate::foreign_format::ForeignFormat;
use crate::python_json::find_non_finite;

/// Longest error text that quotes part of the file, in characters.
pub(super) const REASON_MAX: usize = 200;

/// Splits a replay file into rows whose world is not checked yet.
#[derive(Debug, Default)]
pub(super) struct LineReader {
    line: usize,
    /// `true` after the first line that is not blank.
    has_begun: bool,
    /// `true` if that line shows that the file is not JSON lines. It names the fault then; further
    /// lines that are no rows have the same one and are skipped.
    is_foreign: bool,
}

impl LineReader {
    /// Parses the next line, with or without its line break. Returns its line number with the row
    /// or a description of the problem; `None` if the line is blank or belongs to a file of another
    /// format, which the first line has named.
    pub(super) fn parse_line(&mut self, line: &str) -> Option<(usize, Result<RawRow, String>)> {
        self.line += 1;
        let line = if self.line == 1 {
            line.strip_prefix('\u{feff}').unwrap_or(line)
        } else {
            line
        };
        let line = line.trim();
        if line.is_empty() {
            return None;
        }
        self.check(line.as_bytes(), || raw_row(line))
    }

    /// Parses the next line from bytes, which need not be valid UTF-8.
    pub(super) fn parse_line_bytes(
        &mut self,
        line: &[u8],
    ) -> Option<(usize, Result<RawRow, String>)> {
        match std::str::from_utf8(line) {
            Ok(text) => self.parse_line(text),
            Err(error) => {
                self.line += 1;
                let byte = error.valid_up_to() + 1;
                self.check(line, || Err(format!("not UTF-8 text from byte {byte} on")))
            }
        }
    }

    /// Returns what `read` finds in the current line, unless the format of the file is another one.
    fn check(
        &mut self,
        line: &[u8],
        read: impl FnOnce() -> Result<RawRow, String>,
    ) -> Option<(usize, Result<RawRow, String>)> {
        let is_first = !std::mem::replace(&mut self.has_begun, true);
        if is_first && let Some(format) = ForeignFormat::not_json_lines(line) {
            self.is_foreign = true;
            return Some((self.line, Err(format!("this is {format}"))));
        }
        let found = read();
        (found.is_ok() || !self.is_foreign).then_some((self.line, found))
    }
}

impl<W: Recordable> Replay<W> {
    /// Parses the rows of one world. Never fails: every valid row is kept, and each invalid line,
    /// including rows of other worlds, is recorded as a problem.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let (mut replay, mut reader) = (Self::default(), LineReader::default());
        for line in text.lines() {
            if let Some((line, found)) = reader.parse_line(line) {
                let kept = found.and_then(|raw| replay.insert_raw(line, raw));
                if let Err(reason) = kept {
                    replay.add_problem(line, reason);
                }
            }
        }
        replay
    }

    fn insert_raw(&mut self, line: usize, raw: RawRow) -> Result<(), String> {
        let row = ReplayRow::try_from(raw)
            .map_err(|error| truncate_chars(&error.to_string(), REASON_MAX).to_owned())?;
        self.insert(LocatedRow { line, row })
    }
}

fn raw_row(line: &str) -> Result<RawRow, String> {
    if !line.starts_with('{') {
        return Err("not a JSON object: a row begins with {".to_owned());
    }
    serde_json::from_str(line).map_err(|error| reason(line, &error))
}

/// Describes a JSON error in words that do not require knowledge of the JSON grammar.
fn reason(line: &str, error: &serde_json::Error) -> String {
    let text = error.to_string();
    let what = text.split(" at line ").next().unwrap_or(&text);
    match error.classify() {
        Category::Eof => format!(
            "the line is cut off after {} characters",
            line.chars().count()
        ),
        // The parser reports `NaN` as a syntax error, wherever it occurs in the line.
        Category::Syntax | Category::Io => match find_non_finite(line) {
            Some(word) => format!("{word} is not a number in JSON"),
            None => format!("not JSON: {what} (column {})", error.column()),
        },
        Category::Data => truncate_chars(what, REASON_MAX).to_owned(),
    }
}
