//! What an episode hides: who is who, what is true, and how luck will fall.
//!
//! A policy never receives this type. Scripted oracles do, and their type says so.

use super::{AdversaryState, Behaviour, GPUS_MAX, JOBS_MAX, JobId, Jobs, Pool, Setup, Size};
use crate::rng::{Mt19937, PyRandom, StreamId};
use crate::slot::{PerSlot, SLOTS, Slot};
use crate::trust::Adversary;

/// The hidden part of an episode.
#[derive(Clone, Debug, PartialEq)]
pub struct Hidden {
    /// Which behaviour works behind each slot.
    pub assignment: PerSlot<Behaviour>,
    /// When the adversarial worker lies, and how sure it sounds.
    pub worker_adversary: Adversary,
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
    pub(super) failures: PyRandom,
    /// The stream that decides about attacks.
    pub(super) attacks: PyRandom,
}

impl Hidden {
    /// The queue and the hidden state that a setup gives.
    pub(super) fn new(setup: &Setup) -> (Jobs, Self) {
        let (size, profile) = (Size::of(setup.task), &setup.profile);
        let ids = [
            StreamId::Jobs,
            StreamId::Assignment,
            StreamId::Failures,
            StreamId::Attacks,
        ];
        let seeds = ids.map(|id| setup.streams.seed(setup.seed, id));
        let [mut queue, mut slots, failures, attacks] =
            Mt19937::from_seeds(seeds).map(PyRandom::over);
        let (jobs, priorities) = Jobs::generate(&size, profile, &mut queue);
        let mut behaviours = Behaviour::cast(setup.task);
        slots.shuffle(&mut behaviours);
        let hidden = Self {
            assignment: PerSlot(behaviours),
            worker_adversary: Adversary {
                threshold: profile.adversarial_threshold,
                benign_confidence: profile.adversary_benign_confidence,
                poison_confidence: profile.adversary_poison_confidence,
            },
            attacker: AdversaryState::new(&size, profile),
            pool: Pool::new(&size),
            priorities,
            progress: [0.0; JOBS_MAX],
            degrading_calls: 0,
            failures,
            attacks,
        };
        (jobs, hidden)
    }

    /// The same with other behaviours behind the slots: a hypothetical world for tests and for
    /// look-ahead from beliefs.
    #[must_use]
    pub fn with_assignment(mut self, assignment: [Behaviour; SLOTS]) -> Self {
        self.assignment = PerSlot(assignment);
        self
    }

    /// The same with other luck: failures and attacks as the seed `seed` draws them.
    #[must_use]
    pub fn with_luck(mut self, seed: u64) -> Self {
        self.failures = PyRandom::new(seed);
        self.attacks = PyRandom::new(seed.wrapping_add(1));
        self
    }

    /// The next draw of the stream of failures, without taking it.
    #[must_use]
    pub fn peek_failures(&self) -> f64 {
        self.failures.clone().random()
    }

    /// The next draw of the stream of attacks, without taking it.
    #[must_use]
    pub fn peek_attacks(&self) -> f64 {
        self.attacks.clone().random()
    }

    /// True reliability per slot, the target of calibration.
    #[must_use]
    pub fn reliability(&self) -> [f64; SLOTS] {
        self.assignment.0.map(Behaviour::reliability)
    }

    /// How many different behaviours are in play.
    #[must_use]
    pub fn distinct_behaviours(&self) -> u8 {
        let mut seen = 0u8;
        for behaviour in self.assignment.0 {
            seen |= 1 << behaviour as u8;
        }
        seen.count_ones() as u8
    }

    /// True progress of a job, 0..1; 0 for one that the task does not have.
    #[must_use]
    pub fn progress_of(&self, job: JobId) -> f64 {
        self.progress.get(job.index()).copied().unwrap_or(0.0)
    }

    /// Who works behind a slot, a slot of nobody standing for the first.
    pub(super) fn behaviour(&self, worker: Option<Slot>) -> Behaviour {
        self.assignment[worker.unwrap_or(Slot::ALL[0])]
    }
}

const _: () = assert!(GPUS_MAX <= 16, "a tick of the pool has one bit per GPU");
