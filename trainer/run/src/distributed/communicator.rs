//! The transport of bytes between ranks.

use super::error::DistributedError;

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
