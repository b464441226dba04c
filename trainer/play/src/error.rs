//! Errors of playing: replays, corpora and benchmarks.

use std::path::PathBuf;

use sentinel_base::Error;

/// The reason why nothing was played.
#[derive(Debug, thiserror::Error)]
pub enum PlayError {
    /// The replay of policy `trained` is missing.
    #[error("policy trained needs --model DIR or --replay FILE: the default {} does not exist", .0.display())]
    NoReplay(PathBuf),
    /// A model or replay is named, but policy `trained` does not take part.
    #[error("only policy trained plays {}: add trained to --policies, or leave it out", .0.display())]
    UnusedReplay(PathBuf),
    /// A replay has no row that can be played.
    #[error("{} holds no row that can be played: record one with `sentinel record`", .0.display())]
    NoRows(PathBuf),
    /// A recorded action was refused during a benchmark.
    #[error("nothing was timed on {task}: a recorded action was refused: {reason}")]
    Bench {
        /// The name of the task.
        task: &'static str,
        /// The world's reason for the refusal.
        reason: String,
    },
    /// A corpus has no examples.
    #[error("{} holds no example: write some with `sentinel lm corpus`", .0.display())]
    NoExamples(PathBuf),
    /// Bounds of episodes were asked for without episodes.
    #[error(
        "world {world} has bounds of episodes: name some with --eval FILE, an evaluation by `sentinel eval --world {world} --out FILE`"
    )]
    NoEpisodesToBound {
        /// The name of the world.
        world: &'static str,
    },
    /// A manifest cannot be read.
    #[error("{} is not a manifest: {reason}; remove it and run `sentinel replay manifest`", path.display())]
    Manifest {
        /// The path of the manifest.
        path: PathBuf,
        /// The reason why it cannot be read.
        reason: String,
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

impl From<PlayError> for Error {
    fn from(error: PlayError) -> Self {
        Self::other(error)
    }
}
