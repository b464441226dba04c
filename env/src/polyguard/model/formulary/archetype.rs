//! Archetypes: classes of medicines with made-up precision, never real drugs.

use super::words::{Condition, Conditions, Tag, Tags};
use crate::num::set_bits;

/// The place of an archetype in its formulary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ArchetypeId(pub(crate) u8);

impl ArchetypeId {
    /// Returns the index in the table.
    #[must_use]
    #[inline]
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// Returns the set of this archetype alone.
    #[must_use]
    #[inline]
    pub const fn bit(self) -> u64 {
        1 << self.0
    }
}

/// Iterates over the archetypes of a set of bits, in the order of the table.
pub fn each_archetype(bits: u64) -> impl Iterator<Item = ArchetypeId> {
    set_bits(bits).map(ArchetypeId)
}

/// An archetype with its public traits (spec polyguard §2).
#[derive(Clone, Debug, PartialEq)]
pub struct Archetype {
    /// The name, such as `warfarin_like`.
    pub name: String,
    /// The class, such as `anticoagulant`.
    pub class: String,
    /// The class as a number within the formulary.
    pub class_id: u8,
    /// Anticholinergic burden, 0..=3.
    pub acb: u8,
    /// Unsafe below this eGFR in mL/min.
    pub renal_below: Option<f64>,
    /// Acts on the central nervous system.
    pub cns: bool,
    /// May not be stopped at once.
    pub taper: bool,
    /// Has a narrow window between too little and too much.
    pub narrow: bool,
    /// Never met in the split `train`.
    pub held_out: bool,
    /// Public hints.
    pub tags: Tags,
    /// The conditions that it treats.
    pub treats: Conditions,
    /// The first condition that it treats: its default indication.
    pub indication: Condition,
    /// Its listed substitutes, as bits of [`ArchetypeId`].
    pub substitutes: u64,
    /// The source of the row.
    pub source: String,
}

impl Archetype {
    /// Returns whether it is unsafe at an eGFR that is known.
    #[must_use]
    #[inline]
    pub fn unsafe_at(&self, egfr: f64) -> bool {
        self.renal_below.is_some_and(|below| egfr < below)
    }

    /// Returns whether public traits let one suspect an interaction of the two (spec §2.3).
    #[must_use]
    pub const fn suspect(&self, other: &Self) -> bool {
        const SHARED: Tags = Tags::of(&[
            Tag::Bleeding,
            Tag::RespiratoryDepression,
            Tag::Serotonergic,
            Tag::Anticholinergic,
            Tag::Qt,
            Tag::Bradycardia,
            Tag::Hyperkalaemia,
            Tag::Hypotension,
        ]);
        !self.tags.and(other.tags).and(SHARED).is_empty()
            || self.acts_on(other)
            || other.acts_on(self)
    }

    const fn acts_on(&self, other: &Self) -> bool {
        const ENZYMES: Tags = Tags::of(&[Tag::CypInh, Tag::CypInd]);
        const KIDNEY: Tags = Tags::of(&[Tag::RenalClear, Tag::RenalInjury]);
        (!self.tags.and(ENZYMES).is_empty() && other.tags.has(Tag::CypSub))
            || (!self.tags.and(KIDNEY).is_empty() && other.tags.has(Tag::RenalSub))
    }
}
