//! The checks that every row passes: nothing held out, no seed of an evaluation, no duplicate.

use std::collections::{BTreeMap, HashSet};

use sentinel_base::files;
use sentinel_env::named_enum;
use serde::Serialize;
use sha2::{Digest, Sha256};

use super::holdout::{HoldoutFilter, HoldoutMatch};
use super::row::WrittenRow;
use super::{CorpusRow, RowOrigin, SourceName};
use crate::corpus::parse_example;

/// The maximum number of characters of a row from a server.
const CHARACTERS: usize = 16_384;

named_enum! {
    /// The reason why a row is not in the corpus.
    pub enum Refusal {
        /// It names a held-out archetype of PolyGuard.
        HeldOutArchetype = "held_out_archetype",
        /// It names both archetypes of a held-out pair of PolyGuard.
        HeldOutPair = "held_out_pair",
        /// The seed of its episode is kept for validation or tests.
        EvaluationSeed = "evaluation_seed",
        /// It lacks a question or an answer.
        Incomplete = "incomplete",
        /// The server cut its text.
        Truncated = "truncated",
        /// It has more than 16 384 characters.
        TooLong = "too_long",
        /// The turns are not those of a chat that ends with the answer.
        Malformed = "malformed",
    }
}

/// The use of a source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SourceStatus {
    /// The corpus holds rows of the source.
    Used,
    /// It was requested and gave no row.
    Skipped,
    /// It was not requested.
    #[default]
    NotRequested,
}

/// The number of rows that are in the corpus already.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Duplicates {
    /// Rows with the same texts.
    pub exact: u64,
    /// Rows whose texts differ in case, white space or final punctuation.
    pub normalized: u64,
}

/// The contribution of a source.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SourceReport {
    /// The use of the source.
    pub status: SourceStatus,
    /// The reason why it is not in the corpus, or the reason for which it stands in for another.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The place that the rows come from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// The number of rows that were made or received.
    pub read: u64,
    /// The number of rows in the corpus.
    pub rows: u64,
    /// The number of refused rows, by reason.
    pub refused: BTreeMap<Refusal, u64>,
    /// The number of rows that are duplicates.
    pub duplicates: Duplicates,
    /// The number of rows in the corpus, by license.
    pub licenses: BTreeMap<String, u64>,
    /// The number of rows in the corpus, by world; rows of servers belong to none.
    pub worlds: BTreeMap<String, u64>,
    /// The SHA-256 of the source's lines in the file.
    pub sha256: String,
}

impl SourceReport {
    /// Returns the report of a source that was requested and gave no row.
    #[must_use]
    pub fn skipped(reason: impl Into<String>) -> Self {
        Self {
            status: SourceStatus::Skipped,
            reason: Some(reason.into()),
            ..Self::default()
        }
    }

    /// Returns the report of a source that was not requested; `option` adds it.
    #[must_use]
    pub fn not_requested(option: &str) -> Self {
        Self {
            reason: Some(format!("{option} was not given")),
            ..Self::default()
        }
    }

    /// Returns the refused rows and duplicates in words; an empty text if there are none.
    #[must_use]
    pub fn describe_dropped_rows(&self) -> String {
        let refused = self.refused.iter();
        let mut parts: Vec<String> = refused
            .map(|(why, count)| format!("{count} {why}"))
            .collect();
        let Duplicates { exact, normalized } = self.duplicates;
        if exact + normalized > 0 {
            parts.push(format!("{} duplicates", exact + normalized));
        }
        parts.join(", ")
    }
}

/// The rows of a network source.
#[derive(Debug, Default)]
pub(super) struct FetchedRows {
    /// The number of rows that the server gave.
    pub(super) read: u64,
    /// The rows that have a question and an answer.
    pub(super) rows: Vec<CorpusRow>,
    /// The rows that have not, by reason.
    pub(super) refused: BTreeMap<Refusal, u64>,
}

impl From<Vec<CorpusRow>> for FetchedRows {
    fn from(rows: Vec<CorpusRow>) -> Self {
        Self {
            read: rows.len() as u64,
            rows,
            refused: BTreeMap::new(),
        }
    }
}

impl FetchedRows {
    /// Counts a row, and keeps it if it can be used.
    pub(super) fn push(&mut self, row: Result<CorpusRow, Refusal>) {
        self.read += 1;
        match row {
            Ok(row) => self.rows.push(row),
            Err(refusal) => *self.refused.entry(refusal).or_default() += 1,
        }
    }
}

/// The lines of a file of rows.
#[derive(Debug, Default)]
pub(super) struct Collector {
    holdout: HoldoutFilter,
    exact: HashSet<String>,
    normalized: HashSet<String>,
    pub(super) lines: Vec<String>,
}

impl Collector {
    /// Adds the rows of a source, in an order that does not depend on the order in which they
    /// arrived.
    pub(super) fn add(
        &mut self,
        source: SourceName,
        fetched: FetchedRows,
    ) -> Result<SourceReport, serde_json::Error> {
        let mut report = SourceReport {
            read: fetched.read,
            refused: fetched.refused,
            ..SourceReport::default()
        };
        let mut rows = fetched.rows;
        rows.sort_by_cached_key(|row| {
            (row.position, row.text(), address(row), row.license.clone())
        });
        let mut hash = Sha256::new();
        for row in rows {
            let line = serde_json::to_string(&WrittenRow::new(source, &row))?;
            if let Some(refusal) = self.refusal(&row, &line) {
                *report.refused.entry(refusal).or_default() += 1;
            } else if !self.exact.insert(row.digest()) {
                report.duplicates.exact += 1;
            } else if !self.normalized.insert(row.normalized_digest()) {
                report.duplicates.normalized += 1;
            } else {
                report.rows += 1;
                hash.update(&line);
                hash.update("\n");
                *report.licenses.entry(row.license).or_default() += 1;
                let world = match row.origin {
                    RowOrigin::Table { .. } => Some("polyguard"),
                    RowOrigin::Step(step) => Some(step.world),
                    RowOrigin::Url { .. } => None,
                };
                if let Some(world) = world {
                    *report.worlds.entry(world.to_owned()).or_default() += 1;
                }
                self.lines.push(line);
            }
        }
        report.sha256 = files::hex(&hash.finalize());
        if report.rows > 0 {
            report.status = SourceStatus::Used;
        } else {
            report.status = SourceStatus::Skipped;
            report.reason = Some(format!(
                "no row is left: {}",
                report.describe_dropped_rows()
            ));
        }
        Ok(report)
    }

    /// Returns the reason why a row must not be in the corpus.
    fn refusal(&self, row: &CorpusRow, line: &str) -> Option<Refusal> {
        let text = row.text();
        match self.holdout.check(&text) {
            Some(HoldoutMatch::Archetype) => return Some(Refusal::HeldOutArchetype),
            Some(HoldoutMatch::Pair) => return Some(Refusal::HeldOutPair),
            None => {}
        }
        if !matches!(row.origin, RowOrigin::Url { .. }) {
            return None;
        }
        if text.chars().count() > CHARACTERS {
            return Some(Refusal::TooLong);
        }
        // The trainer must be able to read what other people wrote.
        parse_example(line, 1)
            .is_err()
            .then_some(Refusal::Malformed)
    }
}

fn address(row: &CorpusRow) -> String {
    match &row.origin {
        RowOrigin::Url { url, .. } => url.clone(),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Message;
    use super::*;

    type Tested = Result<(), Box<dyn std::error::Error>>;

    fn row(prompt: &str, completion: &str) -> CorpusRow {
        CorpusRow {
            prompt: vec![Message::user(prompt)],
            completion: completion.to_owned(),
            origin: RowOrigin::Url {
                url: "https://a.org/b".to_owned(),
                row: None,
            },
            license: "cc0-1.0".to_owned(),
            position: 0,
        }
    }

    fn fetched(rows: &[CorpusRow]) -> FetchedRows {
        let mut found = FetchedRows::default();
        for row in rows {
            found.push(Ok(row.clone()));
        }
        found
    }

    #[test]
    fn duplicates_are_removed_within_and_across_sources() -> Tested {
        let mut all = Collector::default();
        let rows = [
            row("One?", "1"),
            row("One?", "1"),
            row("one", "1."),
            row("Two?", "2"),
        ];
        let report = all.add(SourceName::Hf, fetched(&rows))?;
        let duplicates = Duplicates {
            exact: 1,
            normalized: 1,
        };
        assert_eq!((report.rows, report.duplicates), (2, duplicates));
        let report = all.add(SourceName::DdiApi, fetched(&[row("TWO?", "2")]))?;
        assert_eq!((report.rows, report.duplicates.normalized), (0, 1));
        assert_eq!(report.status, SourceStatus::Skipped);
        assert!(
            report
                .reason
                .is_some_and(|why| why.contains("1 duplicates"))
        );
        assert_eq!(all.lines.len(), 2);
        Ok(())
    }

    #[test]
    fn collected_lines_do_not_depend_on_row_order() -> Tested {
        let mut rows: Vec<CorpusRow> = (0..20).map(|n| row(&format!("q{n}"), "a")).collect();
        rows.push(row("Q3", "a"));
        let lines = |rows: &[CorpusRow]| -> Result<Vec<String>, serde_json::Error> {
            let mut all = Collector::default();
            all.add(SourceName::DdiApi, fetched(rows))?;
            Ok(all.lines)
        };
        let first = lines(&rows)?;
        rows.reverse();
        assert_eq!(lines(&rows)?, first);
        rows.rotate_left(7);
        assert_eq!(lines(&rows)?, first);
        Ok(())
    }

    #[test]
    fn forbidden_rows_are_refused_and_counted() -> Tested {
        let mut all = Collector::default();
        let mut malformed = row("q", "a");
        malformed.prompt.push(Message {
            role: "assistant",
            content: "b".to_owned(),
        });
        let rows = [
            row("How do nitroglycerin and sildenafil interact?", "badly"),
            row("How do warfarin and erythromycin interact?", "badly"),
            row("long", &"x".repeat(CHARACTERS)),
            malformed,
            row("kept", "yes"),
        ];
        let report = all.add(SourceName::DdiApi, fetched(&rows))?;
        let expected = [
            (Refusal::HeldOutArchetype, 1),
            (Refusal::HeldOutPair, 1),
            (Refusal::TooLong, 1),
            (Refusal::Malformed, 1),
        ];
        assert_eq!(report.refused, BTreeMap::from(expected));
        assert_eq!((report.read, report.rows), (5, 1));
        Ok(())
    }
}
