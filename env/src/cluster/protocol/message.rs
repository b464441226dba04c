//! Incoming messages: requests and actions in JSON, and the reasons to refuse them (spec cluster
//! §4, §10).

use serde::{Deserialize, Serialize};

use crate::cluster::model::{Action, ActionType, GpuId, JobId, StepError};
use crate::message::{FormError, message_fields, take_once};
use crate::protocol;
use crate::rng::Streams;
use crate::slot::Slot;
use crate::strict_json::Json;
use crate::task::{self, Task};

/// A request to start an episode.
#[derive(Clone, Debug, PartialEq)]
pub struct ResetRequest {
    /// Name of the task, `task1` to `task3`; task3 by default, as in the reference.
    pub task_type: Option<String>,
    /// Seed of the random streams.
    pub seed: u64,
    /// The mode in which the streams are seeded.
    pub streams: Streams,
    /// `true` if the episode takes its difficulty from the curriculum.
    pub adaptive: bool,
}

/// The error for an unknown task.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown task_type {0:?}: use {known}", known = task::joined_task_names::<Task>(" or "))]
pub struct UnknownTask(pub String);

/// An action as it arrives in JSON. Fields that the action type does not use must still be
/// well-formed, and unknown fields are refused.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Json")]
pub struct ActionMessage {
    /// The session's id, if given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// One of the five action types.
    pub action_type: Option<String>,
    /// Id of a job, `JOB-000` and up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub job_id: Option<String>,
    /// Id of a GPU, `GPU-00` and up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gpu_id: Option<String>,
    /// Name of a worker, `S0` to `S4`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worker_id: Option<String>,
    /// A synonym for `worker_id`, which takes precedence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub specialist_id: Option<String>,
    /// The flag of [`Action::Verify`]; `false` if missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub force_flag: Option<bool>,
}

/// The reason why a message is not a valid action. The episode is unchanged.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ActionError {
    /// The action type is missing.
    #[error("action_type is missing: use allocate, preempt, request_info, verify or tick")]
    MissingType,
    /// The action type is none of the five.
    #[error("unknown action_type {0:?}: use allocate, preempt, request_info, verify or tick")]
    UnknownType(String),
    /// The text is not a valid job id.
    #[error("unknown job_id {0:?}: job ids have the form JOB-000")]
    UnknownJob(String),
    /// The text is not a valid GPU id.
    #[error("unknown gpu_id {0:?}: GPU ids have the form GPU-00")]
    UnknownGpu(String),
    /// There is no worker of this name.
    #[error("unknown {field} {name:?}: the workers are S0, S1, S2, S3 and S4")]
    UnknownWorker {
        /// Name of the field, `worker_id` or `specialist_id`.
        field: &'static str,
        /// The unknown worker name.
        name: String,
    },
}

/// The fields of an action, for errors.
const KNOWN: &str = "an action has action_type, job_id, gpu_id, worker_id, specialist_id, force_flag \
                     and session_id";

impl TryFrom<Json> for ActionMessage {
    type Error = FormError;

    fn try_from(json: Json) -> Result<Self, FormError> {
        let mut fields = message_fields(json)?;
        let mut take = |name| take_once(&mut fields, name);
        let mut message = Self {
            session_id: take("session_id")?,
            action_type: take("action_type")?,
            job_id: take("job_id")?,
            gpu_id: take("gpu_id")?,
            worker_id: take("worker_id")?,
            specialist_id: take("specialist_id")?,
            force_flag: None,
        };
        let force_flag = fields.take_bool("force_flag");
        if fields.contains("force_flag") {
            return Err(FormError::Twice("force_flag"));
        }
        message.force_flag = force_flag?;
        match fields.iter().next() {
            Some((name, _)) => Err(FormError::unknown(name, KNOWN)),
            None => Ok(message),
        }
    }
}

/// Parses a name; returns `None` if it is missing or empty.
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
    /// Parses the message into a typed action.
    ///
    /// # Errors
    /// Returns an error that names the invalid or missing field.
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

/// The reason why a message was refused. The episode is unchanged.
pub type MessageError = protocol::MessageError<ActionError, StepError>;
