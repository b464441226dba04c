//! Archetypes: classes of medicines with made-up traits, never real drugs.

use super::vocabulary::{Condition, Conditions, Tag, Tags};
use crate::num::set_bits;

/// The position of an archetype in its formulary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ArchetypeId(pub(crate) u8);

impl ArchetypeId {
    /// Returns the index in the table.
    #[must_use]
    #[inline]
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// Returns the bit set that contains only this archetype.
    #[must_use]
    #[inline]
    pub const fn bit(self) -> u64 {
        1 << self.0
    }
}

/// Iterates over the archetypes of a bit set, in table order.
pub fn each_archetype(bits: u64) -> impl Iterator<Item = ArchetypeId> {
    set_bits(bits).map(ArchetypeId)
}

/// An archetype with its public traits (spec polyguard §2).
#[derive(Clone, Debug, PartialEq)]
pub struct Archetype {
    /// Name of the archetype, such as `warfarin_like`.
    pub name: String,
    /// Class of the archetype, such as `anticoagulant`.
    pub class: String,
    /// Number of the class within the formulary.
    pub class_id: u8,
    /// Anticholinergic burden points, 0..=3.
    pub acb: u8,
    /// eGFR in mL/min below which the archetype is unsafe, if there is such a limit.
    pub renal_below: Option<f64>,
    /// `true` if it acts on the central nervous system.
    pub cns: bool,
    /// `true` if it must be tapered and not stopped at once.
    pub taper: bool,
    /// `true` if its window between too little and too much is narrow.
    pub narrow: bool,
    /// `true` if it never occurs in the split `train`.
    pub held_out: bool,
    /// The public hints at interactions.
    pub tags: Tags,
    /// The conditions that it treats.
    pub treats: Conditions,
    /// The first condition that it treats, which is its default indication.
    pub indication: Condition,
    /// The listed substitutes, as bits of [`ArchetypeId`].
    pub substitutes: u64,
    /// The source of the table row.
    pub source: String,
}

impl Archetype {
    /// Returns `true` if the archetype is unsafe at this eGFR, in mL/min.
    #[must_use]
    #[inline]
    pub fn unsafe_at(&self, egfr: f64) -> bool {
        self.renal_below.is_some_and(|below| egfr < below)
    }

    /// Returns `true` if public traits suggest an interaction of the two (spec polyguard §2.3).
    #[must_use]
    pub const fn suspects_interaction(&self, other: &Self) -> bool {
        const SHARED: Tags = Tags::from_slice(&[
            Tag::Bleeding,
            Tag::RespiratoryDepression,
            Tag::Serotonergic,
            Tag::Anticholinergic,
            Tag::Qt,
            Tag::Bradycardia,
            Tag::Hyperkalaemia,
            Tag::Hypotension,
        ]);
        !self
            .tags
            .intersection(other.tags)
            .intersection(SHARED)
            .is_empty()
            || self.acts_on(other)
            || other.acts_on(self)
    }

    const fn acts_on(&self, other: &Self) -> bool {
        const ENZYMES: Tags = Tags::from_slice(&[Tag::CypInh, Tag::CypInd]);
        const KIDNEY: Tags = Tags::from_slice(&[Tag::RenalClear, Tag::RenalInjury]);
        (!self.tags.intersection(ENZYMES).is_empty() && other.tags.contains(Tag::CypSub))
            || (!self.tags.intersection(KIDNEY).is_empty() && other.tags.contains(Tag::RenalSub))
    }
}
