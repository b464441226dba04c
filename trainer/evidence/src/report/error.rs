//! The reasons why a report cannot be made; each names the file, the place in it and a remedy.

use std::path::{Path, PathBuf};

use sentinel_base::{Error, files};
use sentinel_run::EventsError;

use crate::charts::ChartError;

/// The reason why a report cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// An input does not exist.
    #[error("there is no {}: name a run folder, an evaluation file, a sweep's reports folder or a folder of charts", .0.display())]
    NotFound(PathBuf),
    /// A folder holds nothing that a report is made of.
    #[error(
        "{} holds no run: a run folder has trainer_state.json and events.jsonl, a sweep's reports folder \
         sft_trl_run.json or folders with it, a folder of charts the files of `sentinel plots`",
        .0.display()
    )]
    NoRun(PathBuf),
    /// A folder holds a run that has not written a checkpoint.
    #[error(
        "{} holds a run without {missing}: it has written no checkpoint yet, wait for one or resume it with \
         --resume-from-checkpoint",
        path.display()
    )]
    NoCheckpoint {
        /// The path of the folder.
        path: PathBuf,
        /// The file that is missing.
        missing: &'static str,
    },
    /// A file ends in the middle.
    #[error("{} line {line}: the file ends in the middle of a value, so it is truncated; {remedy}", path.display())]
    Truncated {
        /// The path of the file.
        path: PathBuf,
        /// The 1-based line number of its end.
        line: usize,
        /// The way to make it again.
        remedy: String,
    },
    /// A file is not of the kind that its name or place says.
    #[error("{} is not {kind}: {reason}; {remedy}", path.display())]
    Invalid {
        /// The path of the file.
        path: PathBuf,
        /// The kind of file that was expected, with its article.
        kind: &'static str,
        /// The fault, with its place in the file.
        reason: String,
        /// The way to make it again.
        remedy: String,
    },
    /// A file is of no kind that a report is made of.
    #[error(
        "{} is of an unknown format: {reason}; a report reads files of `eval --out`, `lm eval --out` and `plots`, and folders",
        path.display()
    )]
    Unknown {
        /// The path of the file.
        path: PathBuf,
        /// The keys that it has, or the fault of its text.
        reason: String,
    },
    /// A file was written by a later version.
    #[error("{} has format {found}, and this program reads format {known}: use a newer program", path.display())]
    Format {
        /// The path of the file.
        path: PathBuf,
        /// The format of the file.
        found: u64,
        /// The format of this program.
        known: u32,
    },
    /// A file is not the one that a report was made from.
    #[error("{} is not the file that {} was made from: its SHA-256 differs; {remedy}", path.display(), report.display())]
    Changed {
        /// The path of the file.
        path: PathBuf,
        /// The report that names its digest.
        report: PathBuf,
        /// The way to make both agree.
        remedy: String,
    },
    /// The same input was named twice.
    #[error("{} is named twice: name every input once", .0.display())]
    Twice(PathBuf),
    /// The output folder holds something else.
    #[error("{} is not empty and holds no report: name another folder", .0.display())]
    Occupied(PathBuf),
    /// An input lies in the output folder, which is replaced.
    #[error("{} lies in the output folder {}, which is replaced: name another folder with --out", input.display(), out.display())]
    InputInOutput {
        /// The path of the input.
        input: PathBuf,
        /// The path of the output folder.
        out: PathBuf,
    },
    /// A chart cannot be drawn.
    #[error(transparent)]
    Chart(#[from] ChartError),
    /// The events of a run cannot be read.
    #[error(transparent)]
    Events(#[from] EventsError),
    /// A file cannot be read or written.
    #[error(transparent)]
    File(#[from] Error),
}

impl ReportError {
    /// Returns the error of a file that is not JSON of the expected kind.
    pub(super) fn from_json(
        path: &Path,
        kind: &'static str,
        error: &serde_json::Error,
        remedy: &str,
    ) -> Self {
        let (path, remedy) = (path.to_owned(), remedy.to_owned());
        if error.is_eof() {
            let line = error.line();
            return Self::Truncated { path, line, remedy };
        }
        let reason = error.to_string();
        Self::Invalid {
            path,
            kind,
            reason,
            remedy,
        }
    }

    /// Returns the error of a folder or a file that cannot be written.
    pub(super) fn write(path: &Path, source: std::io::Error) -> Self {
        let path = path.to_owned();
        Self::File(Error::Write { path, source })
    }

    /// Returns the error of a folder or a file that cannot be read.
    pub(super) fn read(path: &Path, source: std::io::Error) -> Self {
        let path = path.to_owned();
        Self::File(Error::Read { path, source })
    }
}

/// Returns the folder of a path, in words that a command line accepts.
pub(super) fn folder_text(path: &Path) -> String {
    files::parent_folder(path).display().to_string()
}
