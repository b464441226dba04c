//! Errors of the folder of a run.

use std::path::PathBuf;

use sentinel_base::Error;

/// The reason why a folder cannot hold a new run.
#[derive(Debug, thiserror::Error)]
pub enum RunDirError {
    /// The output folder already holds a run.
    #[error("{} holds a run: continue it with --resume-from-checkpoint, overwrite it with --overwrite-output-dir, or name another folder", .0.display())]
    RunExists(PathBuf),
    /// Another run is writing to the output folder.
    #[error("another run is using {}: wait for it to end, or name another folder", .0.display())]
    RunLocked(PathBuf),
}

impl From<RunDirError> for Error {
    fn from(error: RunDirError) -> Self {
        Self::other(error)
    }
}
