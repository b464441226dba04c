//! What an episode hides: who is who, and how outcomes will be drawn (spec trust §1.2, §4).
//!
//! A policy never receives this type. Privileged policies do, and their type says so.

use serde::{Serialize, Serializer};

use crate::controller::AdversaryProfile;
use crate::slot::{PerSlot, SLOTS, Slot};

/// Draws that an episode can need: at most two attempts at each of 20 nodes, and one more so that
/// a trace can show where the stream stands at the end.
pub(crate) const OUTCOME_DRAWS: usize = 41;

/// A hidden behaviour; named `S0..S4` internally, which is not the public slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Behaviour {
    /// Right 9 times of 10, costs two steps.
    AccurateSlow,
    /// Right 6 times of 10, always sure.
    OverconfidentFast,
    /// Reliable in ANALYZE and VERIFY, useless elsewhere.
    DomainBound,
    /// Good until the stakes are high, then poisons.
    Adversarial,
    /// Starts well and gets worse with each call.
    Degrading,
}

impl Behaviour {
    /// All behaviours in internal order.
    pub const ALL: [Self; 5] = [
        Self::AccurateSlow,
        Self::OverconfidentFast,
        Self::DomainBound,
        Self::Adversarial,
        Self::Degrading,
    ];

    /// Returns the internal id, `S0..S4`.
    #[must_use]
    pub const fn id(self) -> &'static str {
        ["S0", "S1", "S2", "S3", "S4"][self as usize]
    }

    /// Returns the behaviour with this internal id.
    #[must_use]
    pub fn parse(id: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|b| b.id() == id)
    }

    /// Returns what the behaviour is called.
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

    /// Returns the reliability that calibration is measured against.
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

impl Serialize for Behaviour {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.id())
    }
}

/// The hidden part of an episode.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hidden {
    /// Which behaviour acts behind each slot.
    pub assignment: PerSlot<Behaviour>,
    /// The adversary's configuration.
    pub adversary: AdversaryProfile,
    /// The outcome stream's draws, in order. Holding them makes the episode a plain value.
    outcome_draws: [f64; OUTCOME_DRAWS],
    drawn: u8,
}

impl Hidden {
    /// Creates the hidden state of an episode that has not drawn yet.
    pub(crate) const fn new(
        assignment: [Behaviour; SLOTS],
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

    /// Returns the same outcome draws with other behaviours behind the slots.
    #[cfg(feature = "testing")]
    #[must_use]
    pub fn with_assignment(mut self, assignment: [Behaviour; SLOTS]) -> Self {
        self.assignment = PerSlot(assignment);
        self
    }

    /// Returns this hidden state with as many draws taken as in `other`.
    #[cfg(feature = "testing")]
    pub(crate) const fn drawn_as_far_as(mut self, other: &Self) -> Self {
        self.drawn = other.drawn;
        self
    }

    /// Returns the next draw of the outcome stream without taking it.
    #[must_use]
    pub fn peek_draw(&self) -> f64 {
        self.outcome_draws[usize::from(self.drawn)]
    }

    /// Returns how many draws were taken.
    #[must_use]
    pub const fn draws(&self) -> u8 {
        self.drawn
    }

    /// Takes the next draw of the outcome stream.
    #[inline]
    pub(crate) fn draw(&mut self) -> f64 {
        let value = self.outcome_draws[usize::from(self.drawn)];
        self.drawn += 1;
        value
    }

    /// Returns the true reliability per slot, the target of calibration.
    #[must_use]
    pub fn reliability(&self) -> [f64; SLOTS] {
        self.assignment.0.map(Behaviour::reliability)
    }

    /// Returns the slot behind which `behaviour` acts.
    #[must_use]
    pub fn slot_of(&self, behaviour: Behaviour) -> Slot {
        let found = Slot::ALL
            .into_iter()
            .find(|slot| self.assignment[*slot] == behaviour);
        found.unwrap_or(Slot::ALL[0])
    }
}
