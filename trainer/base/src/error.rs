//! Errors of the library; each message names the object, the place and a remedy.

use std::io;
use std::path::PathBuf;

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
    /// The replay of policy `trained` is missing.
    #[error("policy trained needs --model DIR or --replay FILE: the default {} does not exist", .0.display())]
    NoReplay(PathBuf),
    /// A model or replay is named, but policy `trained` does not take part.
    #[error("only policy trained plays {}: add trained to --policies, or leave it out", .0.display())]
    UnusedReplay(PathBuf),
    /// The output folder already holds a run.
    #[error("{} holds a run: continue it with --resume-from-checkpoint, overwrite it with --overwrite-output-dir, or name another folder", .0.display())]
    RunExists(PathBuf),
    /// The output folder holds files that are not a run.
    #[error("{} is not an empty folder, and holds no run: name another folder, or overwrite its contents with --overwrite-output-dir", .0.display())]
    DirNotEmpty(PathBuf),
    /// Another run is writing to the output folder.
    #[error("another run is using {}: wait for it to end, or name another folder", .0.display())]
    RunLocked(PathBuf),
    /// A checkpoint, model or file of options that cannot be used.
    #[error("{}: {reason}", path.display())]
    Checkpoint {
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
    /// A replay has no row that can be played.
    #[error("{} holds no row that can be played: record one with `sentinel record`", .0.display())]
    NoRows(PathBuf),
    /// The value of an option does not exist in the selected world.
    #[error("invalid value for {option}: {reason}")]
    Argument {
        /// The name of the option.
        option: &'static str,
        /// The fault and the allowed values.
        reason: String,
    },
    /// The selected world does not know the tasks, or an option that selects them.
    #[error("{reason} (world {world})")]
    Tasks {
        /// The fault and the allowed values.
        reason: String,
        /// The name of the selected world.
        world: &'static str,
    },
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
    /// A recorded action was refused during a benchmark.
    #[error("nothing was timed on {task}: a recorded action was refused: {reason}")]
    Bench {
        /// The name of the task.
        task: &'static str,
        /// The world's reason for the refusal.
        reason: String,
    },
    /// A line of an action file cannot be played.
    #[error("{file} line {line}: {reason}")]
    Action {
        /// The name of the file.
        file: String,
        /// The 1-based line number.
        line: usize,
        /// The reason why it cannot be played.
        reason: String,
    },
    /// A line of a corpus is not an example.
    #[error("{} line {line}: {reason}", path.display())]
    Example {
        /// The path of the corpus.
        path: PathBuf,
        /// The 1-based line number.
        line: usize,
        /// The fault of the line.
        reason: String,
    },
    /// A corpus has no examples.
    #[error("{} holds no example: write some with `sentinel lm corpus`", .0.display())]
    NoExamples(PathBuf),
    /// A manifest cannot be read.
    #[error("{} is not a manifest: {reason}; remove it and run `sentinel replay manifest`", path.display())]
    Manifest {
        /// The path of the manifest.
        path: PathBuf,
        /// The reason why it cannot be read.
        reason: String,
    },
    /// A file holds no compact model that this build can run.
    #[error("{}: {reason}", path.display())]
    Model {
        /// The path of the file.
        path: PathBuf,
        /// The fault and its remedy.
        reason: String,
    },
    /// The provenance file of a model or a corpus cannot be read.
    #[error("{} does not say where it comes from: {reason}; put the file back as it was, or make the model or corpus again", path.display())]
    Provenance {
        /// The path of the file.
        path: PathBuf,
        /// The fault of the file.
        reason: String,
    },
    /// A report of the chain of evidence is missing, cut off or invalid.
    #[error("{}: {reason}; {remedy}", path.display())]
    Report {
        /// The path of the file or folder.
        path: PathBuf,
        /// The fault of the file.
        reason: String,
        /// The command that makes it.
        remedy: String,
    },
    /// A replay cannot be listed in a manifest.
    #[error("{} cannot be listed: {reason}", path.display())]
    CannotList {
        /// The path of the replay.
        path: PathBuf,
        /// The reason why it cannot be listed.
        reason: &'static str,
    },
}

impl Error {
    /// Returns the error of a checkpoint, model or file of options that cannot be used.
    pub fn checkpoint(path: &std::path::Path, reason: impl Into<String>) -> Self {
        Self::Checkpoint {
            path: path.to_owned(),
            reason: reason.into(),
        }
    }

    /// Returns the error of a report that cannot be used, with the command that makes it.
    pub fn report(
        path: &std::path::Path,
        reason: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self::Report {
            path: path.to_owned(),
            reason: reason.into(),
            remedy: remedy.into(),
        }
    }

    /// Returns the error of an option whose value does not exist in the selected world.
    #[must_use]
    pub const fn argument(option: &'static str, reason: String) -> Self {
        Self::Argument { option, reason }
    }
}
