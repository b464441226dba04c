//! The cluster world: jobs on failing GPUs, workers that lie, and an adversary that escalates.
//!
//! [`Episode`] is the hot path, a plain value whose `step` does not allocate. [`Session`] wraps an
//! episode and adds the reference's payloads, text and report. Policies may read an
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
pub use dynamics::{Hypothesis, WorkerClaim};
pub use episode::Episode;
pub use model::{
    Action, ActionType, AdversaryState, Agent, Anomalies, Attack, AttackType, Audit, Behavior,
    Change, Counters, DETECTION_WINDOW, GPU_MEMORY, GPUS_MAX, Gpu, GpuId, GpuState, GpuView,
    Grades, Hidden, JOBS_MAX, Job, JobId, JobStatus, Jobs, LastStep, MAX_ATTACK_LEVEL, Observation,
    Pool, PoolTick, Reliability, ReportView, Rules, Setup, Size, Step, StepError, Tally,
    TerminalReward, UndetectedAttack, WorkerReport,
};
pub use protocol::{
    ActionError, ActionMessage, ActionRecord, AttackEvent, AttackPayload, AttackRow, AuditLog,
    Breakdown, ClaimRecord, ClusterMission, ClusterSummary, Counts, Event, EventLog, FailureModes,
    GpuRow, Investigation, JobRow, JobsSummary, MessageError, Metadata, ObservationPayload,
    ReportEvent, ReportedProgress, ResetRequest, RewardPayload, RewardReport, Session,
    StatePayload, StepBreakdown, StepInfo, StepResult, StreamPayload, TraceFinal, TraceReset,
    TraceStep, UnknownTask, scheduler_prompt, text,
};

/// The environment of this world, under a name that is unambiguous next to other worlds.
pub type ClusterEnv = Episode;
