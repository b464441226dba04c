//! Errors of files and options; each message names the object, the place and a remedy. Other crates
//! have errors of their own, which [`Error::Other`] carries through the functions between.

use std::io;
use std::path::PathBuf;

use sentinel_options::tasks::TasksError;

/// The reason why a command stopped.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The path of the file.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// A file cannot be written.
    #[error("cannot write {}: {source}", path.display())]
    Write {
        /// The path of the file.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The folder of an output file is missing.
    #[error("cannot write {}: there is no folder {}, make it first", path.display(), folder.display())]
    NoFolder {
        /// The path of the file.
        path: PathBuf,
        /// The path of the missing folder.
        folder: PathBuf,
    },
    /// The path of an output file is a folder.
    #[error("cannot write {}: it is a folder, name a file in it", .0.display())]
    IsFolder(PathBuf),
    /// An output file exists already.
    #[error("{} exists: name another file, or overwrite it with --force", .0.display())]
    Exists(PathBuf),
    /// A value cannot be expressed as JSON.
    #[error("cannot write JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// Standard output cannot be written to.
    #[error("cannot write the output: {0}")]
    Output(#[source] io::Error),
    /// The output folder holds files that are not a run.
    #[error("{} is not an empty folder, and holds no run: name another folder, or overwrite its contents with --overwrite-output-dir", .0.display())]
    DirNotEmpty(PathBuf),
    /// The folder that would be replaced holds what it is made from.
    #[error("{} holds {}, from which it would be made: name another folder", folder.display(), input.display())]
    InputInside {
        /// The path of the folder.
        folder: PathBuf,
        /// The path of the file or folder in it.
        input: PathBuf,
    },
    /// The content of a file cannot be used: a checkpoint, a model, options or a report.
    #[error("{}: {reason}", path.display())]
    Invalid {
        /// The path of the file.
        path: PathBuf,
        /// The fault and its remedy.
        reason: String,
    },
    /// An output file exists and is not of the kind that this command writes.
    #[error("{} exists and is not {kind}: name another file, or remove it first", path.display())]
    NotReplaceable {
        /// The path of the file.
        path: PathBuf,
        /// The kind of file that the command writes, with its article.
        kind: &'static str,
    },
    /// The value of an option does not exist in the selected world.
    #[error("invalid value for {option}: {reason}")]
    Argument {
        /// The name of the option.
        option: &'static str,
        /// The fault and the allowed values.
        reason: String,
    },
    /// The selected world does not know the tasks, or an option that selects them.
    #[error(transparent)]
    Tasks(#[from] TasksError),
    /// A replay has only rows of other worlds.
    #[error("{} holds no row of world {played}: its rows are of {held}, so use --world {held}", path.display())]
    WrongWorld {
        /// The path of the replay.
        path: PathBuf,
        /// The worlds of its rows, in words.
        held: String,
        /// The name of the selected world.
        played: &'static str,
    },
    /// The provenance file of a model or a corpus cannot be read.
    #[error("{} does not say where it comes from: {reason}; put the file back as it was, or make the model or corpus again", path.display())]
    Provenance {
        /// The path of the file.
        path: PathBuf,
        /// The fault of the file.
        reason: String,
    },
    /// A line of a file cannot be used.
    #[error("{file} line {line}: {reason}")]
    Line {
        /// The name of the file.
        file: String,
        /// The 1-based line number.
        line: usize,
        /// The fault of the line.
        reason: String,
    },
    /// An error of a part of the trainer that is above this crate.
    #[error(transparent)]
    Other(Box<dyn std::error::Error + Send + Sync>),
}

impl Error {
    /// Returns the error of a file whose content cannot be used.
    pub fn invalid(path: &std::path::Path, reason: impl Into<String>) -> Self {
        Self::Invalid {
            path: path.to_owned(),
            reason: reason.into(),
        }
    }

    /// Wraps an error of a part that is above this crate. The message stays as it is.
    pub fn other(error: impl std::error::Error + Send + Sync + 'static) -> Self {
        Self::Other(Box::new(error))
    }

    /// Returns the error of an option whose value does not exist in the selected world.
    #[must_use]
    pub const fn argument(option: &'static str, reason: String) -> Self {
        Self::Argument { option, reason }
    }
}
