//! The trust world: whom to believe among five specialists with hidden behaviours.
//!
//! [`Episode`] is the hot path, a plain value whose `step` does not allocate. [`Session`] wraps
//! one with the reference's payloads, text, trace and report. What a policy may read is an
//! [`Observation`]; what only scripted oracles may read is [`Hidden`].

mod action;
mod episode;
mod fingerprint;
mod grade;
mod hidden;
pub mod mission;
mod observation;
mod outcome;
mod payload;
mod prompt;
mod report;
mod request;
mod rules;
mod scenario;
mod scenario_table;
mod session;
mod setup;
mod specialist;
mod step;
mod tally;
mod task;
mod terminal;
pub mod text;
mod trace;
mod world;

pub use action::{Action, ActionError, ActionMessage, ActionType};
pub use episode::Episode;
pub use fingerprint::Fingerprints;
pub use grade::{GradeInput, Grades, OWN_WORK, grade};
pub use hidden::{Hidden, LUCK};
pub use observation::{LastStep, NodeState, Observation, Progress, Status};
pub use outcome::{Answer, Outcome, outcome};
pub use payload::{
    Breakdown, Fingerprint, ObservationPayload, RewardPayload, StatePayload, StepInfo, StepResult,
    StreamPayload,
};
pub use prompt::{episode_prompt, orchestrator_prompt};
pub use report::{Event, FORMULAS, Formulas, RewardReport};
pub use request::{ResetError, ResetRequest, StepError};
pub use rules::{Change, Rules};
pub use scenario::{
    NODES_MAX, Node, SCENARIOS_PER_TASK, Scenario, UnknownScenario, generate_stakes,
};
pub use session::Session;
pub use setup::Setup;
pub use specialist::{Adversary, Behaviour, Execution};
pub use step::{EpisodeOver, Step};
pub use tally::Tally;
pub use task::{Domain, Task};
pub use terminal::{Terminal, TerminalInput, TerminalWeights, terminal};
pub use trace::{TraceFinal, TraceReset, TraceStep};
pub use world::TrustWorld;

pub use crate::batch::BatchStep;

/// Many episodes of this world at once.
pub type Batch = crate::batch::Batch<TrustWorld>;

/// The reset/step surface of this world as one object.
pub type TrustEnv = crate::protocol::Env<TrustWorld>;

/// The ledger of this world: one rate per [`Domain`].
pub type Ledger = crate::ledger::Ledger<{ Domain::COUNT }>;
