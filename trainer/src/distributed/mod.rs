//! Training on several processes, called ranks, that hold the same weights.
//!
//! Nothing here knows an algorithm. A [`Communicator`] moves bytes between ranks; a [`ProcessGroup`]
//! builds on it: results of all ranks, sums in rank order, and errors that end every rank. A
//! [`Share`] divides work. [`process_group`] connects the processes that `mpirun` or `srun` started.

mod error;
mod launch;
#[cfg(feature = "mpi")]
mod mpi;
mod process_group;
mod share;

pub use error::DistributedError;
pub use launch::{INDEPENDENT, Launch, process_group, refuse_ranks};
pub use process_group::{ExactF64, ProcessGroup};
pub use share::Share;

/// Moves bytes between the ranks of a run. All ranks call the same methods in the same order.
pub trait Communicator {
    /// Returns the number of this process, from 0.
    fn rank(&self) -> usize;

    /// Returns the number of processes.
    fn size(&self) -> usize;

    /// Returns the bytes of every rank, in rank order.
    ///
    /// # Errors
    /// If a rank cannot be reached.
    fn all_gather(&self, own: &[u8]) -> Result<Vec<Vec<u8>>, DistributedError>;

    /// Sends `parts[r]` to rank `r`, and returns what each rank sent to this one, in rank order.
    ///
    /// # Errors
    /// If a rank cannot be reached.
    fn all_to_all(&self, parts: &[&[u8]]) -> Result<Vec<Vec<u8>>, DistributedError>;
}
