//! A group of ranks that run the same program on the same state.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fmt::Display;
use std::rc::Rc;
use std::time::{Duration, Instant};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::communicator::Communicator;
use super::error::DistributedError;
use super::share::Share;

/// Number of values that are summed, or bytes that are sent, at a time. It bounds the memory, and the
/// messages of MPI, whose lengths are 32-bit numbers.
const PIECE: usize = 1 << 24;

/// First byte of a message with a value, or with an error.
const VALUE: u8 = 0;
const ERROR: u8 = 1;

/// A number that is sent bit for bit; JSON has neither infinities nor NaN.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExactF64(u64);

impl From<f64> for ExactF64 {
    fn from(value: f64) -> Self {
        Self(value.to_bits())
    }
}

impl From<ExactF64> for f64 {
    fn from(value: ExactF64) -> Self {
        Self::from_bits(value.0)
    }
}

/// The ranks of a run. The default is a single process, for which every method returns at once.
///
/// All ranks call the same methods in the same order. An error on one rank travels with its next
/// exchange and ends every other rank with its message; [`Self::close`] is the last exchange. Clones
/// are handles of the same group.
#[derive(Clone, Default)]
pub struct ProcessGroup {
    ranks: Option<Rc<Ranks>>,
}

struct Ranks {
    communicator: Box<dyn Communicator>,
    /// `true` after an error was exchanged: no rank exchanges anything any more.
    failed: Cell<bool>,
    /// Time spent in exchanges, which includes waiting for slower ranks, and in sums.
    exchanging: Cell<Duration>,
    summing: Cell<Duration>,
}

impl ProcessGroup {
    /// Creates the group that a communicator connects.
    #[must_use]
    pub fn new(communicator: impl Communicator + 'static) -> Self {
        Self {
            ranks: Some(Rc::new(Ranks {
                communicator: Box::new(communicator),
                failed: Cell::new(false),
                exchanging: Cell::default(),
                summing: Cell::default(),
            })),
        }
    }

    /// Returns the share of this process of any work.
    #[must_use]
    pub fn share(&self) -> Share {
        self.ranks.as_ref().map_or(Share::WHOLE, |ranks| Share {
            rank: ranks.communicator.rank(),
            size: ranks.communicator.size(),
        })
    }

    /// Returns `true` if there are other processes.
    #[must_use]
    pub const fn is_distributed(&self) -> bool {
        self.ranks.is_some()
    }

    /// Returns `true` for the process that writes the run: rank 0.
    #[must_use]
    pub fn is_main(&self) -> bool {
        self.share().rank == 0
    }

    /// Returns the results of all ranks, in rank order.
    ///
    /// # Errors
    /// The own error, or that of the first rank that has one, on every rank.
    pub fn exchange<T, E>(&self, own: Result<T, E>) -> Result<Vec<T>, E>
    where
        T: Serialize + DeserializeOwned,
        E: Display + From<DistributedError>,
    {
        let Some(ranks) = &self.ranks else {
            return Ok(vec![own?]);
        };
        let frame = match &own {
            Ok(value) => serde_json::to_vec(value).map_err(|error| error.to_string()),
            Err(error) => Err(error.to_string()),
        };
        let frames = ranks.exchange(frame);
        own?;
        let decode = |frame: &Vec<u8>| serde_json::from_slice(frame).map_err(unreadable);
        let all: Result<Vec<T>, DistributedError> =
            frames.and_then(|frames| frames.iter().map(decode).collect());
        Ok(all?)
    }

    /// Returns the own result once every rank has one.
    ///
    /// # Errors
    /// The own error, or that of the first rank that has one, on every rank.
    pub fn join<T, E>(&self, own: Result<T, E>) -> Result<T, E>
    where
        E: Display + From<DistributedError>,
    {
        let Some(ranks) = &self.ranks else {
            return own;
        };
        let frame = own.as_ref().map(|_| Vec::new());
        let frames = ranks.exchange(frame.map_err(ToString::to_string));
        own.and_then(|value| {
            frames?;
            Ok(value)
        })
    }

    /// Returns the value of rank 0, which alone gives one.
    ///
    /// # Errors
    /// As [`Self::exchange`].
    pub fn broadcast<T, E>(&self, own: Result<Option<T>, E>) -> Result<T, E>
    where
        T: Serialize + DeserializeOwned,
        E: Display + From<DistributedError>,
    {
        let mut all = self.exchange(own)?.into_iter();
        let first = all.next().flatten();
        let missing = || DistributedError::Transport("rank 0 sent no value".to_owned());
        Ok(first.ok_or_else(missing)?)
    }

    /// Returns the bytes of rank 0, which alone gives any. They may be longer than a message of MPI.
    ///
    /// # Errors
    /// As [`Self::exchange`].
    pub fn broadcast_bytes<E>(&self, own: Result<Vec<u8>, E>) -> Result<Vec<u8>, E>
    where
        E: Display + From<DistributedError>,
    {
        let Some(ranks) = &self.ranks else {
            return own;
        };
        let (own, length) = match own {
            Ok(bytes) => {
                let length = bytes.len();
                (bytes, Ok(length))
            }
            Err(error) => (Vec::new(), Err(error)),
        };
        let length = self.exchange(length)?.first().copied().unwrap_or(0);
        let mut all = Vec::with_capacity(length);
        while all.len() < length {
            let piece = if self.is_main() {
                &own[all.len()..length.min(all.len() + PIECE)]
            } else {
                &[]
            };
            let sent = ranks.communicator.all_gather(piece)?;
            all.extend_from_slice(sent.first().map_or(&[][..], Vec::as_slice));
        }
        Ok(all)
    }

    /// Runs `work` on rank 0, and then on the others, which find what rank 0 has written or downloaded.
    ///
    /// # Errors
    /// As [`Self::exchange`].
    pub fn main_first<T, E>(&self, work: impl FnOnce() -> Result<T, E>) -> Result<T, E>
    where
        E: Display + From<DistributedError>,
    {
        if self.is_main() {
            let done = self.join(work())?;
            self.join(Ok(done))
        } else {
            self.join::<(), E>(Ok(()))?;
            self.join(work())
        }
    }

    /// Replaces values by their sums over all ranks. All ranks pass the same number of values.
    ///
    /// Every value is summed in rank order by one rank, which sends the sum to the others, so that all
    /// ranks hold the same bits. A rank sends and receives each value about twice, whatever the number
    /// of ranks.
    ///
    /// # Errors
    /// If a rank cannot be reached.
    pub fn sum(&self, values: &mut [f32]) -> Result<(), DistributedError> {
        let Some(ranks) = &self.ranks else {
            return Ok(());
        };
        let start = Instant::now();
        for piece in values.chunks_mut(PIECE) {
            ranks.sum(piece)?;
        }
        ranks.summing.set(ranks.summing.get() + start.elapsed());
        Ok(())
    }

    /// Checks that all ranks have the same facts, by name.
    ///
    /// # Errors
    /// The first difference, on every rank.
    pub fn agree(&self, facts: &BTreeMap<String, String>) -> Result<(), DistributedError> {
        let all: Vec<BTreeMap<String, String>> = self.exchange(Ok(facts.clone()))?;
        let Some((first, others)) = all.split_first() else {
            return Ok(());
        };
        for (rank, other) in (1..).zip(others) {
            let mut names = first.keys().chain(other.keys());
            if let Some(name) = names.find(|name| first.get(*name) != other.get(*name)) {
                let value = |of: &BTreeMap<String, String>| {
                    of.get(name)
                        .map_or_else(|| "absent".to_owned(), Clone::clone)
                };
                self.end();
                return Err(DistributedError::Disagreement {
                    rank,
                    what: name.clone(),
                    theirs: value(other),
                    ours: value(first),
                });
            }
        }
        Ok(())
    }

    /// Ends the run of the group: the last exchange, unless an error was exchanged before.
    ///
    /// # Errors
    /// The own error, or that of the first rank that has one.
    pub fn close<T, E>(&self, result: Result<T, E>) -> Result<T, E>
    where
        E: Display + From<DistributedError>,
    {
        if self.ranks.as_ref().is_some_and(|ranks| !ranks.failed.get()) {
            return self.join(result);
        }
        result
    }

    /// Returns the time of exchanges and sums in seconds, and starts to count anew; nothing for a
    /// single process.
    #[must_use]
    pub fn take_metrics(&self) -> BTreeMap<String, f64> {
        let mut metrics = BTreeMap::new();
        if let Some(ranks) = &self.ranks {
            let seconds = |of: &Cell<Duration>| of.take().as_secs_f64();
            let all = [
                ("distributed/exchange_seconds", seconds(&ranks.exchanging)),
                ("distributed/sum_seconds", seconds(&ranks.summing)),
            ];
            metrics.extend(all.map(|(name, value)| (name.to_owned(), value)));
        }
        metrics
    }

    /// Records that every rank has the same error, so that nothing more is exchanged.
    fn end(&self) {
        if let Some(ranks) = &self.ranks {
            ranks.failed.set(true);
        }
    }
}

impl Ranks {
    /// Returns the values of all ranks. A message is a byte that tells a value from an error, and then
    /// either.
    ///
    /// # Errors
    /// The error of the first rank that has one.
    fn exchange(&self, own: Result<Vec<u8>, String>) -> Result<Vec<Vec<u8>>, DistributedError> {
        let start = Instant::now();
        let (tag, content) = match own {
            Ok(value) => (VALUE, value),
            Err(message) => (ERROR, message.into_bytes()),
        };
        let bytes: Vec<u8> = std::iter::once(tag).chain(content).collect();
        let gathered = self.communicator.all_gather(&bytes);
        self.exchanging.set(self.exchanging.get() + start.elapsed());
        let mut values = Vec::new();
        for (rank, bytes) in gathered?.into_iter().enumerate() {
            match bytes.split_first() {
                Some((&VALUE, value)) => values.push(value.to_vec()),
                Some((&ERROR, message)) => {
                    self.failed.set(true);
                    let message = String::from_utf8_lossy(message).into_owned();
                    return Err(DistributedError::Rank { rank, message });
                }
                _ => return Err(unreadable(format!("a message of rank {rank} is unknown"))),
            }
        }
        Ok(values)
    }

    fn sum(&self, values: &mut [f32]) -> Result<(), DistributedError> {
        let (rank, size) = (self.communicator.rank(), self.communicator.size());
        let blocks = (0..size).map(|rank| Share { rank, size }.block(values.len()));
        let bytes: Vec<Vec<u8>> = blocks.map(|block| to_bytes(&values[block])).collect();
        let parts: Vec<&[u8]> = bytes.iter().map(Vec::as_slice).collect();
        let mut received = self.communicator.all_to_all(&parts)?.into_iter();
        let mut sum = from_bytes(&received.next().unwrap_or_default());
        for other in received {
            for (sum, value) in sum.iter_mut().zip(from_bytes(&other)) {
                *sum += value;
            }
        }
        let own = Share { rank, size }.block(values.len()).len();
        if sum.len() != own {
            let text = format!("{} values to sum instead of {own}", sum.len());
            return Err(DistributedError::Transport(text));
        }
        let all = self.communicator.all_gather(&to_bytes(&sum))?;
        let summed = all.iter().flat_map(|bytes| from_bytes(bytes));
        for (value, sum) in values.iter_mut().zip(summed) {
            *value = sum;
        }
        Ok(())
    }
}

fn unreadable(reason: impl Display) -> DistributedError {
    DistributedError::Transport(reason.to_string())
}

fn to_bytes(values: &[f32]) -> Vec<u8> {
    let mut bytes = vec![0; values.len() * 4];
    for (bytes, value) in bytes.as_chunks_mut::<4>().0.iter_mut().zip(values) {
        *bytes = value.to_le_bytes();
    }
    bytes
}

fn from_bytes(bytes: &[u8]) -> Vec<f32> {
    let words = bytes.as_chunks::<4>().0.iter();
    words.map(|word| f32::from_le_bytes(*word)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_sent_bit_for_bit() {
        for value in [0.1, -0.0, f64::NEG_INFINITY, f64::NAN] {
            let text = serde_json::to_string(&ExactF64::from(value)).expect("a number");
            let read: ExactF64 = serde_json::from_str(&text).expect("a number");
            assert_eq!(f64::from(read).to_bits(), value.to_bits());
        }
        assert_eq!(from_bytes(&to_bytes(&[1.5, f32::MIN])), [1.5, f32::MIN]);
    }

    /// A single process takes all work, and every result is its own.
    #[test]
    fn single_process_is_a_group_of_its_own() -> Result<(), DistributedError> {
        let group = ProcessGroup::default();
        assert!(group.is_main() && !group.is_distributed());
        assert_eq!(group.share().block(5), 0..5);
        assert_eq!(group.exchange::<u8, DistributedError>(Ok(3))?, [3]);
        assert_eq!(group.main_first::<u8, DistributedError>(|| Ok(4))?, 4);
        let mut values = [1.0, 2.0];
        group.sum(&mut values)?;
        assert_eq!(values, [1.0, 2.0]);
        assert!(group.take_metrics().is_empty());
        let failed = DistributedError::Transport("no".to_owned());
        assert_eq!(group.close::<(), _>(Err(failed.clone())), Err(failed));
        Ok(())
    }
}
