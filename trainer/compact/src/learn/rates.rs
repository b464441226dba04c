//! A policy's way of playing in plain words: rates of its episodes, and kinds of its actions.

use serde::{Deserialize, Serialize};

/// A rate of the episodes of a policy, such as how often of 100 steps at high stakes it was fooled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// Name in a few words, such as `Fooled by the liar`.
    pub name: &'static str,
    /// Plural noun for the things of which the rate counts some, such as `steps at high stakes`.
    pub unit: &'static str,
    /// A sentence about what exactly is counted.
    pub help: &'static str,
}

/// The counts of a rate in one or more episodes. Counts are added in the order of the episodes, so that
/// sums of fractions do not depend on who played them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RateCount {
    /// Number of things counted; for a mean, the sum of its values.
    pub count: f64,
    /// Number of things that could have been counted.
    pub of: f64,
}

impl RateCount {
    /// Counts the items of an iterator that satisfy `counts`.
    pub fn from_items<T>(items: impl Iterator<Item = T>, counts: impl Fn(&T) -> bool) -> Self {
        let mut sum = Self::default();
        for item in items {
            sum.of += 1.0;
            sum.count += f64::from(u8::from(counts(&item)));
        }
        sum
    }

    /// Counts a single thing, such as an episode.
    #[must_use]
    pub fn from_one(counts: bool) -> Self {
        Self {
            count: f64::from(u8::from(counts)),
            of: 1.0,
        }
    }

    /// Adds the counts of a later episode.
    pub fn add(&mut self, later: Self) {
        self.count += later.count;
        self.of += later.of;
    }
}

/// A kind of action, as strips of several episodes tell them apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ActionKind {
    /// Name as an order, such as `Delegate`.
    pub name: &'static str,
    /// Noun for one and for several actions of the kind, such as `delegation` and `delegations`.
    pub nouns: [&'static str; 2],
}

impl ActionKind {
    /// Creates a kind from its name and its nouns for one and for several actions.
    #[must_use]
    pub const fn new(name: &'static str, one: &'static str, several: &'static str) -> Self {
        Self {
            name,
            nouns: [one, several],
        }
    }
}

/// The kind of one step, with what distinguishes it from others of its kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StepKind {
    /// Index of the kind in [`Learn::ACTION_KINDS`](super::Learn::ACTION_KINDS).
    pub kind: usize,
    /// The one that the action was about in two or three characters, such as `S2`; empty for none.
    pub label: String,
    /// `true` if the step did the harm that [`Learn::HARM`](super::Learn::HARM) names.
    pub is_harmful: bool,
}
