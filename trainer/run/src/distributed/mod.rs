//! Training on several processes, called ranks, that hold the same weights.
//!
//! Nothing here knows an algorithm. A [`Communicator`] moves bytes between ranks; a [`ProcessGroup`]
//! builds on it: results of all ranks, sums in rank order, and errors that end every rank. A
//! [`Share`] divides work. [`process_group`] connects the processes that `mpirun` or `srun` started.

mod communicator;
mod connect;
mod error;
mod launch;
#[cfg(feature = "mpi")]
mod mpi;
mod process_group;
mod share;

pub use communicator::Communicator;
pub use connect::{process_group, refuse_ranks};
pub use error::DistributedError;
pub use launch::{INDEPENDENT, Launch};
pub use process_group::{ExactF64, ProcessGroup};
pub use share::Share;
