//! The hidden state of an episode: the assignment of behaviors to slots, and the upcoming outcome
//! draws (spec trust §1.2, §4).
//!
//! Policies do not receive this type, except for privileged ones, which are marked as such by their
//! type.

use serde::{Serialize, Serializer};

use crate::adaptive_difficulty::AdversaryProfile;
use crate::rng::PcgRandom;
use crate::slot::{PerSlot, SLOTS, Slot};

/// Maximum number of draws in an episode: two attempts at each of 20 nodes, and one more so that a
/// trace can show the position of the stream at the end.
pub(crate) const OUTCOME_DRAWS: usize = 41;

/// A hidden behavior. The internal names `S0` to `S4` are not the public slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Behavior {
    /// Correct in 90 % of calls, at two steps per call.
    AccurateSlow,
    /// Correct in 60 % of calls, with a stated confidence of 0.95.
    OverconfidentFast,
    /// Reliable in ANALYZE and VERIFY, mostly wrong elsewhere.
    DomainBound,
    /// Mostly correct at low stakes; poisons its answer when the stakes reach its threshold.
    Adversarial,
    /// Reliable at first, and less so with each call.
    Degrading,
}

impl Behavior {
    /// All behaviors, in internal order.
    pub const ALL: [Self; 5] = [
        Self::AccurateSlow,
        Self::OverconfidentFast,
        Self::DomainBound,
        Self::Adversarial,
        Self::Degrading,
    ];

    /// Returns the internal id, `S0` to `S4`.
    #[must_use]
    pub const fn id(self) -> &'static str {
        ["S0", "S1", "S2", "S3", "S4"][self as usize]
    }

    /// Returns the behavior with this internal id, or `None` if there is none.
    #[must_use]
    pub fn parse(id: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|b| b.id() == id)
    }

    /// Returns the descriptive name, such as `accurate-slow`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::AccurateSlow => "accurate-slow",
            Self::OverconfidentFast => "overconfident-fast",
            Self::DomainBound => "domain-bound",
            Self::Adversarial => "adversarial",
            Self::Degrading => "degrading",
        }
    }

    /// Returns the true reliability, 0..=1, to which calibration compares the trust.
    #[must_use]
    pub const fn reliability(self) -> f64 {
        match self {
            Self::AccurateSlow => 0.90,
            Self::OverconfidentFast => 0.60,
            Self::DomainBound => 0.70,
            Self::Adversarial => 0.15,
            Self::Degrading => 0.65,
        }
    }
}

impl Serialize for Behavior {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.id())
    }
}

/// The hidden part of an episode's state.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hidden {
    /// The behavior behind each slot.
    pub assignment: PerSlot<Behavior>,
    /// The configuration of the adversary.
    pub adversary: AdversaryProfile,
    /// All draws of the outcome stream, in order. Storing them makes the episode a plain value.
    outcome_draws: [f64; OUTCOME_DRAWS],
    drawn: u8,
}

impl Hidden {
    /// Creates the hidden state of an episode that has taken no draws yet.
    pub(crate) const fn new(
        assignment: [Behavior; SLOTS],
        adversary: AdversaryProfile,
        outcome_draws: [f64; OUTCOME_DRAWS],
    ) -> Self {
        Self {
            assignment: PerSlot(assignment),
            adversary,
            outcome_draws,
            drawn: 0,
        }
    }

    /// Returns the same hidden state with new draws from here on, those of the stream `seed`.
    pub(crate) fn with_outcome_seed(mut self, seed: u64) -> Self {
        let mut stream = PcgRandom::new(seed, &[]);
        for draw in &mut self.outcome_draws[usize::from(self.drawn)..] {
            *draw = stream.unit();
        }
        self
    }

    /// Sets the next draw of the outcome stream so that it gives `success` at every chance below 1.
    pub(crate) fn set_next_draw(&mut self, success: bool) {
        if let Some(draw) = self.outcome_draws.get_mut(usize::from(self.drawn)) {
            *draw = if success { 0.0 } else { 1.0 };
        }
    }

    /// Returns the same outcome draws with other behaviors behind the slots.
    #[cfg(feature = "testing")]
    #[must_use]
    pub fn with_assignment(mut self, assignment: [Behavior; SLOTS]) -> Self {
        self.assignment = PerSlot(assignment);
        self
    }

    /// Returns this hidden state with as many draws taken as in `other`.
    #[cfg(feature = "testing")]
    pub(crate) const fn with_draws_taken_in(mut self, other: &Self) -> Self {
        self.drawn = other.drawn;
        self
    }

    /// Returns the next draw of the outcome stream, in `[0, 1)`, without taking it.
    #[must_use]
    pub fn peek_draw(&self) -> f64 {
        self.outcome_draws[usize::from(self.drawn)]
    }

    /// Returns the number of draws taken so far.
    #[must_use]
    pub const fn draws_taken(&self) -> u8 {
        self.drawn
    }

    /// Takes the next draw of the outcome stream, in `[0, 1)`.
    #[inline]
    pub(crate) fn next_draw(&mut self) -> f64 {
        let value = self.outcome_draws[usize::from(self.drawn)];
        self.drawn += 1;
        value
    }

    /// Returns the true reliability per slot, the target of calibration.
    #[must_use]
    pub fn reliability(&self) -> [f64; SLOTS] {
        self.assignment.0.map(Behavior::reliability)
    }

    /// Returns the slot of `behavior`.
    #[must_use]
    pub fn slot_of(&self, behavior: Behavior) -> Slot {
        let found = Slot::ALL
            .into_iter()
            .find(|slot| self.assignment[*slot] == behavior);
        found.unwrap_or(Slot::ALL[0])
    }
}
