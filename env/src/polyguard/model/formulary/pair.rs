//! Listed interactions of two archetypes, and rules about sets of them.

use super::archetype::ArchetypeId;
use crate::named_enum;
use crate::num::set_bits;

/// The grade of a pair, as written in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Grade {
    /// Must never be taken together.
    Contraindicated,
    /// A serious interaction at every eGFR.
    Major,
    /// Serious at an eGFR below 60, otherwise moderate.
    MajorIfRenal,
    /// A moderate interaction at every eGFR.
    Moderate,
}

named_enum! {
    /// The severity of a pair for one patient.
    pub enum Severity {
        /// A moderate interaction, no reason to act by itself.
        Moderate = "moderate",
        /// A serious interaction for this patient.
        Major = "major",
        /// Must never be taken together.
        Contraindicated = "contraindicated",
    }
}

impl Severity {
    /// Returns the weight in the risk.
    #[must_use]
    #[inline]
    pub const fn weight(self) -> f64 {
        match self {
            Self::Moderate => 0.15,
            Self::Major => 0.50,
            Self::Contraindicated => 0.90,
        }
    }

    /// Returns `true` if the verifier forbids creating a known pair of this severity.
    #[must_use]
    #[inline]
    pub const fn is_serious(self) -> bool {
        !matches!(self, Self::Moderate)
    }
}

impl Grade {
    /// Returns the grade with this letter in the table.
    #[must_use]
    pub(super) fn parse(letter: &str) -> Option<Self> {
        Some(match letter {
            "C" => Self::Contraindicated,
            "M" => Self::Major,
            "R" => Self::MajorIfRenal,
            "m" => Self::Moderate,
            _ => return None,
        })
    }

    /// Returns the severity for a patient with this eGFR, in mL/min; if it is unknown, the milder
    /// one.
    #[must_use]
    #[inline]
    pub fn at(self, egfr: Option<f64>) -> Severity {
        match self {
            Self::Contraindicated => Severity::Contraindicated,
            Self::Major => Severity::Major,
            Self::MajorIfRenal if egfr.is_some_and(|egfr| egfr < 60.0) => Severity::Major,
            Self::MajorIfRenal | Self::Moderate => Severity::Moderate,
        }
    }
}

/// The position of a pair in its formulary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PairId(pub(crate) u8);

impl PairId {
    /// Returns the index in the table.
    #[must_use]
    #[inline]
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// Returns the bit set that contains only this pair.
    #[must_use]
    #[inline]
    pub const fn bit(self) -> u64 {
        1 << self.0
    }
}

/// Iterates over the pairs of a bit set, in table order.
#[inline]
pub(crate) fn each_pair(bits: u64) -> impl Iterator<Item = PairId> {
    set_bits(bits).map(PairId)
}

/// A row of the table of pairs.
#[derive(Clone, Debug, PartialEq)]
pub struct Pair {
    /// The first archetype of the pair.
    pub first: ArchetypeId,
    /// The second archetype of the pair.
    pub second: ArchetypeId,
    /// The grade of the pair.
    pub grade: Grade,
    /// `true` if the pair never occurs in the split `train`, because it or one of its archetypes is
    /// marked as held out.
    pub held_out: bool,
    /// The source of the table row.
    pub source: String,
}

named_enum! {
    /// A rule about a set of medicines.
    pub enum SetRule {
        /// Three or more medicines that act on the central nervous system.
        Cns3 = "CNS3",
        /// An anticholinergic burden of three or more.
        Acb3 = "ACB3",
        /// An NSAID, a RAS inhibitor and a diuretic together.
        Whammy = "WHAMMY",
        /// Two medicines of one class.
        Dup = "DUP",
    }
}
