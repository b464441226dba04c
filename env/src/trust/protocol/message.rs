//! Incoming messages: requests and actions in JSON, and the reasons to refuse them (spec trust
//! §11).

use serde::{Deserialize, Serialize};

use crate::message::{FormError, message_fields, take_once};
use crate::protocol;
use crate::rng::Streams;
use crate::slot::Slot;
use crate::strict_json::Json;
use crate::task::{self, Task};
use crate::trust::model::{Action, ActionType, EpisodeOver, UnknownScenario};

/// A request to start an episode.
#[derive(Clone, Debug, PartialEq)]
pub struct ResetRequest {
    /// Name of the task, `task1` to `task3`; task3 by default, as in the reference.
    pub task_type: Option<String>,
    /// Id of a fixed scenario, whose task takes precedence over `task_type`.
    pub scenario_id: Option<String>,
    /// Seed of the random streams.
    pub seed: u64,
    /// The mode in which the streams are seeded.
    pub streams: Streams,
    /// `true` if the episode takes its difficulty from the curriculum.
    pub adaptive: bool,
}

/// The reason why an episode could not be started.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ResetError {
    /// There is no task of this name.
    #[error("unknown task_type {0:?}: use {known}", known = task::joined_task_names::<Task>(" or "))]
    UnknownTask(String),
    /// There is no scenario with this id.
    #[error(transparent)]
    UnknownScenario(#[from] UnknownScenario),
}

/// An action as it arrives in JSON: an object. A field that is `null` is treated as missing, and an
/// unknown field is ignored.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Json")]
pub struct ActionMessage {
    /// One of the four action types; `delegate` if missing.
    pub action_type: Option<String>,
    /// Name of the slot, `S0` to `S4`; required by `delegate` and `verify`.
    pub specialist_id: Option<String>,
    /// The orchestrator's own answer, any non-empty text; required by `solve_independently`.
    pub subtask_response: Option<String>,
    /// Free text, which is recorded but not graded.
    pub reasoning: Option<String>,
    /// The session's id, if given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// Accepted and ignored, as in the reference.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_type: Option<String>,
}

impl TryFrom<Json> for ActionMessage {
    type Error = FormError;

    fn try_from(json: Json) -> Result<Self, FormError> {
        let mut fields = message_fields(json)?;
        let mut take = |name| take_once(&mut fields, name);
        Ok(Self {
            action_type: take("action_type")?,
            specialist_id: take("specialist_id")?,
            subtask_response: take("subtask_response")?,
            reasoning: take("reasoning")?,
            session_id: take("session_id")?,
            task_type: take("task_type")?,
        })
    }
}

/// The reason why a message is not a valid action. The episode is unchanged.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ActionError {
    /// The action type is none of the four.
    #[error("unknown action_type {0:?}: use delegate, verify, solve_independently or skip")]
    UnknownType(String),
    /// A `delegate` or `verify` action names no specialist.
    #[error("action_type {0} needs a specialist_id, one of S0..S4")]
    MissingSpecialist(&'static str),
    /// There is no specialist of this name.
    #[error("unknown specialist_id {0:?}: the specialists are S0, S1, S2, S3 and S4")]
    UnknownSpecialist(String),
    /// A `solve_independently` action contains no answer.
    #[error("action_type solve_independently needs a non-empty subtask_response")]
    MissingResponse,
}

impl ActionMessage {
    /// Parses the message into a typed action.
    ///
    /// # Errors
    /// Returns an error that names the invalid or missing field.
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

/// The reason why a message was refused. The episode is unchanged.
pub type MessageError = protocol::MessageError<ActionError, EpisodeOver>;
