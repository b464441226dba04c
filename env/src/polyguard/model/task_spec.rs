//! The distribution that an episode is drawn from: sub-environment, difficulty, formulary and
//! split.

use std::fmt;

use super::formulary::{EXTENDED_FILES, Formulary, REFERENCE_FILES, TableFile};
use crate::named_enum;

named_enum! {
    /// The kind of problem in the regimen (spec polyguard §3).
    pub enum SubEnvironment {
        /// Listed interactions, some of them not flagged.
        Ddi = "DDI",
        /// A symptom whose culprit must be found by holding suspects.
        BanditMining = "BANDIT_MINING",
        /// Broken rules about sets of medicines.
        RegimenRisk = "REGIMEN_RISK",
        /// Doses that may be too high or too low for this patient.
        PrecisionDosing = "PRECISION_DOSING",
        /// Medicines that are no longer needed.
        Deprescribing = "DEPRESCRIBING",
        /// Missing laboratory values that a decision needs.
        WebSearchMissingData = "WEB_SEARCH_MISSING_DATA",
        /// A medicine that must be replaced by a tolerated one.
        AlternativeSuggestion = "ALTERNATIVE_SUGGESTION",
        /// A product with unknown components.
        NewDrugDecomposition = "NEW_DRUG_DECOMPOSITION",
    }
}

named_enum! {
    /// The difficulty, which determines the number of medicines and how much is hidden.
    pub enum Difficulty {
        /// Three to five medicines, with nothing hidden by chance.
        Easy = "easy",
        /// Six to nine medicines, with some information missing.
        Medium = "medium",
        /// Ten to fourteen medicines, with much information missing.
        Hard = "hard",
    }
}

named_enum! {
    /// The archetypes and pairs that may occur (spec polyguard §2.4).
    pub enum Split {
        /// Any archetypes and pairs.
        All = "all",
        /// Only archetypes and pairs that are not held out.
        Train = "train",
        /// A held-out pair or archetype is planted first; the rest is unrestricted.
        Holdout = "holdout",
    }
}

named_enum! {
    /// The name of a formulary.
    pub enum FormularyName {
        /// The larger tables, made for this project.
        Extended = "extended",
        /// The tables that PolyGuard's public pages state.
        Reference = "reference",
    }
}

impl Split {
    /// Returns the archetypes that no episode of the split contains, as bits.
    #[must_use]
    pub const fn excluded(self, formulary: &Formulary) -> u64 {
        match self {
            Self::Train => formulary.held_out(),
            Self::All | Self::Holdout => 0,
        }
    }
}

impl FormularyName {
    /// Returns the tables of the formulary.
    #[must_use]
    pub fn tables(self) -> &'static Formulary {
        match self {
            Self::Extended => Formulary::extended(),
            Self::Reference => Formulary::reference(),
        }
    }

    /// Returns the files of the tables: the archetypes, and the pairs.
    #[must_use]
    pub const fn files(self) -> [TableFile; 2] {
        match self {
            Self::Extended => EXTENDED_FILES,
            Self::Reference => REFERENCE_FILES,
        }
    }
}

impl Difficulty {
    /// Returns the probability that a true pair is not flagged.
    #[must_use]
    pub const fn unflagged_probability(self) -> f64 {
        [0.0, 0.30, 0.50][self as usize]
    }

    /// Returns the probability that a laboratory value is missing, which is also that of a
    /// specialist conflict.
    #[must_use]
    pub const fn missing_lab_probability(self) -> f64 {
        [0.0, 0.15, 0.35][self as usize]
    }
}

/// Maximum number of steps in an episode: the largest [`TaskSpec::budget`].
pub const MAX_STEPS: usize = 10;

/// A task: one distribution of episodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TaskSpec {
    formulary: FormularyName,
    sub: SubEnvironment,
    difficulty: Difficulty,
    split: Split,
}

/// The error for a combination that is not a case.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnknownTaskSpec {
    /// The reference formulary does not support the combination.
    #[error(
        "formulary reference has {0}: it plays DDI and DEPRESCRIBING, easy and medium, split all"
    )]
    Reference(&'static str),
}

/// Orders by [`TaskSpec::number`]; the extended formulary comes first.
impl Ord for TaskSpec {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.number().cmp(&other.number())
    }
}

impl PartialOrd for TaskSpec {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl TaskSpec {
    /// The 24 cases of the extended formulary in the split `all`.
    pub const ALL: [Self; 24] = {
        let mut all = [Self::new_extended(SubEnvironment::Ddi, Difficulty::Easy, Split::All); 24];
        let mut at = 0;
        while at < all.len() {
            let sub = SubEnvironment::ALL[at / 3];
            all[at] = Self::new_extended(sub, Difficulty::ALL[at % 3], Split::All);
            at += 1;
        }
        all
    };

    /// Creates a case of the extended formulary, which supports every combination.
    #[must_use]
    pub const fn new_extended(sub: SubEnvironment, difficulty: Difficulty, split: Split) -> Self {
        Self {
            formulary: FormularyName::Extended,
            sub,
            difficulty,
            split,
        }
    }

    /// Creates a case of either formulary.
    ///
    /// # Errors
    /// Returns an error if the formulary does not support the combination.
    pub fn new(
        formulary: FormularyName,
        sub: SubEnvironment,
        difficulty: Difficulty,
        split: Split,
    ) -> Result<Self, UnknownTaskSpec> {
        let case = Self {
            formulary,
            ..Self::new_extended(sub, difficulty, split)
        };
        if formulary == FormularyName::Reference {
            use SubEnvironment::{Ddi, Deprescribing};
            if !matches!(sub, Ddi | Deprescribing) {
                return Err(UnknownTaskSpec::Reference("no such sub-environment"));
            }
            if difficulty == Difficulty::Hard {
                return Err(UnknownTaskSpec::Reference("no difficulty hard"));
            }
            if split != Split::All {
                return Err(UnknownTaskSpec::Reference("no splits"));
            }
        }
        Ok(case)
    }

    /// Returns the name of the formulary.
    #[must_use]
    pub const fn formulary(self) -> FormularyName {
        self.formulary
    }

    /// Returns the sub-environment of the case.
    #[must_use]
    pub const fn sub_environment(self) -> SubEnvironment {
        self.sub
    }

    /// Returns the difficulty of the case.
    #[must_use]
    pub const fn difficulty(self) -> Difficulty {
        self.difficulty
    }

    /// Returns the split of the case.
    #[must_use]
    pub const fn split(self) -> Split {
        self.split
    }

    /// Returns the same case in another split.
    ///
    /// # Errors
    /// Returns an error if the formulary has no splits.
    pub fn with_split(self, split: Split) -> Result<Self, UnknownTaskSpec> {
        Self::new(self.formulary, self.sub, self.difficulty, split)
    }

    /// Returns the maximum number of steps in an episode (spec polyguard §3.1).
    #[must_use]
    pub const fn budget(self) -> u8 {
        const BUDGETS: [[u8; 3]; 8] = [
            [5, 8, 10],
            [6, 8, 10],
            [5, 8, 10],
            [5, 7, 8],
            [6, 8, 10],
            [5, 6, 8],
            [4, 6, 8],
            [5, 7, 8],
        ];
        BUDGETS[self.sub as usize][self.difficulty as usize]
    }

    /// Returns the number of the case, unique among all cases.
    #[must_use]
    pub const fn number(self) -> u16 {
        let cell = self.sub as u16 * 3 + self.difficulty as u16;
        match self.formulary {
            FormularyName::Extended => cell * 3 + self.split as u16,
            FormularyName::Reference => 72 + cell,
        }
    }

    /// Returns the case with this number, or `None` if there is none.
    #[must_use]
    pub fn from_number(number: u16) -> Option<Self> {
        let (formulary, cell, split) = match number {
            0..72 => (FormularyName::Extended, number / 3, number % 3),
            _ => (FormularyName::Reference, number.checked_sub(72)?, 0),
        };
        let sub = *SubEnvironment::ALL.get(usize::from(cell / 3))?;
        let difficulty = Difficulty::ALL[usize::from(cell % 3)];
        Self::new(formulary, sub, difficulty, Split::ALL[usize::from(split)]).ok()
    }

    /// Returns the name, such as `DDI-easy`, `DDI-easy-holdout`, `DDI-easy-reference`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        let cell = NAMES[self.sub as usize * 3 + self.difficulty as usize];
        match self.formulary {
            FormularyName::Extended => cell[self.split as usize],
            FormularyName::Reference => cell[3],
        }
    }

    /// Returns the case with this name, ignoring ASCII case.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        let all = (0..96).filter_map(Self::from_number);
        all.into_iter()
            .find(|case| case.name().eq_ignore_ascii_case(name))
    }
}

impl fmt::Display for TaskSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

macro_rules! names {
    ($($sub:literal)*) => {
        [$(
            names!(cell $sub "-easy"),
            names!(cell $sub "-medium"),
            names!(cell $sub "-hard"),
        )*]
    };
    (cell $sub:literal $difficulty:literal) => {
        [
            concat!($sub, $difficulty),
            concat!($sub, $difficulty, "-train"),
            concat!($sub, $difficulty, "-holdout"),
            concat!($sub, $difficulty, "-reference"),
        ]
    };
}

const NAMES: [[&str; 4]; 24] = names!(
    "DDI" "BANDIT_MINING" "REGIMEN_RISK" "PRECISION_DOSING" "DEPRESCRIBING"
    "WEB_SEARCH_MISSING_DATA" "ALTERNATIVE_SUGGESTION" "NEW_DRUG_DECOMPOSITION"
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn task_specs_roundtrip_through_name_and_number() {
        let all: Vec<TaskSpec> = (0..200).filter_map(TaskSpec::from_number).collect();
        assert_eq!(all.len(), 24 * 3 + 4);
        for case in &all {
            assert_eq!(TaskSpec::parse(case.name()), Some(*case));
            assert_eq!(TaskSpec::from_number(case.number()), Some(*case));
            assert!(
                case.name().starts_with(case.sub_environment().name()),
                "{case}"
            );
            assert!(case.name().contains(case.difficulty().name()), "{case}");
        }
        assert_eq!(TaskSpec::parse("ddi-EASY"), Some(TaskSpec::ALL[0]));
        assert_eq!(TaskSpec::parse("DDI"), None);
        assert_eq!(TaskSpec::parse("REGIMEN_RISK-easy-reference"), None);
    }
}
