//! A reward taken apart into terms.

use std::borrow::Cow;

/// One term of a reward.
#[derive(Clone, Debug, PartialEq)]
pub struct Term {
    /// The component.
    pub name: &'static str,
    /// Its weight in a sum; none when it multiplies what the terms before it came to.
    pub weight: Option<f64>,
    /// Its value, 0..1.
    pub value: f64,
    /// What it measures.
    pub meaning: Cow<'static, str>,
}

impl Term {
    /// A part of a sum.
    #[must_use]
    pub fn share(name: &'static str, weight: f64, value: f64, meaning: &'static str) -> Self {
        Self {
            name,
            weight: Some(weight),
            value,
            meaning: Cow::Borrowed(meaning),
        }
    }

    /// A factor of all before it.
    #[must_use]
    pub fn factor(name: &'static str, value: f64, meaning: impl Into<Cow<'static, str>>) -> Self {
        Self {
            name,
            weight: None,
            value,
            meaning: meaning.into(),
        }
    }

    /// The same with another explanation.
    #[must_use]
    pub fn with_grounded_rationale(mut self, meaning: String) -> Self {
        self.meaning = Cow::Owned(meaning);
        self
    }

    /// What the term adds to the reward, or what it multiplies it with.
    #[must_use]
    pub fn product(&self) -> f64 {
        self.weight.unwrap_or(1.0) * self.value
    }
}

/// What the terms come to: the sum of the shares, times the factors.
#[must_use]
pub fn total(terms: &[Term]) -> f64 {
    terms.iter().fold(0.0, |sum, term| match term.weight {
        Some(_) => sum + term.product(),
        None => sum * term.value,
    })
}
