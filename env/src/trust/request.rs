//! What the protocol asks for, and why it may be refused.

use super::{ActionError, EpisodeOver, UnknownScenario};
use crate::rng::Streams;

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
    #[error("unknown task_type {0:?}: use task1, task2 or task3")]
    UnknownTask(String),
    /// No such scenario.
    #[error(transparent)]
    UnknownScenario(#[from] UnknownScenario),
}

/// Why a step was refused. The episode is as it was.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StepError {
    /// Nothing was started.
    #[error("no episode: reset before the first step")]
    NotReset,
    /// The episode has ended.
    #[error(transparent)]
    Over(#[from] EpisodeOver),
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
}
