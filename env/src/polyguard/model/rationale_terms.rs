//! The terms that a rationale can cite: archetypes, conditions, laboratory values.

use super::candidate::ActArg;
use super::formulary::{Condition, Formulary, PRODUCT_NAME, each_archetype};
use super::observation::Observation;
use super::patient::Lab;
use super::regimen::Drug;

/// Bit of the first condition; the bits below are the drugs.
const CONDITIONS: u32 = 64;
/// Bit of the first laboratory value.
const LABS: u32 = CONDITIONS + 32;

/// A set of terms, stored as bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct RationaleTerms(u128);

impl RationaleTerms {
    /// Creates the set of one drug.
    #[must_use]
    pub fn drug(drug: Drug, formulary: &Formulary) -> Self {
        match drug {
            Drug::Known(id) => Self(1 << formulary.term_index(id)),
            Drug::Product => Self(1 << drug.number()),
        }
    }

    /// Creates the set of one condition.
    #[must_use]
    pub const fn condition(condition: Condition) -> Self {
        Self(1 << (CONDITIONS + condition as u32))
    }

    /// Creates the set of one laboratory value.
    #[must_use]
    pub const fn lab(lab: Lab) -> Self {
        Self(1 << (LABS + lab as u32))
    }

    /// Returns the terms that occur in a text. A word is a run of letters, digits and underscores.
    #[must_use]
    pub fn from_text(text: &str) -> Self {
        let formulary = Formulary::extended();
        let mut terms = Self::default();
        for word in text.split(|c: char| !(c.is_alphanumeric() || c == '_')) {
            let word = word.to_lowercase();
            let known = (Drug::parse(&word, formulary).map(|drug| Self::drug(drug, formulary)))
                .or_else(|| Condition::parse(&word).map(Self::condition))
                .or_else(|| Lab::parse(&word).map(Self::lab));
            terms = terms.union(known.unwrap_or_default());
        }
        terms
    }

    /// Returns all terms that an observation shows.
    #[must_use]
    pub fn from_observation(o: &Observation) -> Self {
        let (mut terms, formulary) = (Self::default(), o.formulary());
        for row in o.regimen.iter() {
            terms = terms.union(Self::drug(row.drug, formulary));
            terms = terms.union(row.indication.map(Self::condition).unwrap_or_default());
        }
        for part in o.components.into_iter().flatten() {
            terms = terms.union(Self::drug(Drug::Known(part), formulary));
        }
        for candidate in o.candidates.iter() {
            if let ActArg::Target(drug) = candidate.act.arg {
                terms = terms.union(Self::drug(drug, formulary));
            }
        }
        for id in each_archetype(o.ade_history) {
            terms = terms.union(Self::drug(Drug::Known(id), formulary));
        }
        for condition in o.patient.comorbidities.iter() {
            terms = terms.union(Self::condition(condition));
        }
        for lab in Lab::ALL {
            // A missing value is also shown on the chart, as missing.
            terms = terms.union(Self::lab(lab));
        }
        terms
    }

    /// Returns the set as bits.
    #[must_use]
    pub const fn bits(self) -> u128 {
        self.0
    }

    /// Creates a set from [`RationaleTerms::bits`].
    #[must_use]
    pub const fn from_bits(bits: u128) -> Self {
        Self(bits)
    }

    /// Returns the union of two sets.
    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Returns the number of terms in both sets.
    #[must_use]
    pub const fn count_shared(self, other: Self) -> u32 {
        (self.0 & other.0).count_ones()
    }

    /// Returns the number of terms in the set.
    #[must_use]
    pub const fn len(self) -> u32 {
        self.0.count_ones()
    }

    /// Returns `true` if the set is empty.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Returns `true` if `other` is a subset of this set.
    #[must_use]
    pub const fn contains_all(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Returns the words of the set: drugs first, then conditions, then laboratory values.
    #[must_use]
    pub fn names(self) -> Vec<&'static str> {
        let formulary = Formulary::extended();
        let mut words = Vec::new();
        let mut add = |term: Self, word| {
            if self.contains_all(term) {
                words.push(word);
            }
        };
        for id in formulary.ids() {
            add(
                Self::drug(Drug::Known(id), formulary),
                formulary.get(id).name.as_str(),
            );
        }
        add(Self::drug(Drug::Product, formulary), PRODUCT_NAME);
        for condition in Condition::ALL {
            add(Self::condition(condition), condition.name());
        }
        for lab in Lab::ALL {
            add(Self::lab(lab), lab.name());
        }
        words
    }
}
