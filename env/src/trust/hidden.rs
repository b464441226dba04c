//! What an episode hides: who is who, and how luck will fall.
//!
//! A policy never receives this type. Scripted oracles do, and their type says so.

use super::{Adversary, Behaviour, SCENARIOS_PER_TASK};
use crate::rng::{Prefetched, PyRandom, StreamId, Streams, Words, first_words};
use crate::slot::{PerSlot, SLOTS, Slot};

/// Draws that an episode can need: at most two attempts at each of 20 nodes, and one more so that
/// a trace can show where the stream stands at the end.
pub const LUCK: usize = 41;

/// Words that the luck of an episode takes.
const OUTCOME_WORDS: usize = 2 * LUCK;
/// Words that picking a scenario or shuffling five slots exceeds less than once in 10^9 episodes; the
/// generator itself is seeded then.
const CHOICE_WORDS: usize = 48;

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
        let [only] = Self::from_seeds([seed], streams, adversary);
        only
    }

    /// The same for several seeds at once, which is faster than one after the other.
    pub(super) fn from_seeds<const K: usize>(
        seeds: [u64; K],
        streams: Streams,
        adversary: Adversary,
    ) -> [(u8, Self); K] {
        let stream = |id| seeds.map(|seed| streams.seed(seed, id));
        let outcome = stream(StreamId::Outcome);
        let outcome_words: [[u32; OUTCOME_WORDS]; K] = first_words(outcome);
        let (scenario, assignment) = (stream(StreamId::Scenario), stream(StreamId::Assignment));
        let build = |k: usize, a: &[u32], b: &[u32]| {
            let c = Prefetched::new(outcome[k], &outcome_words[k]);
            let (a, b) = (
                Prefetched::new(scenario[k], a),
                Prefetched::new(assignment[k], b),
            );
            Self::from_streams(
                PyRandom::over(a),
                PyRandom::over(b),
                PyRandom::over(c),
                adversary,
            )
        };
        match streams {
            // One seed: three streams that start alike.
            Streams::Reference => {
                std::array::from_fn(|k| build(k, &outcome_words[k], &outcome_words[k]))
            }
            Streams::Independent => {
                let a: [[u32; CHOICE_WORDS]; K] = first_words(scenario);
                let b: [[u32; CHOICE_WORDS]; K] = first_words(assignment);
                std::array::from_fn(|k| build(k, &a[k], &b[k]))
            }
        }
    }

    fn from_streams(
        mut scenario: PyRandom<impl Words>,
        mut assignment: PyRandom<impl Words>,
        mut outcome: PyRandom<impl Words>,
        adversary: Adversary,
    ) -> (u8, Self) {
        let variant = scenario.below(u32::from(SCENARIOS_PER_TASK)) as u8;
        let mut behaviours = Behaviour::ALL;
        assignment.shuffle(&mut behaviours);
        let luck = std::array::from_fn(|_| outcome.random());
        (
            variant,
            Self {
                assignment: PerSlot(behaviours),
                adversary,
                luck,
                drawn: 0,
            },
        )
    }

    /// The same luck with other behaviours behind the slots: a hypothetical world for tests and
    /// for look-ahead from beliefs.
    #[must_use]
    pub fn with_assignment(mut self, assignment: [Behaviour; SLOTS]) -> Self {
        self.assignment = PerSlot(assignment);
        self
    }

    /// This hidden state with as many draws taken as in `other`.
    pub(super) const fn drawn_as_far_as(mut self, other: &Self) -> Self {
        self.drawn = other.drawn;
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
        let found = Slot::ALL
            .into_iter()
            .find(|slot| self.assignment[*slot] == behaviour);
        found.unwrap_or(Slot::ALL[0])
    }
}
