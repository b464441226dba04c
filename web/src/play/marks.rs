//! What is worth pointing at in an episode.

use sentinel_env::trust::{Action, Step};

/// How one action turned out, as far as the viewer may know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// The subtask was done.
    Right,
    /// The answer was wrong.
    Wrong,
    /// Poison was believed. Known only to those who see the truth.
    Poisoned,
    /// Poison was caught by checking. Known only to those who see the truth.
    Caught,
    /// Done without help.
    Solved,
    /// Left undone.
    Skipped,
}

/// The mark of a step; poison is a wrong answer to those who do not see the truth, and caught
/// poison a right one.
#[must_use]
pub fn mark(step: &Step, truth: bool) -> Mark {
    match (step.action, step.adversarial && truth, step.success) {
        (Action::Skip, ..) => Mark::Skipped,
        (Action::SolveIndependently, ..) => Mark::Solved,
        (Action::Verify(_), true, _) => Mark::Caught,
        (Action::Delegate(_), true, _) => Mark::Poisoned,
        (_, _, Some(true)) => Mark::Right,
        _ => Mark::Wrong,
    }
}

impl Mark {
    /// A sign that does not rely on colour.
    #[must_use]
    pub const fn sign(self) -> &'static str {
        match self {
            Self::Right => "✓",
            Self::Wrong => "✗",
            Self::Poisoned => "!",
            Self::Caught => "◆",
            Self::Solved => "●",
            Self::Skipped => "–",
        }
    }

    /// The word.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Right => "correct",
            Self::Wrong => "wrong",
            Self::Poisoned => "poison believed",
            Self::Caught => "poison caught",
            Self::Solved => "solved alone",
            Self::Skipped => "skipped",
        }
    }

    /// Name of the style class.
    #[must_use]
    pub const fn class(self) -> &'static str {
        match self {
            Self::Right => "right",
            Self::Wrong => "wrong",
            Self::Poisoned => "poisoned",
            Self::Caught => "caught",
            Self::Solved => "solved",
            Self::Skipped => "skipped",
        }
    }

    /// Whether a viewer may want to jump here.
    #[must_use]
    pub const fn notable(self) -> bool {
        matches!(
            self,
            Self::Wrong | Self::Poisoned | Self::Caught | Self::Skipped
        )
    }
}
