//! The cluster world: jobs on failing GPUs, workers that lie, and an adversary that escalates.
//!
//! [`Episode`] is the hot path, a plain value whose `step` does not allocate. [`Session`] wraps
//! one with the reference's payloads, text, audit log and report. What a policy may read is an
//! [`Observation`]; what only scripted oracles may read is [`Hidden`].

mod act;
mod action;
mod advance;
mod adversary;
mod attack;
mod audit;
mod breakdown;
mod counters;
mod coverage;
mod episode;
mod fingerprint;
mod hidden;
mod id;
mod imagine;
mod jobs;
mod log;
mod observation;
mod payload;
mod pool;
mod prompt;
mod report;
mod request;
mod reward;
mod rules;
mod session;
mod setup;
mod size;
mod step;
mod summary;
mod terminal;
pub mod text;
mod trace;
mod worker;
mod world;

pub use crate::trust::Task;
pub use action::{Action, ActionError, ActionMessage, ActionType};
pub use adversary::{AdversaryState, Attack, AttackType, LEVEL_MAX, OPEN_STEPS, OpenAttack};
pub use audit::{Agent, Anomalies, Audit, ClaimKind};
pub use breakdown::{Breakdown, StepBreakdown};
pub use counters::{Counters, Tally};
pub use coverage::Coverage;
pub use episode::Episode;
pub use fingerprint::Fingerprints;
pub use hidden::Hidden;
pub use id::{GPUS_MAX, GpuId, JOBS_MAX, JobId};
pub use imagine::Hypothesis;
pub use jobs::{Job, JobStatus, Jobs};
pub use log::{ActionRow, AuditSnapshot, ClaimRow, Investigation};
pub use observation::{LastStep, Observation, Statement};
pub use payload::{
    GpuRow, JobRow, ObservationPayload, RewardPayload, StatePayload, StepInfo, StepResult,
    StreamPayload,
};
pub use pool::{GPU_MEMORY, Gpu, GpuState, GpuView, Pool, PoolTick, health, waste};
pub use prompt::scheduler_prompt;
pub use report::{AttackEvent, AttackPayload, Event, Metadata, ReportEvent, RewardReport};
pub use request::{MessageError, ResetRequest, UnknownTask};
pub use reward::{Grades, Reliability, RewardInput, freshness, grade, hack_resistance};
pub use rules::{Change, Rules};
pub use session::Session;
pub use setup::Setup;
pub use size::Size;
pub use step::{Step, StepError};
pub use summary::{ClusterSummary, JobsSummary, fingerprints, scenario_signature};
pub use terminal::{Terminal, TerminalInput, terminal};
pub use trace::{TraceFinal, TraceReset, TraceStep};
pub use worker::{Behaviour, Claimed, WorkerReport};
pub use world::ClusterWorld;

pub use crate::batch::BatchStep;

/// Many episodes of this world at once.
pub type Batch = crate::batch::Batch<ClusterWorld>;

/// The reset/step surface of this world as one object.
pub type ClusterEnv = crate::protocol::Env<ClusterWorld>;
