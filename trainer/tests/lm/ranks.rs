//! Ranks as threads of the test: the part of MPI that training needs, over channels.

use std::sync::mpsc::{Receiver, Sender, channel};

use sentinel_run::distributed::{Communicator, DistributedError, ProcessGroup};

/// A rank that exchanges bytes over channels. Once it is dropped, the others cannot reach it.
pub(crate) struct ThreadRank {
    rank: usize,
    to: Vec<Sender<Vec<u8>>>,
    from: Vec<Receiver<Vec<u8>>>,
}

/// Returns ranks that are connected with each other.
pub(crate) fn connect(size: usize) -> Vec<ThreadRank> {
    let mut to: Vec<Vec<_>> = (0..size).map(|_| Vec::new()).collect();
    let mut from: Vec<Vec<_>> = (0..size).map(|_| Vec::new()).collect();
    for senders in &mut to {
        for receivers in &mut from {
            let (sender, receiver) = channel();
            senders.push(sender);
            receivers.push(receiver);
        }
    }
    let ends = to.into_iter().zip(from).enumerate();
    ends.map(|(rank, (to, from))| ThreadRank { rank, to, from })
        .collect()
}

fn gone(rank: usize) -> DistributedError {
    DistributedError::Transport(format!("rank {rank} is gone"))
}

impl Communicator for ThreadRank {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.to.len()
    }

    fn all_gather(&self, own: &[u8]) -> Result<Vec<Vec<u8>>, DistributedError> {
        self.all_to_all(&vec![own; self.size()])
    }

    fn all_to_all(&self, parts: &[&[u8]]) -> Result<Vec<Vec<u8>>, DistributedError> {
        assert_eq!(parts.len(), self.size());
        for (rank, (to, part)) in self.to.iter().zip(parts).enumerate() {
            to.send(part.to_vec()).map_err(|_| gone(rank))?;
        }
        let received = self.from.iter().enumerate();
        let received = received.map(|(rank, from)| from.recv().map_err(|_| gone(rank)));
        received.collect()
    }
}

/// Runs `work` on every rank, each in a thread with its own communicator, and returns the results in
/// rank order.
pub(crate) fn on_ranks_with<C, T>(
    size: usize,
    communicator: impl Fn(ThreadRank) -> C + Sync,
    work: impl Fn(&ProcessGroup) -> T + Sync,
) -> Vec<T>
where
    C: Communicator + 'static,
    T: Send,
{
    let (communicator, work) = (&communicator, &work);
    std::thread::scope(|scope| {
        let start = |rank| scope.spawn(move || work(&ProcessGroup::new(communicator(rank))));
        let started: Vec<_> = connect(size).into_iter().map(start).collect();
        started
            .into_iter()
            .map(|rank| rank.join().unwrap())
            .collect()
    })
}

/// Runs `work` on every rank, and returns the results in rank order.
pub(crate) fn on_ranks<T: Send>(size: usize, work: impl Fn(&ProcessGroup) -> T + Sync) -> Vec<T> {
    on_ranks_with(size, |rank| rank, work)
}
