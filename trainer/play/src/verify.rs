//! `sentinel replay verify`: plays every episode of a replay again and reports the differences.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use rayon::prelude::*;
use sentinel_base::provenance::{Fallback, Provenance};
use sentinel_base::{Error, Progress, files};
use sentinel_env::WorldName;
use sentinel_policy::replay::{AnyReplay, Diagnostic, PendingCheck, Verification};
use serde::Serialize;

use crate::error::PlayError;

/// The maximum number of diagnostics, and of missed episodes, that are shown; the rest is counted.
const SHOWN: usize = 20;

/// The configuration of `sentinel replay verify`.
#[derive(Clone, Debug, clap::Args)]
pub struct VerifyConfig {
    /// Replay files in JSON lines
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Print everything as JSON
    #[arg(long)]
    pub json: bool,
}

/// The findings about one replay.
#[derive(Clone, Debug, Serialize)]
pub struct FileReport {
    /// The path of the replay.
    pub file: PathBuf,
    /// The number of rows that can be played.
    pub rows: usize,
    /// The number of lines that cannot be used.
    pub problem_count: usize,
    /// The first of these lines, with their faults.
    pub problems: Vec<Diagnostic>,
    /// Warnings about the player, if it was just recorded; left out for none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// The fallbacks that acted in the replay; left out for none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fallbacks: Vec<Fallback>,
    /// The counts of completions; left out for a replay without any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub words: Option<CompletionCounts>,
    /// The episodes, played again.
    pub verification: Verification,
}

/// Counts of rows with a completion of a language model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct CompletionCounts {
    /// The number of all such rows.
    pub rows: usize,
    /// The number of rows whose completion was parsed only after a repair.
    pub repaired: usize,
    /// The number of rows whose completion was not an action, so that the replay's fallback acted.
    pub fallbacks: usize,
}

impl CompletionCounts {
    /// Counts the transcripts of some replays; `None` if no row has one.
    #[must_use]
    pub fn count<'a>(replays: impl Iterator<Item = &'a dyn AnyReplay>) -> Option<Self> {
        let mut counts = Self {
            rows: 0,
            repaired: 0,
            fallbacks: 0,
        };
        for replay in replays {
            replay.visit_rows(&mut |_, transcript| {
                if let Some(transcript) = transcript {
                    counts.rows += 1;
                    counts.repaired += usize::from(transcript.repaired);
                    counts.fallbacks += usize::from(transcript.fallback);
                }
            });
        }
        (counts.rows > 0).then_some(counts)
    }

    /// Returns the warning that must be printed if the fallback acted.
    #[must_use]
    pub fn fallback_warning(&self) -> Option<String> {
        let Self {
            rows, fallbacks, ..
        } = self;
        (*fallbacks > 0).then(|| {
            format!(
                "{fallbacks} of {rows} completions were not actions: there the replay's fallback acted, not the model"
            )
        })
    }
}

/// Reads a replay and plays it again, in parallel over cores.
///
/// # Errors
/// Returns an error if the file cannot be read or is empty: there is no score without an episode.
pub fn verify_file(path: &Path, progress: Progress<'_>) -> Result<FileReport, Error> {
    let replay = files::read_replay(path)?;
    if replay.row_count() == 0 && replay.problem_count() == 0 {
        return Err(PlayError::NoRows(path.to_owned()).into());
    }
    Ok(FileReport {
        file: path.to_owned(),
        rows: replay.row_count(),
        problem_count: replay.problem_count(),
        problems: replay.problems().to_vec(),
        warnings: Vec::new(),
        fallbacks: Provenance::from_replays(replay.worlds()).fallbacks,
        words: CompletionCounts::count(replay.worlds()),
        verification: verify_all(replay.worlds(), progress),
    })
}

/// Plays all episodes of some replays again, in parallel over cores.
#[must_use]
pub fn verify_all<'a>(
    replays: impl Iterator<Item = &'a dyn AnyReplay>,
    progress: Progress<'_>,
) -> Verification {
    let pending: Vec<PendingCheck<'_>> =
        replays.flat_map(|replay| replay.pending_checks()).collect();
    let checks = pending.into_par_iter().map(|check| {
        let check = check();
        progress();
        check
    });
    Verification::from_checks(checks.collect())
}

impl FileReport {
    /// Returns `true` if every line was used and every action was recorded.
    #[must_use]
    pub const fn fits(&self) -> bool {
        self.problem_count == 0 && self.verification.fits()
    }

    /// Returns the problems in one line; empty if there are none.
    #[must_use]
    pub fn problems(&self) -> String {
        let v = &self.verification;
        let counts = [
            (self.problem_count, "bad lines"),
            (v.misses, "replay misses"),
            (v.unused, "unused rows"),
            (v.mismatches, "rows of another scenario"),
            (v.texts, "rows with another text"),
        ];
        let found = counts
            .iter()
            .filter(|(n, _)| *n > 0)
            .map(|(n, what)| format!("{n} {what}"));
        found.collect::<Vec<_>>().join(", ")
    }

    /// Returns the report for a terminal.
    #[must_use]
    pub fn text(&self) -> String {
        let v = &self.verification;
        let mut text = format!(
            "{}: {}\n  episodes {}, rows {}, hits {}, misses {}, unused rows {}, bad lines {}\n",
            self.file.display(),
            if self.fits() { "fits" } else { "DOES NOT FIT" },
            v.episode_count,
            self.rows,
            v.hits,
            v.misses,
            v.unused,
            self.problem_count
        );
        for mean in &v.means {
            let mut how = mean.streams.name().to_owned();
            if mean.world != WorldName::DEFAULT.name() {
                how = format!("{}, {how}", mean.world);
            }
            if mean.rules != "reference" {
                how = format!("{how}, {} rules", mean.rules);
            }
            let (task, score, episodes) = (mean.task, mean.score, mean.episodes);
            let _ = writeln!(
                text,
                "  {task} ({how}) score {score:.4} over {episodes} episodes"
            );
        }
        let _ = writeln!(text, "  overall score {:.4}, digest {}", v.score, v.digest);
        for fallback in &self.fallbacks {
            let _ = writeln!(text, "  {fallback}");
        }
        if let Some(words) = self.words {
            let CompletionCounts {
                rows,
                repaired,
                fallbacks,
            } = words;
            let _ = writeln!(
                text,
                "  in words: rows {rows}, repaired {repaired}, fallbacks {fallbacks}"
            );
        }
        self.problem_lines(&mut text);
        self.miss_lines(&mut text);
        text
    }

    fn problem_lines(&self, text: &mut String) {
        let findings = self
            .verification
            .episodes
            .iter()
            .flat_map(|episode| &episode.findings);
        let mut all: Vec<&Diagnostic> = self.problems.iter().chain(findings).collect();
        all.sort_by_key(|problem| problem.line);
        for problem in all.iter().take(SHOWN) {
            let _ = writeln!(text, "  {problem}");
        }
        // Not all unreadable lines may have been kept.
        let total = all.len() + self.problem_count - self.problems.len();
        if total > SHOWN {
            let _ = writeln!(text, "  … and {} more", total - SHOWN);
        }
    }

    fn miss_lines(&self, text: &mut String) {
        let missed = || {
            self.verification
                .episodes
                .iter()
                .filter(|e| !e.misses.is_empty())
        };
        for episode in missed().take(SHOWN) {
            let (id, misses) = (&episode.id, &episode.misses);
            let _ = writeln!(text, "  {id}: no row for steps {misses:?}");
        }
        if missed().count() > SHOWN {
            let _ = writeln!(
                text,
                "  … and misses in {} more episodes",
                missed().count() - SHOWN
            );
        }
    }
}
