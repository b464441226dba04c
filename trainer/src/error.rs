//! What can go wrong, said so that it names the thing, the place and the way out.

use std::io;
use std::path::PathBuf;

/// Why a command stopped.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file cannot be written.
    #[error("cannot write {}: {source}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The folder of an output file is missing.
    #[error("cannot write {}: there is no folder {}, make it first", path.display(), folder.display())]
    NoFolder {
        /// The file.
        path: PathBuf,
        /// The folder.
        folder: PathBuf,
    },
    /// An output file is a folder.
    #[error("cannot write {}: it is a folder, name a file in it", .0.display())]
    IsFolder(PathBuf),
    /// An output file is there already.
    #[error("{} exists: name another file, or overwrite it with --force", .0.display())]
    Exists(PathBuf),
    /// What should be written has no form as JSON.
    #[error("cannot write JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// Whoever reads the output cannot take it.
    #[error("cannot write the output: {0}")]
    Output(#[source] io::Error),
    /// The replay of policy `trained` is missing.
    #[error("policy trained plays a model or a replay, and there is no {}: name one with --model DIR or --replay FILE", .0.display())]
    NoReplay(PathBuf),
    /// A replay is named that nobody plays.
    #[error("only policy trained plays {}: add trained to --policies, or leave it out", .0.display())]
    UnusedReplay(PathBuf),
    /// A folder with a run in it.
    #[error("{} holds a run: go on with --resume-from-checkpoint, start anew with --overwrite-output-dir, or name another folder", .0.display())]
    RunExists(PathBuf),
    /// A folder with something else in it.
    #[error("{} is not an empty folder, and holds no run: name another folder, or write over what is in it with --overwrite-output-dir", .0.display())]
    DirNotEmpty(PathBuf),
    /// A folder that another run writes to.
    #[error("another run is going on in {}: wait for its end, or name another folder", .0.display())]
    RunLocked(PathBuf),
    /// A checkpoint, model or file of options that cannot be used.
    #[error("{}: {reason}", path.display())]
    Checkpoint {
        /// The file.
        path: PathBuf,
        /// What is wrong with it, and what to do.
        reason: String,
    },
    /// An output file is there already, and is not what this command writes.
    #[error("{} exists and is no {kind}: name another file, or remove it first", path.display())]
    Precious {
        /// The file.
        path: PathBuf,
        /// What the command writes.
        kind: &'static str,
    },
    /// A replay has no row to play.
    #[error("{} holds no row that can be played: record one with `sentinel record`", .0.display())]
    NoRows(PathBuf),
    /// An option's value does not exist in the world that is played.
    #[error("invalid value for {option}: {reason}")]
    Argument {
        /// The option.
        option: &'static str,
        /// What is wrong, and what there is.
        reason: String,
    },
    /// Tasks, or an option that chooses some, that the world does not know.
    #[error("{reason} (world {world})")]
    Tasks {
        /// What is wrong, and what there is.
        reason: String,
        /// The world that is played.
        world: &'static str,
    },
    /// A replay of other worlds is to play.
    #[error("{} holds no row of world {played}: its rows are of {held}, so use --world {held}", path.display())]
    ForeignRows {
        /// The replay.
        path: PathBuf,
        /// The worlds of its rows.
        held: String,
        /// The one that is played.
        played: &'static str,
    },
    /// A step of a bench was refused, so that nothing was timed.
    #[error("nothing was timed on {task}: a recorded action was refused: {reason}")]
    Bench {
        /// The task.
        task: &'static str,
        /// Why.
        reason: String,
    },
    /// A line of an action file cannot be played.
    #[error("{file} line {line}: {reason}")]
    Action {
        /// The file.
        file: String,
        /// 1-based line.
        line: usize,
        /// Why.
        reason: String,
    },
    /// A line of a corpus is no example.
    #[error("{} line {line}: {reason}", path.display())]
    Example {
        /// The corpus.
        path: PathBuf,
        /// 1-based line.
        line: usize,
        /// What is wrong with it.
        reason: String,
    },
    /// A corpus holds nothing to learn from.
    #[error("{} holds no example: write some with `sentinel lm corpus`", .0.display())]
    NoExamples(PathBuf),
    /// A manifest cannot be read.
    #[error("{} is not a manifest: {reason}; remove it and run `sentinel replay manifest`", path.display())]
    Manifest {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// A file holds no compact model that this build can run.
    #[error("{}: {reason}", path.display())]
    Model {
        /// The file.
        path: PathBuf,
        /// What is wrong with it, and what to do.
        reason: String,
    },
    /// What says where a model or a corpus comes from cannot be read.
    #[error("{} does not say where it comes from: {reason}; put the file back as it was, or make the model or corpus again", path.display())]
    Provenance {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// A replay cannot stand in a manifest.
    #[error("{} cannot be listed: {reason}", path.display())]
    Unlisted {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: &'static str,
    },
}

impl Error {
    pub(crate) fn checkpoint(path: &std::path::Path, reason: impl Into<String>) -> Self {
        Self::Checkpoint {
            path: path.to_owned(),
            reason: reason.into(),
        }
    }

    pub(crate) const fn argument(option: &'static str, reason: String) -> Self {
        Self::Argument { option, reason }
    }
}
