//! The changes that make the trust world's rules fair (the quirks of spec trust §16).

use crate::rules;

/// A change to the reference's rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Change {
    /// Quirk Q4.
    SelfSolving,
    /// Quirk Q2.
    Completion,
    /// Quirk Q6.
    Verification,
}

/// The rules of an episode.
pub type Rules = rules::Rules<Change>;

impl rules::Change for Change {
    const ALL: &'static [Self] = &[Self::SelfSolving, Self::Completion, Self::Verification];

    fn name(self) -> &'static str {
        match self {
            Self::SelfSolving => "self_solving",
            Self::Completion => "completion",
            Self::Verification => "verification",
        }
    }

    fn describe(self) -> &'static str {
        match self {
            Self::SelfSolving => "Solving a subtask alone costs what it takes",
            Self::Completion => "What was completed counts in task1 too",
            Self::Verification => "Verifying mends honest mistakes too",
        }
    }

    fn index(self) -> u8 {
        self as u8
    }
}
