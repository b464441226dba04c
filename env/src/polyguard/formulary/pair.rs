//! Listed interactions of two archetypes, and rules about sets of them.

use super::archetype::ArchetypeId;

/// Weight of a set rule in the risk (spec polyguard §2.3).
pub(in crate::polyguard) const SET_WEIGHT: f64 = 0.35;
/// Weight of a medicine that the kidney no longer allows.
pub(in crate::polyguard) const RENAL_WEIGHT: f64 = 0.40;

/// How bad a pair is, as written in the table.
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

/// How bad a pair is for a patient.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Worth knowing; no reason to act on its own.
    Moderate,
    /// A serious interaction.
    Major,
    /// Never together.
    Contraindicated,
}

impl Severity {
    /// Weight in the risk.
    #[must_use]
    #[inline]
    pub const fn weight(self) -> f64 {
        match self {
            Self::Moderate => 0.15,
            Self::Major => 0.50,
            Self::Contraindicated => 0.90,
        }
    }

    /// The word used in observations.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Moderate => "moderate",
            Self::Major => "major",
            Self::Contraindicated => "contraindicated",
        }
    }

    /// Whether a verifier forbids to make such a pair.
    #[must_use]
    #[inline]
    pub const fn is_serious(self) -> bool {
        !matches!(self, Self::Moderate)
    }
}

impl Grade {
    /// The letter of the table.
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

    /// For a patient with this eGFR; where it is not known, the milder reading.
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

    /// Whether it can be serious for somebody.
    #[must_use]
    pub const fn may_be_serious(self) -> bool {
        !matches!(self, Self::Moderate)
    }
}

/// The place of a pair in its formulary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PairId(pub(in crate::polyguard) u8);

impl PairId {
    /// The place as an index.
    #[must_use]
    #[inline]
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// The pair alone, as a set.
    #[must_use]
    #[inline]
    pub const fn bit(self) -> u64 {
        1 << self.0
    }
}

/// A row of the table of pairs.
#[derive(Clone, Debug, PartialEq)]
pub struct Pair {
    /// One.
    pub first: ArchetypeId,
    /// The other.
    pub second: ArchetypeId,
    /// How bad.
    pub grade: Grade,
    /// Never met in the split `train`: marked so, or with an archetype that is.
    pub held_out: bool,
    /// Where the row comes from.
    pub source: String,
}

/// A rule about several medicines at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum SetRule {
    /// Three or more that act on the central nervous system.
    Cns3,
    /// Anticholinergic burden of three or more.
    Acb3,
    /// NSAID, RAS inhibitor and a diuretic together.
    Whammy,
    /// Two of one class.
    Dup,
}

impl SetRule {
    /// In the order of the table.
    pub const ALL: [Self; 4] = [Self::Cns3, Self::Acb3, Self::Whammy, Self::Dup];

    /// The word used in observations.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cns3 => "CNS3",
            Self::Acb3 => "ACB3",
            Self::Whammy => "WHAMMY",
            Self::Dup => "DUP",
        }
    }
}
