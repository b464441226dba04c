//! Errors of a run on several ranks.

use super::launch::{INDEPENDENT, Launch};

/// An error of a run on several ranks.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DistributedError {
    /// Another rank stopped with an error.
    #[error("rank {rank}: {message}")]
    Rank {
        /// Number of the rank.
        rank: usize,
        /// Message of its error.
        message: String,
    },
    /// A rank differs from rank 0 in something that must be equal.
    #[error(
        "rank {rank} differs from rank 0 in {what} ({theirs}, not {ours}): start all ranks with the same program, \
         options and model"
    )]
    Disagreement {
        /// Number of the rank.
        rank: usize,
        /// Description of the difference.
        what: String,
        /// Value on that rank.
        theirs: String,
        /// Value on rank 0.
        ours: String,
    },
    /// Bytes cannot be exchanged.
    #[error("the ranks cannot exchange data: {0}")]
    Transport(String),
    /// The program was started several times, but cannot connect the processes.
    #[error(
        "this is one of {size} processes ({variable} is {size}), but this program was built without MPI: build it \
         with `--features mpi`, start one process, or set {INDEPENDENT}=1 if each is a run of its own with a \
         folder of its own", size = .0.size, variable = .0.variable
    )]
    NotBuilt(Launch),
    /// The program was started several times, for a command that runs in one process.
    #[error(
        "this is one of {size} processes ({variable} is {size}), but `{command}` trains in one: start one process, \
         or set {INDEPENDENT}=1 if each is a run of its own with a folder of its own",
        size = launch.size, variable = launch.variable
    )]
    OneProcess {
        /// The command line that was refused.
        command: &'static str,
        /// The launch of several processes.
        launch: Launch,
    },
    /// MPI did not start, or connects another number of processes than were started.
    #[error(
        "{size} processes were started ({variable} is {size}), but MPI connects {connected}: start them with the \
         launcher of the MPI library that this program was built with; with SLURM, `srun --mpi=pmix`",
        size = launch.size, variable = launch.variable
    )]
    Unconnected {
        /// The launch of several processes.
        launch: Launch,
        /// Number of processes that MPI connects.
        connected: usize,
    },
}
