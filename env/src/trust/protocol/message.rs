//! What comes from outside: requests and actions in JSON, and why they may be refused (spec trust
//! §11).

use serde::{Deserialize, Serialize};

use crate::protocol;
use crate::rng::Streams;
use crate::slot::Slot;
use crate::task::{self, Task};
use crate::trust::model::{Action, ActionType, EpisodeOver, UnknownScenario};

/// What to start.
#[derive(Clone, Debug, PartialEq)]
pub struct ResetRequest {
    /// `task1`..`task3`; the reference's default is task3.
    pub task_type: Option<String>,
    /// A fixed scenario; its task then wins over `task_type`.
    pub scenario_id: Option<String>,
    /// The seed.
    pub seed: u64,
    /// How the streams are seeded.
    pub streams: Streams,
    /// Whether the curriculum applies.
    pub adaptive: bool,
}

/// Why an episode could not be started.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ResetError {
    /// No such task.
    #[error("unknown task_type {0:?}: use {known}", known = task::known::<Task>(" or "))]
    UnknownTask(String),
    /// No such scenario.
    #[error(transparent)]
    UnknownScenario(#[from] UnknownScenario),
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

/// Why a message was refused. The episode is as it was.
pub type MessageError = protocol::MessageError<ActionError, EpisodeOver>;
