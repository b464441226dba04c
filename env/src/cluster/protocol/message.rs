//! What comes from outside: requests and actions in JSON, and why they may be refused (spec cluster
//! §4, §10).

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::cluster::model::{Action, ActionType, GpuId, JobId, StepError};
use crate::protocol;
use crate::rng::Streams;
use crate::slot::Slot;
use crate::task::{self, Task};

/// What to start.
#[derive(Clone, Debug, PartialEq)]
pub struct ResetRequest {
    /// `task1`..`task3`; the reference's default is task3.
    pub task_type: Option<String>,
    /// The seed.
    pub seed: u64,
    /// How the streams are seeded.
    pub streams: Streams,
    /// Whether the curriculum applies.
    pub adaptive: bool,
}

/// Why an episode could not be started.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown task_type {0:?}: use {known}", known = task::known::<Task>(" or "))]
pub struct UnknownTask(pub String);

/// An action as it arrives in JSON. A field that its word does not use must still be well-formed, and
/// there are no others.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Map<String, Value>")]
pub struct ActionMessage {
    /// When given, must be the session's id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// One of the five words.
    pub action_type: Option<String>,
    /// `JOB-000` onwards.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub job_id: Option<String>,
    /// `GPU-00` onwards.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gpu_id: Option<String>,
    /// `S0..S4`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worker_id: Option<String>,
    /// Another word for `worker_id`, which wins.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub specialist_id: Option<String>,
    /// See [`Action::Verify`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub force_flag: Option<bool>,
}

/// Why a message is not an action. The episode is as it was.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ActionError {
    /// No field of an action.
    #[error(
        "unknown field {0:?}: an action has action_type, job_id, gpu_id, worker_id, specialist_id, \
         force_flag and session_id"
    )]
    UnknownField(String),
    /// A field of another type.
    #[error("{field} should be {expected}, not {found}")]
    IllTyped {
        /// Its name.
        field: &'static str,
        /// What it may be.
        expected: &'static str,
        /// What it is.
        found: String,
    },
    /// No word is given.
    #[error("action_type is missing: use allocate, preempt, request_info, verify or tick")]
    MissingType,
    /// The word is none of the five.
    #[error("unknown action_type {0:?}: use allocate, preempt, request_info, verify or tick")]
    UnknownType(String),
    /// Not the name of a job.
    #[error("unknown job_id {0:?}: jobs are called JOB-000 onwards")]
    UnknownJob(String),
    /// Not the name of a GPU.
    #[error("unknown gpu_id {0:?}: GPUs are called GPU-00 onwards")]
    UnknownGpu(String),
    /// No such worker.
    #[error("unknown {field} {name:?}: the workers are S0, S1, S2, S3 and S4")]
    UnknownWorker {
        /// `worker_id` or `specialist_id`.
        field: &'static str,
        /// What it says.
        name: String,
    },
}

impl TryFrom<Map<String, Value>> for ActionMessage {
    type Error = ActionError;

    fn try_from(fields: Map<String, Value>) -> Result<Self, ActionError> {
        let mut message = Self::default();
        for (name, value) in fields {
            let place = match name.as_str() {
                "session_id" => ("session_id", &mut message.session_id),
                "action_type" => ("action_type", &mut message.action_type),
                "job_id" => ("job_id", &mut message.job_id),
                "gpu_id" => ("gpu_id", &mut message.gpu_id),
                "worker_id" => ("worker_id", &mut message.worker_id),
                "specialist_id" => ("specialist_id", &mut message.specialist_id),
                "force_flag" => {
                    message.force_flag = match value {
                        Value::Null => None,
                        Value::Bool(on) => Some(on),
                        other => return Err(ill_typed("force_flag", "true or false", &other)),
                    };
                    continue;
                }
                _ => return Err(ActionError::UnknownField(name)),
            };
            *place.1 = match value {
                Value::Null => None,
                Value::String(text) => Some(text),
                other => return Err(ill_typed(place.0, "a string", &other)),
            };
        }
        Ok(message)
    }
}

fn ill_typed(field: &'static str, expected: &'static str, found: &Value) -> ActionError {
    ActionError::IllTyped {
        field,
        expected,
        found: found.to_string(),
    }
}

/// Parses a name; `None` for none or an empty text.
fn parse_named<T>(
    text: Option<&str>,
    parse: impl Fn(&str) -> Option<T>,
    error: impl Fn(String) -> ActionError,
) -> Result<Option<T>, ActionError> {
    match text.filter(|text| !text.is_empty()) {
        None => Ok(None),
        Some(text) => parse(text).map(Some).ok_or_else(|| error(text.to_owned())),
    }
}

impl ActionMessage {
    /// Returns the typed action, or what is wrong with the message.
    ///
    /// # Errors
    /// See [`ActionError`].
    pub fn parse(&self) -> Result<Action, ActionError> {
        let word = self
            .action_type
            .as_deref()
            .ok_or(ActionError::MissingType)?;
        let kind =
            ActionType::parse(word).ok_or_else(|| ActionError::UnknownType(word.to_owned()))?;
        let job = parse_named(
            self.job_id.as_deref(),
            JobId::parse,
            ActionError::UnknownJob,
        )?;
        let gpu = parse_named(
            self.gpu_id.as_deref(),
            GpuId::parse,
            ActionError::UnknownGpu,
        )?;
        let slot = |field, text: &Option<String>| {
            let error = |name| ActionError::UnknownWorker { field, name };
            parse_named(text.as_deref(), Slot::parse, error)
        };
        let worker = slot("worker_id", &self.worker_id)?;
        let specialist = slot("specialist_id", &self.specialist_id)?;
        let worker = worker.or(specialist);
        Ok(match kind {
            ActionType::Allocate => Action::Allocate { job, gpu, worker },
            ActionType::Preempt => Action::Preempt { job, worker },
            ActionType::RequestInfo => Action::RequestInfo { job, worker },
            ActionType::Verify => Action::Verify {
                job,
                worker,
                force_flag: self.force_flag.unwrap_or(false),
            },
            ActionType::Tick => Action::Tick,
        })
    }
}

impl From<Action> for ActionMessage {
    fn from(action: Action) -> Self {
        let forced = matches!(
            action,
            Action::Verify {
                force_flag: true,
                ..
            }
        );
        Self {
            action_type: Some(action.action_type().name().to_owned()),
            job_id: action.job().map(|job| job.to_string()),
            gpu_id: action.gpu().map(|gpu| gpu.to_string()),
            worker_id: action.worker().map(|slot| slot.name().to_owned()),
            force_flag: forced.then_some(true),
            ..Self::default()
        }
    }
}

/// Why a message was refused. The episode is as it was.
pub type MessageError = protocol::MessageError<ActionError, StepError>;
