//! Actions: the typed form that an episode takes, and the message form that comes from outside.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{GpuId, JobId};
use crate::slot::Slot;

/// What the scheduler does in one step (spec cluster §4). What is left out is chosen by rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// Put a queued job on a GPU and have a worker report on it.
    Allocate {
        /// The job; else the queued one with the earliest deadline.
        job: Option<JobId>,
        /// The GPU; else the one with most free memory, as shown.
        gpu: Option<GpuId>,
        /// The worker; else one chosen by trust and by how little it was called.
        worker: Option<Slot>,
    },
    /// Take a job off its GPU.
    Preempt {
        /// The job; else the running one whose worker is trusted least.
        job: Option<JobId>,
        /// Has no effect, but makes the action another one for the count of loops.
        worker: Option<Slot>,
    },
    /// Ask for a report and believe it.
    RequestInfo {
        /// A running job; else the one with the earliest deadline.
        job: Option<JobId>,
        /// Who is asked; else the job's worker.
        worker: Option<Slot>,
    },
    /// Ask for a report and check it.
    Verify {
        /// A running job; else the one with the earliest deadline.
        job: Option<JobId>,
        /// Who is asked; else the job's worker.
        worker: Option<Slot>,
        /// Whether a report that stands counts as a false alarm.
        force_flag: bool,
    },
    /// Let a step pass.
    Tick,
}

/// The five words of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum ActionType {
    /// `allocate`
    Allocate,
    /// `preempt`
    Preempt,
    /// `request_info`
    RequestInfo,
    /// `verify`
    Verify,
    /// `tick`
    Tick,
}

impl ActionType {
    /// All words.
    pub const ALL: [Self; 5] = [
        Self::Allocate,
        Self::Preempt,
        Self::RequestInfo,
        Self::Verify,
        Self::Tick,
    ];

    /// The word itself.
    #[must_use]
    pub const fn name(self) -> &'static str {
        ["allocate", "preempt", "request_info", "verify", "tick"][self as usize]
    }

    /// The word `name`.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|t| t.name() == name)
    }
}

impl Action {
    /// The protocol's word.
    #[must_use]
    pub const fn action_type(self) -> ActionType {
        match self {
            Self::Allocate { .. } => ActionType::Allocate,
            Self::Preempt { .. } => ActionType::Preempt,
            Self::RequestInfo { .. } => ActionType::RequestInfo,
            Self::Verify { .. } => ActionType::Verify,
            Self::Tick => ActionType::Tick,
        }
    }

    /// The job that is named.
    #[must_use]
    pub const fn job(self) -> Option<JobId> {
        match self {
            Self::Allocate { job, .. }
            | Self::Preempt { job, .. }
            | Self::RequestInfo { job, .. }
            | Self::Verify { job, .. } => job,
            Self::Tick => None,
        }
    }

    /// The GPU that is named.
    #[must_use]
    pub const fn gpu(self) -> Option<GpuId> {
        match self {
            Self::Allocate { gpu, .. } => gpu,
            _ => None,
        }
    }

    /// The worker that is named.
    #[must_use]
    pub const fn worker(self) -> Option<Slot> {
        match self {
            Self::Allocate { worker, .. }
            | Self::Preempt { worker, .. }
            | Self::RequestInfo { worker, .. }
            | Self::Verify { worker, .. } => worker,
            Self::Tick => None,
        }
    }

    /// A number that two actions share exactly when the count of loops takes them for the same:
    /// word, job, GPU and worker, as named (spec cluster §8.1).
    pub(super) fn signature(self) -> u32 {
        let field = |named: Option<u8>| named.map_or(0, |n| u32::from(n) + 1);
        let job = field(self.job().map(|job| job.0));
        let gpu = field(self.gpu().map(|gpu| gpu.0));
        let worker = field(self.worker().map(|slot| slot.index() as u8));
        (self.action_type() as u32) << 27 | job << 18 | gpu << 9 | worker
    }
}

impl std::fmt::Display for Action {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.action_type().name())?;
        if let Some(job) = self.job() {
            write!(f, " {job}")?;
        }
        if let Some(gpu) = self.gpu() {
            write!(f, " on {gpu}")?;
        }
        if let Some(worker) = self.worker() {
            write!(f, " by {worker}")?;
        }
        Ok(())
    }
}

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

/// The named thing, `None` for none or an empty text.
fn named<T>(
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
    /// The typed action, or what is wrong with the message.
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
        let job = named(
            self.job_id.as_deref(),
            JobId::parse,
            ActionError::UnknownJob,
        )?;
        let gpu = named(
            self.gpu_id.as_deref(),
            GpuId::parse,
            ActionError::UnknownGpu,
        )?;
        let slot = |field, text: &Option<String>| {
            let error = |name| ActionError::UnknownWorker { field, name };
            named(text.as_deref(), Slot::parse, error)
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
