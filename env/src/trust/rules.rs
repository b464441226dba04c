//! The changes that make the trust world's rules fair (the quirks of spec trust §16).

use crate::rules;

/// A change to the reference's rules. `docs/trust.md` has the reasons, formulas and effects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Change {
    /// Quirk Q4: solving alone earns half of the accuracy.
    SelfSolving,
    /// Quirk Q2: task1 ends with its share of completed subtasks.
    Completion,
    /// Quirks Q2, Q3: each subtask that is open at the end counts as an event without reward.
    Unfinished,
    /// Quirk Q6: a checked wrong answer is mended, for a step and half of the accuracy.
    Verification,
    /// Quirk Q7: caught poison has to be mended like a mistake.
    KnownLiar,
    /// Quirks Q8, Q17: without encounters, detection is not graded.
    Detection,
    /// Quirk Q10: trust is held against how right those who were called could be.
    Calibration,
}

/// The rules of an episode.
pub type Rules = rules::Rules<Change>;

impl rules::Change for Change {
    const ALL: &'static [Self] = &[
        Self::SelfSolving,
        Self::Completion,
        Self::Unfinished,
        Self::Verification,
        Self::KnownLiar,
        Self::Detection,
        Self::Calibration,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::SelfSolving => "self_solving",
            Self::Completion => "completion",
            Self::Unfinished => "unfinished",
            Self::Verification => "verification",
            Self::KnownLiar => "known_liar",
            Self::Detection => "detection",
            Self::Calibration => "calibration",
        }
    }

    fn describe(self) -> &'static str {
        match self {
            Self::SelfSolving => "A subtask solved alone earns half of the accuracy",
            Self::Completion => "Task 1 ends with the share of subtasks that were completed",
            Self::Unfinished => "A subtask left open at the end counts as an event without reward",
            Self::Verification => {
                "Checking mends an honest mistake, for one step more and half of the accuracy"
            }
            Self::KnownLiar => "Caught poison must be mended like a mistake: it is no free answer",
            Self::Detection => "Who met no poison is not graded on detecting it",
            Self::Calibration => {
                "Trust is graded on the slots that were called, by what they could do there"
            }
        }
    }

    fn index(self) -> u8 {
        self as u8
    }
}
