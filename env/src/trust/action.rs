//! Actions: the typed form that an episode takes, and the message form that comes from outside.

use serde::{Deserialize, Serialize};

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

/// The four words of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ActionType {
    /// `delegate`
    Delegate,
    /// `verify`
    Verify,
    /// `solve_independently`
    SolveIndependently,
    /// `skip`
    Skip,
}

impl ActionType {
    /// All words.
    pub const ALL: [Self; 4] = [
        Self::Delegate,
        Self::Verify,
        Self::SolveIndependently,
        Self::Skip,
    ];

    /// The word itself.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Delegate => "delegate",
            Self::Verify => "verify",
            Self::SolveIndependently => "solve_independently",
            Self::Skip => "skip",
        }
    }

    /// The word `name`.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|t| t.name() == name)
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

/// An action as it arrives in JSON.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ActionMessage {
    /// One of the four words; a message without it delegates.
    pub action_type: Option<String>,
    /// `S0..S4`; needed by `delegate` and `verify`.
    pub specialist_id: Option<String>,
    /// The own answer; needed by `solve_independently`, any text.
    pub subtask_response: Option<String>,
    /// Free text, recorded and not judged.
    pub reasoning: Option<String>,
    /// When given, must be the session's id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// Accepted and not used, as in the reference.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_type: Option<String>,
}

/// Why a message is not an action. The episode is as it was.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ActionError {
    /// The word is none of the four.
    #[error("unknown action_type {0:?}: use delegate, verify, solve_independently or skip")]
    UnknownType(String),
    /// `delegate` and `verify` need a specialist.
    #[error("action_type {0} needs a specialist_id, one of S0..S4")]
    MissingSpecialist(&'static str),
    /// No such specialist.
    #[error("unknown specialist_id {0:?}: the specialists are S0, S1, S2, S3 and S4")]
    UnknownSpecialist(String),
    /// Solving needs an answer.
    #[error("action_type solve_independently needs a non-empty subtask_response")]
    MissingResponse,
}

impl ActionMessage {
    /// The typed action, or what is wrong with the message.
    ///
    /// # Errors
    /// See [`ActionError`].
    pub fn parse(&self) -> Result<Action, ActionError> {
        let word = self
            .action_type
            .as_deref()
            .unwrap_or(ActionType::Delegate.name());
        let kind =
            ActionType::parse(word).ok_or_else(|| ActionError::UnknownType(word.to_owned()))?;
        match kind {
            ActionType::Delegate => self.slot(kind).map(Action::Delegate),
            ActionType::Verify => self.slot(kind).map(Action::Verify),
            ActionType::SolveIndependently => {
                let answered = self
                    .subtask_response
                    .as_deref()
                    .is_some_and(|r| !r.is_empty());
                if answered {
                    Ok(Action::SolveIndependently)
                } else {
                    Err(ActionError::MissingResponse)
                }
            }
            ActionType::Skip => Ok(Action::Skip),
        }
    }

    fn slot(&self, kind: ActionType) -> Result<Slot, ActionError> {
        let name = self.specialist_id.as_deref().unwrap_or_default();
        if name.is_empty() {
            return Err(ActionError::MissingSpecialist(kind.name()));
        }
        Slot::parse(name).ok_or_else(|| ActionError::UnknownSpecialist(name.to_owned()))
    }
}

impl From<Action> for ActionMessage {
    fn from(action: Action) -> Self {
        Self {
            action_type: Some(action.action_type().name().to_owned()),
            specialist_id: action.slot().map(|slot| slot.name().to_owned()),
            subtask_response: (action == Action::SolveIndependently)
                .then(|| "SELF_SOLVED".to_owned()),
            ..Self::default()
        }
    }
}
