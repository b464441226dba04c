//! The words of a rationale that mean something here: archetypes, conditions, laboratory values.

use super::formulary::{Condition, Formulary};
use super::labs::Lab;
use super::observation::Observation;
use super::regimen::Drug;

/// Bit of the first condition; below it are the drugs.
const CONDITIONS: u32 = 64;
/// Bit of the first laboratory value.
const LABS: u32 = CONDITIONS + 32;

/// A set of such words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Terms(u128);

impl Terms {
    /// A drug alone.
    #[must_use]
    pub fn drug(drug: Drug, formulary: &Formulary) -> Self {
        match drug {
            Drug::Known(id) => Self(1 << formulary.word(id)),
            Drug::Product => Self(1 << drug.number()),
        }
    }

    /// A condition alone.
    #[must_use]
    pub const fn condition(condition: Condition) -> Self {
        Self(1 << (CONDITIONS + condition as u32))
    }

    /// A laboratory value alone.
    #[must_use]
    pub const fn lab(lab: Lab) -> Self {
        Self(1 << (LABS + lab as u32))
    }

    /// The words of a text. A word is a run of letters, digits and underscores.
    #[must_use]
    pub fn of(text: &str) -> Self {
        let formulary = Formulary::extended();
        let mut terms = Self::default();
        for word in text.split(|c: char| !(c.is_alphanumeric() || c == '_')) {
            let word = word.to_lowercase();
            let known = (Drug::parse(&word, formulary).map(|drug| Self::drug(drug, formulary)))
                .or_else(|| Condition::parse(&word).map(Self::condition))
                .or_else(|| Lab::parse(&word).map(Self::lab));
            terms = terms.or(known.unwrap_or_default());
        }
        terms
    }

    /// Every such word that an observation contains.
    #[must_use]
    pub fn in_sight(o: &Observation) -> Self {
        let (mut terms, formulary) = (Self::default(), o.formulary());
        for row in o.regimen.iter() {
            terms = terms.or(Self::drug(row.drug, formulary));
            terms = terms.or(row.indication.map(Self::condition).unwrap_or_default());
        }
        for part in o.components.into_iter().flatten() {
            terms = terms.or(Self::drug(Drug::Known(part), formulary));
        }
        for candidate in o.candidates.iter() {
            if let super::candidates::Arg::Target(drug) = candidate.act.arg {
                terms = terms.or(Self::drug(drug, formulary));
            }
        }
        for id in super::formulary::each(o.ade_history) {
            terms = terms.or(Self::drug(Drug::Known(id), formulary));
        }
        for condition in o.patient.comorbidities.iter() {
            terms = terms.or(Self::condition(condition));
        }
        for lab in Lab::ALL {
            // A missing value stands on the chart too: as missing.
            terms = terms.or(Self::lab(*lab));
        }
        terms
    }

    /// The words as bits, for places where a set must be written shortly.
    #[must_use]
    pub const fn bits(self) -> u128 {
        self.0
    }

    /// What [`Terms::bits`] was made from.
    #[must_use]
    pub const fn of_bits(bits: u128) -> Self {
        Self(bits)
    }

    /// What is in either.
    #[must_use]
    pub const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// How many of these are in the other.
    #[must_use]
    pub const fn shared(self, other: Self) -> u32 {
        (self.0 & other.0).count_ones()
    }

    /// How many there are.
    #[must_use]
    pub const fn len(self) -> u32 {
        self.0.count_ones()
    }

    /// Whether there is none.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether all of the other are in these.
    #[must_use]
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// The words, drugs first, then conditions, then laboratory values.
    #[must_use]
    pub fn words(self) -> Vec<&'static str> {
        let formulary = Formulary::extended();
        let mut words = Vec::new();
        let mut add = |term: Self, word| {
            if self.has(term) {
                words.push(word);
            }
        };
        for id in formulary.ids() {
            add(
                Self::drug(Drug::Known(id), formulary),
                formulary.get(id).name.as_str(),
            );
        }
        add(
            Self::drug(Drug::Product, formulary),
            super::formulary::PRODUCT,
        );
        for condition in Condition::ALL {
            add(Self::condition(*condition), condition.name());
        }
        for lab in Lab::ALL {
            add(Self::lab(*lab), lab.name());
        }
        words
    }
}
