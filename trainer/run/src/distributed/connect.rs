//! The connection of the processes that a launcher started, and its refusal.

use super::error::DistributedError;
use super::launch::Launch;
use super::process_group::ProcessGroup;

/// Connects the processes that a launcher started; a single process is a group of its own.
///
/// # Errors
/// If this program was built without MPI, or MPI connects another number of processes.
pub fn process_group() -> Result<ProcessGroup, DistributedError> {
    match Launch::of_this_process() {
        Some(launch) => connect(launch),
        None => Ok(ProcessGroup::default()),
    }
}

/// Refuses to run `command`, which trains in one process, as one of several.
///
/// # Errors
/// If a launcher started several processes.
pub fn refuse_ranks(command: &'static str) -> Result<(), DistributedError> {
    match Launch::of_this_process() {
        Some(launch) => Err(DistributedError::OneProcess { command, launch }),
        None => Ok(()),
    }
}

#[cfg(feature = "mpi")]
fn connect(launch: Launch) -> Result<ProcessGroup, DistributedError> {
    super::mpi::MpiCommunicator::connect(launch).map(ProcessGroup::new)
}

#[cfg(not(feature = "mpi"))]
const fn connect(launch: Launch) -> Result<ProcessGroup, DistributedError> {
    Err(DistributedError::NotBuilt(launch))
}
