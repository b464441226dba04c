//! Actions in the typed form that an episode takes.

use crate::named_enum;
use crate::slot::Slot;

/// What the orchestrator does with the current subtask. Every value is valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// Hand it to a specialist and believe the answer.
    Delegate(Slot),
    /// Hand it to a specialist and check the answer: one step more, catches poison.
    Verify(Slot),
    /// Do it oneself: two steps, always right.
    SolveIndependently,
    /// Leave it.
    Skip,
}

named_enum! {
    /// The four words of the protocol.
    pub enum ActionType {
        /// `delegate`
        Delegate = "delegate",
        /// `verify`
        Verify = "verify",
        /// `solve_independently`
        SolveIndependently = "solve_independently",
        /// `skip`
        Skip = "skip",
    }
}

impl Action {
    /// Every action, in a fixed order: 5 delegations, 5 verifications, solve, skip.
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

    /// The protocol's word.
    #[must_use]
    pub const fn action_type(self) -> ActionType {
        match self {
            Self::Delegate(_) => ActionType::Delegate,
            Self::Verify(_) => ActionType::Verify,
            Self::SolveIndependently => ActionType::SolveIndependently,
            Self::Skip => ActionType::Skip,
        }
    }

    /// The specialist that is called, if one is.
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
