//! Exchange of bytes by MPI.

use mpi::Threading;
use mpi::datatype::{Partition, PartitionMut};
use mpi::environment::Universe;
use mpi::topology::SimpleCommunicator;
use mpi::traits::{Communicator as _, CommunicatorCollectives as _};

use super::communicator::Communicator;
use super::error::DistributedError;
use super::launch::Launch;

/// The ranks that MPI connects. When it is dropped, MPI waits for all ranks and ends.
pub(super) struct MpiCommunicator {
    /// `None` only while it is dropped.
    universe: Option<Universe>,
    world: SimpleCommunicator,
}

impl MpiCommunicator {
    /// Starts MPI in a process that `launch` describes.
    ///
    /// # Errors
    /// If MPI was started before, or connects another number of processes.
    pub(super) fn connect(launch: Launch) -> Result<Self, DistributedError> {
        // Threads compute, but only the one that connects exchanges anything.
        let started = mpi::initialize_with_threading(Threading::Funneled);
        let started = started.map(|(universe, _)| universe);
        let Some(universe) = started else {
            let connected = 0;
            return Err(DistributedError::Unconnected { launch, connected });
        };
        let world = universe.world();
        let found = Self {
            universe: Some(universe),
            world,
        };
        let connected = found.size();
        if connected == launch.size {
            Ok(found)
        } else {
            Err(DistributedError::Unconnected { launch, connected })
        }
    }
}

impl Drop for MpiCommunicator {
    fn drop(&mut self) {
        let universe = self.universe.take();
        if std::thread::panicking() {
            // The others wait for this rank in an exchange, and the end would wait for them. A process
            // that exits without it is ended by the launcher, together with the others.
            std::mem::forget(universe);
        }
    }
}

/// Returns lengths as the counts and displacements of MPI, and their sum.
///
/// # Errors
/// If the sum is too large for MPI.
fn layout(lengths: &[u64]) -> Result<(Vec<i32>, Vec<i32>, usize), DistributedError> {
    let too_large = |_| {
        let all: u64 = lengths.iter().sum();
        DistributedError::Transport(format!("a message of {all} bytes is too large for MPI"))
    };
    let (mut counts, mut starts, mut end) = (Vec::new(), Vec::new(), 0_u64);
    for length in lengths {
        starts.push(i32::try_from(end).map_err(too_large)?);
        counts.push(i32::try_from(*length).map_err(too_large)?);
        end += length;
    }
    let total = i32::try_from(end).map_err(too_large)?;
    Ok((counts, starts, usize::try_from(total).unwrap_or(0)))
}

/// Divides received bytes by their lengths.
fn divided(bytes: &[u8], lengths: &[u64]) -> Vec<Vec<u8>> {
    let mut rest = bytes;
    let take = |length: &u64| {
        let (own, after) = rest.split_at(usize::try_from(*length).unwrap_or(0));
        rest = after;
        own.to_vec()
    };
    lengths.iter().map(take).collect()
}

impl Communicator for MpiCommunicator {
    fn rank(&self) -> usize {
        usize::try_from(self.world.rank()).unwrap_or(0)
    }

    fn size(&self) -> usize {
        usize::try_from(self.world.size()).unwrap_or(1)
    }

    fn all_gather(&self, own: &[u8]) -> Result<Vec<Vec<u8>>, DistributedError> {
        let mut lengths = vec![0_u64; self.size()];
        self.world
            .all_gather_into(&(own.len() as u64), &mut lengths[..]);
        let (counts, starts, total) = layout(&lengths)?;
        let mut received = vec![0_u8; total];
        let mut into = PartitionMut::new(&mut received[..], counts, starts);
        self.world.all_gather_varcount_into(own, &mut into);
        Ok(divided(&received, &lengths))
    }

    fn all_to_all(&self, parts: &[&[u8]]) -> Result<Vec<Vec<u8>>, DistributedError> {
        let sent: Vec<u64> = parts.iter().map(|part| part.len() as u64).collect();
        let mut lengths = vec![0_u64; self.size()];
        self.world.all_to_all_into(&sent[..], &mut lengths[..]);
        let bytes = parts.concat();
        let (sent_counts, sent_starts, _) = layout(&sent)?;
        let (counts, starts, total) = layout(&lengths)?;
        let mut received = vec![0_u8; total];
        let from = Partition::new(&bytes[..], sent_counts, sent_starts);
        let mut into = PartitionMut::new(&mut received[..], counts, starts);
        self.world.all_to_all_varcount_into(&from, &mut into);
        Ok(divided(&received, &lengths))
    }
}
