//! What an episode hides: who is who, what is true, and how outcomes will be drawn.
//!
//! A policy never receives this type. Privileged policies do, and their type says so.

use super::attack::AdversaryState;
use super::pool::Pool;
use super::task::{GPUS_MAX, JOBS_MAX, JobId};
use crate::controller::AdversaryProfile;
use crate::named_enum;
use crate::rng::PyRandom;
use crate::slot::{PerSlot, SLOTS, Slot};
use crate::task::Task;

named_enum! {
    /// What a worker is like.
    pub enum Behaviour {
        /// Says what is.
        Reliable = "reliable",
        /// Says 40 points more than there is.
        Overreporter = "overreporter",
        /// Says what is, and works at half speed.
        Slow = "slow",
        /// Claims completion when stakes are high.
        Adversarial = "adversarial",
        /// Starts honest; from the sixth report on each one is further off.
        Degrading = "degrading",
    }
}

use Behaviour::{Adversarial, Degrading, Overreporter, Reliable, Slow};

impl Behaviour {
    /// Returns the reliability that calibration is measured against.
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

    /// Returns the share of a job's step that it gets done per step.
    #[must_use]
    pub const fn speed(self) -> f64 {
        if matches!(self, Slow) { 0.5 } else { 1.0 }
    }

    /// Returns who works in `task`, before the slots are shuffled.
    #[must_use]
    pub const fn cast(task: Task) -> [Self; SLOTS] {
        match task {
            Task::Task1 => [Reliable; SLOTS],
            Task::Task2 => [Reliable, Overreporter, Slow, Reliable, Degrading],
            Task::Task3 => [Reliable, Overreporter, Slow, Adversarial, Degrading],
        }
    }
}

/// The hidden part of an episode.
#[derive(Clone, Debug, PartialEq)]
pub struct Hidden {
    /// Which behaviour works behind each slot.
    pub assignment: PerSlot<Behaviour>,
    /// When the adversarial worker lies, and how sure it sounds.
    pub worker_adversary: AdversaryProfile,
    /// The adversary that attacks the cluster.
    pub attacker: AdversaryState,
    /// The GPUs as they are.
    pub pool: Pool,
    /// Priorities of the jobs, 1..=5, which raise their stakes.
    pub priorities: [u8; JOBS_MAX],
    /// True progress of the jobs, 0..1.
    pub progress: [f64; JOBS_MAX],
    /// Reports of the degrading behaviour; slots that share it share the count.
    pub degrading_calls: u16,
    /// The stream that decides which GPUs fail.
    pub(crate) failures: PyRandom,
    /// The stream that decides about attacks.
    pub(crate) attacks: PyRandom,
}

impl Hidden {
    /// Returns the same with other behaviours behind the slots.
    #[cfg(feature = "testing")]
    #[must_use]
    pub fn with_assignment(mut self, assignment: [Behaviour; SLOTS]) -> Self {
        self.assignment = PerSlot(assignment);
        self
    }

    /// Returns the same with other draws to come: failures and attacks as the seed `seed` draws them.
    #[cfg(feature = "testing")]
    #[must_use]
    pub fn with_outcome_seed(mut self, seed: u64) -> Self {
        self.failures = PyRandom::new(seed);
        self.attacks = PyRandom::new(seed.wrapping_add(1));
        self
    }

    /// Returns the next draw of the stream of failures, without taking it.
    #[must_use]
    pub fn peek_failures(&self) -> f64 {
        self.failures.clone().random()
    }

    /// Returns the next draw of the stream of attacks, without taking it.
    #[must_use]
    pub fn peek_attacks(&self) -> f64 {
        self.attacks.clone().random()
    }

    /// Returns the true reliability per slot, the target of calibration.
    #[must_use]
    pub fn reliability(&self) -> [f64; SLOTS] {
        self.assignment.0.map(Behaviour::reliability)
    }

    /// Returns how many different behaviours are in play.
    #[must_use]
    pub fn distinct_behaviours(&self) -> u8 {
        let mut seen = 0u8;
        for behaviour in self.assignment.0 {
            seen |= 1 << behaviour as u8;
        }
        seen.count_ones() as u8
    }

    /// Returns the true progress of a job, 0..1; 0 for one that the task does not have.
    #[must_use]
    pub fn progress_of(&self, job: JobId) -> f64 {
        self.progress.get(job.index()).copied().unwrap_or(0.0)
    }

    /// Returns who works behind a slot; `None` stands for the first slot.
    pub(crate) fn behaviour(&self, worker: Option<Slot>) -> Behaviour {
        self.assignment[worker.unwrap_or(Slot::ALL[0])]
    }
}

const _: () = assert!(GPUS_MAX <= 16, "a tick of the pool has one bit per GPU");
