//! `sentinel replay verify`: plays every episode of a replay again and says what fits.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use rayon::prelude::*;
use sentinel_policy::WorldName;
use sentinel_policy::replay::{EpisodeKey, Problem, Replay, Verification, verify_episode};
use serde::Serialize;

use crate::{Error, Progress, files};

/// Problems and missed episodes that are shown; the rest is counted.
const SHOWN: usize = 20;

/// What to verify.
#[derive(Clone, Debug, clap::Args)]
pub struct VerifyConfig {
    /// Replays, JSON lines
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Print everything as JSON
    #[arg(long)]
    pub json: bool,
}

/// What was found about one replay.
#[derive(Clone, Debug, Serialize)]
pub struct FileReport {
    /// The replay.
    pub file: PathBuf,
    /// Rows that can be played.
    pub rows: usize,
    /// Lines that cannot be used.
    pub problem_count: usize,
    /// The first of them.
    pub problems: Vec<Problem>,
    /// What a language model said in it; left out where none did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub words: Option<Words>,
    /// The episodes, played again.
    pub verification: Verification,
}

/// Rows of a policy that plays in words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Words {
    /// All of them.
    pub rows: usize,
    /// Those whose completion was read only after a repair.
    pub repaired: usize,
    /// Those whose completion was no action, so that the replay's fallback acted.
    pub fallbacks: usize,
}

impl Words {
    /// Counts; none where no row has words.
    #[must_use]
    pub fn of(replay: &Replay) -> Option<Self> {
        let texts = || replay.iter().filter_map(|row| row.row.text.as_deref());
        let words = Self {
            rows: texts().count(),
            repaired: texts().filter(|text| text.repaired).count(),
            fallbacks: texts().filter(|text| text.fallback).count(),
        };
        (words.rows > 0).then_some(words)
    }

    /// The sentence that must be said where the fallback acted.
    #[must_use]
    pub fn warning(&self) -> Option<String> {
        let Self {
            rows, fallbacks, ..
        } = self;
        (*fallbacks > 0).then(|| {
            format!(
                "{fallbacks} of {rows} completions were no action: there the replay's fallback acted, not the model"
            )
        })
    }
}

/// Reads a replay and plays it again, spread over cores.
///
/// # Errors
/// If the file cannot be read or is empty: there is no score without an episode.
pub fn verify_file(path: &Path, progress: Progress<'_>) -> Result<FileReport, Error> {
    let replay = files::read_replay(path)?;
    if replay.rows() == 0 && replay.problem_count() == 0 {
        return Err(Error::NoRows(path.to_owned()));
    }
    Ok(FileReport {
        file: path.to_owned(),
        rows: replay.rows(),
        problem_count: replay.problem_count(),
        problems: replay.problems().to_vec(),
        words: Words::of(&replay),
        verification: verify_all(&replay, progress),
    })
}

/// Plays all episodes of a replay again, spread over cores.
#[must_use]
pub fn verify_all(replay: &Replay, progress: Progress<'_>) -> Verification {
    let keys: Vec<&EpisodeKey> = replay.episodes().collect();
    let checks = keys.into_par_iter().map(|key| {
        let check = verify_episode(replay, key);
        progress();
        check
    });
    Verification::of(checks.collect())
}

impl FileReport {
    /// Whether every line was used and every action was recorded.
    #[must_use]
    pub const fn fits(&self) -> bool {
        self.problem_count == 0 && self.verification.fits()
    }

    /// The faults in one line; empty when there are none.
    #[must_use]
    pub fn faults(&self) -> String {
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

    /// The report for a terminal.
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
            if mean.world != WorldName::default() {
                how = format!("{}, {how}", mean.world.name());
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
        if let Some(words) = self.words {
            let Words {
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
        let mut all: Vec<&Problem> = self.problems.iter().chain(findings).collect();
        all.sort_by_key(|problem| problem.line);
        for problem in all.iter().take(SHOWN) {
            let _ = writeln!(text, "  {problem}");
        }
        // Of the lines that cannot be read, not all may have been kept.
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
            let (key, misses) = (episode.key, &episode.misses);
            let _ = writeln!(text, "  {key}: no row for steps {misses:?}");
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
