//! The trust world: whom to believe among five specialists with hidden behaviours.
//!
//! [`Episode`] is the hot path, a plain value whose `step` does not allocate. [`Session`] wraps
//! one with the reference's payloads, text, trace and report. What a policy may read is an
//! [`Observation`]; what only privileged policies may read is [`Hidden`].
//!
//! In order of dependence: `model` (plain types), `dynamics` (what an action does), `reward`,
//! `episode`, `protocol` (JSON, text, session), `world` (names for files and the command line).

mod dynamics;
mod episode;
mod model;
mod protocol;
mod reward;
mod world;

pub use crate::task::Task;
pub use dynamics::{Answer, Execution, Outcome, outcome};
pub use episode::Episode;
pub use model::{
    Action, ActionType, Behaviour, Change, Domain, EpisodeOver, Grades, Hidden, LastStep, Layout,
    Ledger, Node, NodeState, Observation, Progress, Rules, Scenario, Setup, Status, Step, Tally,
    Terminal, TerminalWeights, UnknownScenario,
};
pub use protocol::{
    ActionError, ActionMessage, Breakdown, Component, EndInfo, Event, EventLog, EvidenceSummary,
    Formulas, MessageError, ObservationPayload, ResetError, ResetRequest, RewardPayload,
    RewardReport, Session, StatePayload, StepInfo, StepResult, StreamPayload, TraceFinal,
    TraceReset, TraceStep, episode_prompt, mission, text,
};
pub use reward::{GradeInput, grade};

/// The environment of this world, under the name used where several worlds meet.
pub type TrustEnv = Episode;
