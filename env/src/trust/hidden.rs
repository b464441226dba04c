//! What an episode hides: who is who, and how luck will fall.
//!
//! A policy never receives this type. Scripted oracles do, and their type says so.

use super::{Adversary, Behaviour};
use crate::rng::{Mt19937, PyRandom, StreamId, Streams, seed_many};
use crate::slot::{PerSlot, SLOTS, Slot};

/// Draws that an episode can need: at most two attempts at each of 20 nodes, and one more so that
/// a trace can show where the stream stands at the end.
pub const LUCK: usize = 41;

/// The hidden part of an episode.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hidden {
    /// Which behaviour acts behind each slot.
    pub assignment: PerSlot<Behaviour>,
    /// The adversary's configuration.
    pub adversary: Adversary,
    /// The outcome stream's draws, in order. Holding them makes the episode a plain value.
    luck: [f64; LUCK],
    drawn: u8,
}

impl Hidden {
    /// The variant (0..40) and the hidden state that `seed` gives.
    pub(super) fn from_seed(seed: u64, streams: Streams, adversary: Adversary) -> (u8, Self) {
        let [scenario, assignment, outcome] = match streams {
            // One seed: three streams that start alike.
            Streams::Reference => {
                let [generator] = seed_many([seed]);
                [generator.clone(), generator.clone(), generator]
            }
            Streams::Independent => seed_many(
                [StreamId::Scenario, StreamId::Assignment, StreamId::Outcome]
                    .map(|stream| streams.seed(seed, stream)),
            ),
        };
        Self::from_generators(scenario, assignment, outcome, adversary)
    }

    pub(super) fn from_generators(
        scenario: Mt19937,
        assignment: Mt19937,
        outcome: Mt19937,
        adversary: Adversary,
    ) -> (u8, Self) {
        let variant = PyRandom::from_generator(scenario).below(40) as u8;
        let mut behaviours = Behaviour::ALL;
        PyRandom::from_generator(assignment).shuffle(&mut behaviours);
        let mut outcome = PyRandom::from_generator(outcome);
        let luck = std::array::from_fn(|_| outcome.random());
        (variant, Self { assignment: PerSlot(behaviours), adversary, luck, drawn: 0 })
    }

    /// The same luck with other behaviours behind the slots: a hypothetical world for tests and
    /// for look-ahead from beliefs.
    #[must_use]
    pub fn with_assignment(mut self, assignment: [Behaviour; SLOTS]) -> Self {
        self.assignment = PerSlot(assignment);
        self
    }

    /// The next draw of the outcome stream without taking it.
    #[must_use]
    pub fn peek_luck(&self) -> f64 {
        self.luck[usize::from(self.drawn)]
    }

    /// How many draws were taken.
    #[must_use]
    pub const fn draws(&self) -> u8 {
        self.drawn
    }

    #[inline]
    pub(super) fn draw(&mut self) -> f64 {
        let value = self.luck[usize::from(self.drawn)];
        self.drawn += 1;
        value
    }

    /// True reliability per slot, the target of calibration.
    #[must_use]
    pub fn reliability(&self) -> [f64; SLOTS] {
        self.assignment.0.map(Behaviour::reliability)
    }

    /// The slot behind which `behaviour` acts.
    #[must_use]
    pub fn slot_of(&self, behaviour: Behaviour) -> Slot {
        let found = Slot::ALL.into_iter().find(|slot| self.assignment[*slot] == behaviour);
        found.unwrap_or(Slot::ALL[0])
    }
}
