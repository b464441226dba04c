//! The plain types of the cluster world.

mod action;
mod attack;
mod audit;
mod gpu_pool;
mod hidden;
mod jobs;
mod observation;
mod setup;
mod state;
mod step;
mod task;

pub use action::{Action, ActionType};
pub(crate) use attack::MIN_ATTACK_GAP;
pub use attack::{
    AdversaryState, Attack, AttackType, DETECTION_WINDOW, MAX_ATTACK_LEVEL, UndetectedAttack,
};
pub(crate) use audit::ClaimKind;
pub use audit::{Agent, Anomalies, Audit};
pub(crate) use gpu_pool::{FORGED_FREE_MEMORY, health, waste};
pub use gpu_pool::{GPU_MEMORY, Gpu, GpuState, GpuView, Pool, PoolTick};
pub use hidden::{Behavior, Hidden};
pub use jobs::{Job, JobStatus, Jobs};
pub use observation::{Counters, LastStep, Observation, ReportView};
pub use setup::{Change, Rules, Setup};
pub(crate) use state::State;
pub use state::Tally;
pub use step::{Grades, Reliability, Step, StepError, TerminalReward, WorkerReport};
pub use task::{GPUS_MAX, GpuId, JOBS_MAX, JobId, Size};
