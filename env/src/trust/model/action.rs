//! Actions in the typed form that an episode accepts.

use crate::named_enum;
use crate::slot::Slot;

/// An action of the orchestrator for the current subtask. Every value is valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// Calls a specialist and believes its answer.
    Delegate(Slot),
    /// Calls a specialist and checks its answer, which uses one more step and catches poison.
    Verify(Slot),
    /// Solves the subtask without a specialist, which uses two steps and always succeeds.
    SolveIndependently,
    /// Leaves the subtask undone.
    Skip,
}

named_enum! {
    /// The four action types of the protocol.
    pub enum ActionType {
        /// Calls a specialist without a check.
        Delegate = "delegate",
        /// Calls a specialist with a check.
        Verify = "verify",
        /// Solves without a specialist.
        SolveIndependently = "solve_independently",
        /// Leaves the subtask undone.
        Skip = "skip",
    }
}

impl Action {
    /// All actions in a fixed order: 5 delegations, 5 verifications, solve, skip.
    pub const ALL: [Self; 12] = [
        Self::Delegate(Slot::ALL[0]),
        Self::Delegate(Slot::ALL[1]),
        Self::Delegate(Slot::ALL[2]),
        Self::Delegate(Slot::ALL[3]),
        Self::Delegate(Slot::ALL[4]),
        Self::Verify(Slot::ALL[0]),
        Self::Verify(Slot::ALL[1]),
        Self::Verify(Slot::ALL[2]),
        Self::Verify(Slot::ALL[3]),
        Self::Verify(Slot::ALL[4]),
        Self::SolveIndependently,
        Self::Skip,
    ];

    /// Returns the action type of the protocol.
    #[must_use]
    pub const fn action_type(self) -> ActionType {
        match self {
            Self::Delegate(_) => ActionType::Delegate,
            Self::Verify(_) => ActionType::Verify,
            Self::SolveIndependently => ActionType::SolveIndependently,
            Self::Skip => ActionType::Skip,
        }
    }

    /// Returns the slot that the action calls, or `None` if it calls none.
    #[must_use]
    pub const fn slot(self) -> Option<Slot> {
        match self {
            Self::Delegate(slot) | Self::Verify(slot) => Some(slot),
            Self::SolveIndependently | Self::Skip => None,
        }
    }
}

impl std::fmt::Display for Action {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.slot() {
            Some(slot) => write!(f, "{} {slot}", self.action_type().name()),
            None => f.write_str(self.action_type().name()),
        }
    }
}
