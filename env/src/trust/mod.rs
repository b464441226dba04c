//! The trust world: an orchestrator learns which of five specialists with hidden behaviors to
//! believe.
//!
//! [`Episode`] is the hot path, a plain value whose `step` does not allocate. [`Session`] wraps an
//! episode and adds the reference's payloads, text, trace and report. Policies may read an
//! [`Observation`]; only privileged policies may read [`Hidden`].
//!
//! Modules in order of dependence: `model` (plain types), `dynamics` (effects of an action),
//! `reward`, `episode`, `protocol` (JSON, text, session), `world_impl` (names for files and
//! the command line).

mod dynamics;
mod episode;
mod model;
mod protocol;
mod reward;
mod world_impl;

pub use crate::task::Task;
pub use dynamics::{Answer, ExecutionParams, Hypothesis, Outcome, action_outcome};
pub use episode::Episode;
pub use model::{
    Action, ActionType, Behavior, Change, Domain, EpisodeOver, Grades, Hidden, LastStep, Node,
    NodeState, Observation, Progress, Rules, Scenario, Setup, Status, Step, Tally, TaskLayout,
    TerminalReward, TerminalWeights, TrustLedger, UnknownScenario,
};
pub use protocol::{
    ActionError, ActionMessage, Breakdown, Component, EndInfo, Event, EventLog, EvidenceSummary,
    Formulas, MessageError, ObservationPayload, ResetError, ResetRequest, RewardPayload,
    RewardReport, Session, StatePayload, StepInfo, StepResult, StreamPayload, TraceFinal,
    TraceReset, TraceStep, episode_prompt, mission, text,
};
pub use reward::{FATAL_STAKES, FORCED_END_REWARD, GradeInput, grade};

/// The environment of this world, under a name that is unambiguous next to other worlds.
pub type TrustEnv = Episode;
