//! The changes that make the cluster's rules fair (the quirks C1 to C6 of spec cluster §12).

use crate::rules;

/// A change to the reference's rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Change {
    /// Quirk C1.
    Health,
    /// Quirk C4.
    Answers,
    /// Quirk C5.
    Detections,
    /// Quirk C6.
    Escalation,
    /// Quirk C3.
    Failures,
    /// Quirk C2.
    Timeouts,
    /// Quirk C9.
    Waiting,
    /// Quirk C10.
    Ending,
    /// Quirk C11.
    Choices,
}

/// The rules of an episode.
pub type Rules = rules::Rules<Change>;

impl rules::Change for Change {
    const ALL: &'static [Self] = &[
        Self::Health,
        Self::Answers,
        Self::Detections,
        Self::Escalation,
        Self::Failures,
        Self::Timeouts,
        Self::Waiting,
        Self::Ending,
        Self::Choices,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::Health => "health",
            Self::Answers => "answers",
            Self::Detections => "detections",
            Self::Escalation => "escalation",
            Self::Failures => "failures",
            Self::Timeouts => "timeouts",
            Self::Waiting => "waiting",
            Self::Ending => "ending",
            Self::Choices => "choices",
        }
    }

    fn describe(self) -> &'static str {
        match self {
            Self::Health => "Health counts what is lost or overloaded, not what has nothing to do",
            Self::Answers => "A forged completion counts only when it was not checked in time",
            Self::Detections => "Detections count attacks that were found, each once",
            Self::Escalation => "Attacks of every level do harm until they are found",
            Self::Failures => "A GPU that fails throws its jobs back into the queue",
            Self::Timeouts => "A job that times out gives its memory back",
            Self::Waiting => "Waiting is no drift where nothing can be placed",
            Self::Ending => "Steps that are saved by finishing early count like the end",
            Self::Choices => {
                "An action fails that leaves its job, GPU or worker to the environment"
            }
        }
    }

    fn index(self) -> u8 {
        self as u8
    }
}
