//! What the protocol asks for, and why it may be refused.

use super::{ActionError, StepError};
use crate::rng::Streams;

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
#[error("unknown task_type {0:?}: use task1, task2 or task3")]
pub struct UnknownTask(pub String);

/// Why a message was refused. The episode is as it was.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MessageError {
    /// Nothing was started.
    #[error("no episode: reset before the first step")]
    NotReset,
    /// The message is for another session.
    #[error("session_id {given:?} is not this session's {own:?}")]
    OtherSession {
        /// What the message says.
        given: String,
        /// What it should say, or leave out.
        own: String,
    },
    /// The message is no action.
    #[error(transparent)]
    Action(#[from] ActionError),
    /// The episode does not take it.
    #[error(transparent)]
    Step(#[from] StepError),
}
