//! Listed interactions of two archetypes, and rules about sets of them.

use super::archetype::ArchetypeId;
use crate::named_enum;
use crate::num::set_bits;

/// The grade of a pair, as written in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Grade {
    /// Never together.
    Contraindicated,
    /// A serious interaction.
    Major,
    /// Serious where the eGFR is below 60, else moderate.
    MajorIfRenal,
    /// Worth knowing.
    Moderate,
}

named_enum! {
    /// The severity of a pair for one patient.
    pub enum Severity {
        /// Worth knowing; no reason to act on its own.
        Moderate = "moderate",
        /// A serious interaction.
        Major = "major",
        /// Never together.
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

    /// Returns whether the verifier forbids making such a pair.
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

    /// Returns the severity for a patient with this eGFR; the milder one where it is unknown.
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

/// The place of a pair in its formulary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PairId(pub(crate) u8);

impl PairId {
    /// Returns the index in the table.
    #[must_use]
    #[inline]
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// Returns the set of this pair alone.
    #[must_use]
    #[inline]
    pub const fn bit(self) -> u64 {
        1 << self.0
    }
}

/// Returns the pairs of a set of bits, in the order of the table.
#[inline]
pub(crate) fn each_pair(bits: u64) -> impl Iterator<Item = PairId> {
    set_bits(bits).map(PairId)
}

/// A row of the table of pairs.
#[derive(Clone, Debug, PartialEq)]
pub struct Pair {
    /// The first archetype.
    pub first: ArchetypeId,
    /// The second archetype.
    pub second: ArchetypeId,
    /// The grade.
    pub grade: Grade,
    /// Never met in the split `train`: marked so, or with an archetype that is.
    pub held_out: bool,
    /// Where the row comes from.
    pub source: String,
}

named_enum! {
    /// A rule about several medicines at once.
    pub enum SetRule {
        /// Three or more that act on the central nervous system.
        Cns3 = "CNS3",
        /// Anticholinergic burden of three or more.
        Acb3 = "ACB3",
        /// NSAID, RAS inhibitor and a diuretic together.
        Whammy = "WHAMMY",
        /// Two of one class.
        Dup = "DUP",
    }
}
