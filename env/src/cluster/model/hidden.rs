//! The hidden state of an episode: the assignment of behaviors, the true values, and the upcoming
//! draws.
//!
//! Policies do not receive this type, except for privileged ones, which are marked as such by their
//! type.

use super::attack::AdversaryState;
use super::gpu_pool::Pool;
use super::task::{GPUS_MAX, JOBS_MAX, JobId};
use crate::adaptive_difficulty::AdversaryProfile;
use crate::named_enum;
use crate::rng::PyRandom;
use crate::slot::{PerSlot, SLOTS, Slot};
use crate::task::Task;

named_enum! {
    /// The behavior of a worker.
    pub enum Behavior {
        /// Reports the true progress, at full speed.
        Reliable = "reliable",
        /// Overstates progress by 0.40, up to 1.
        Overreporter = "overreporter",
        /// Reports the true progress, but works at half speed.
        Slow = "slow",
        /// Claims completion of any job whose stakes reach its threshold.
        Adversarial = "adversarial",
        /// Reports the true progress five times; each later report overstates it by 0.12 more.
        Degrading = "degrading",
    }
}

use Behavior::{Adversarial, Degrading, Overreporter, Reliable, Slow};

impl Behavior {
    /// Returns the true reliability, 0..=1, to which calibration compares the trust.
    #[must_use]
    pub const fn reliability(self) -> f64 {
        match self {
            Reliable => 0.93,
            Overreporter => 0.45,
            Slow => 0.78,
            Adversarial => 0.18,
            Degrading => 0.62,
        }
    }

    /// Returns the speed, relative to a full-speed worker: 0.5 or 1.
    #[must_use]
    pub const fn speed(self) -> f64 {
        if matches!(self, Slow) { 0.5 } else { 1.0 }
    }

    /// Returns the behaviors in `task`, before they are shuffled over the slots.
    #[must_use]
    pub const fn for_task(task: Task) -> [Self; SLOTS] {
        match task {
            Task::Task1 => [Reliable; SLOTS],
            Task::Task2 => [Reliable, Overreporter, Slow, Reliable, Degrading],
            Task::Task3 => [Reliable, Overreporter, Slow, Adversarial, Degrading],
        }
    }
}

/// The hidden part of an episode's state.
#[derive(Clone, Debug, PartialEq)]
pub struct Hidden {
    /// The behavior behind each slot.
    pub assignment: PerSlot<Behavior>,
    /// The configuration of the adversarial worker: the stakes from which it lies, and its stated
    /// confidence.
    pub worker_adversary: AdversaryProfile,
    /// The adversary that attacks the cluster.
    pub attacker: AdversaryState,
    /// The true state of the GPUs.
    pub pool: Pool,
    /// Priorities of the jobs, 1..=5, which raise their stakes.
    pub priorities: [u8; JOBS_MAX],
    /// True progress of the jobs, 0..=1.
    pub progress: [f64; JOBS_MAX],
    /// Number of reports by the degrading behavior; slots that share the behavior share the
    /// count.
    pub degrading_calls: u16,
    /// The stream that decides which GPUs fail.
    pub(crate) failures: PyRandom,
    /// The stream that decides about attacks.
    pub(crate) attacks: PyRandom,
}

impl Hidden {
    /// Returns the same hidden state with other behaviors behind the slots.
    #[cfg(feature = "testing")]
    #[must_use]
    pub fn with_assignment(mut self, assignment: [Behavior; SLOTS]) -> Self {
        self.assignment = PerSlot(assignment);
        self
    }

    /// Returns the same hidden state with the streams of failures and attacks reseeded from `seed`.
    #[must_use]
    pub fn with_outcome_seed(mut self, seed: u64) -> Self {
        self.failures = PyRandom::new(seed);
        self.attacks = PyRandom::new(seed.wrapping_add(1));
        self
    }

    /// Returns the next draw of the failure stream, in `[0, 1)`, without taking it.
    #[must_use]
    pub fn peek_failures(&self) -> f64 {
        self.failures.clone().random()
    }

    /// Iterates over the next draws of the failure stream, in `[0, 1)`, without taking them.
    pub fn upcoming_failures(&self) -> impl Iterator<Item = f64> + use<> {
        let mut draws = self.failures.clone();
        std::iter::repeat_with(move || draws.random())
    }

    /// Returns the next draw of the attack stream, in `[0, 1)`, without taking it.
    #[must_use]
    pub fn peek_attacks(&self) -> f64 {
        self.attacks.clone().random()
    }

    /// Returns the true reliability per slot, the target of calibration.
    #[must_use]
    pub fn reliability(&self) -> [f64; SLOTS] {
        self.assignment.0.map(Behavior::reliability)
    }

    /// Returns the number of different behaviors in the episode.
    #[must_use]
    pub fn distinct_behaviors(&self) -> u8 {
        let mut seen = 0u8;
        for behavior in self.assignment.0 {
            seen |= 1 << behavior as u8;
        }
        seen.count_ones() as u8
    }

    /// Returns the true progress of a job, 0..=1; 0 for a job that the task does not have.
    #[must_use]
    pub fn progress_of(&self, job: JobId) -> f64 {
        self.progress.get(job.index()).copied().unwrap_or(0.0)
    }

    /// Returns the behavior behind a slot; `None` stands for the first slot.
    pub(crate) fn behavior(&self, worker: Option<Slot>) -> Behavior {
        self.assignment[worker.unwrap_or(Slot::ALL[0])]
    }
}

const _: () = assert!(GPUS_MAX <= 16, "a tick of the pool has one bit per GPU");
