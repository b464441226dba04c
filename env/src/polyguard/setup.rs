//! What an episode is made from.

use super::Rules;
use super::case::Case;

/// What an episode is made from. The same setup and actions give the same trajectory everywhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setup {
    /// Which distribution.
    pub case: Case,
    /// The seed; 42 where nobody says otherwise.
    pub seed: u64,
    /// What differs from the published rules.
    pub rules: Rules,
}

impl Setup {
    /// A setup under the published rules.
    #[must_use]
    pub const fn new(case: Case, seed: u64) -> Self {
        Self {
            case,
            seed,
            rules: Rules::REFERENCE,
        }
    }

    /// The same under other rules.
    #[must_use]
    pub const fn under(mut self, rules: Rules) -> Self {
        self.rules = rules;
        self
    }
}
