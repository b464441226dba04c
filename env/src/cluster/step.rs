//! What one step did.

use super::{Action, Attack, Grades, PoolTick, Terminal, WorkerReport};

/// Why a step was refused. The episode is as it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StepError {
    /// The episode has ended.
    #[error("the episode has ended: reset before the next step")]
    Over,
    /// The task has no such job.
    #[error("unknown job_id {job}: the task has {jobs} jobs from JOB-000 on")]
    UnknownJob {
        /// The job that was named.
        job: super::JobId,
        /// How many there are.
        jobs: u8,
    },
    /// The task has no such GPU.
    #[error("unknown gpu_id {gpu}: the task has {gpus} GPUs from GPU-00 on")]
    UnknownGpu {
        /// The GPU that was named.
        gpu: super::GpuId,
        /// How many there are.
        gpus: u8,
    },
}

/// Everything that one step did.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// What was done.
    pub action: Action,
    /// Whether it did what it was meant to.
    pub success: bool,
    /// The attack of this step.
    pub attack: Option<Attack>,
    /// The report that the action led to.
    pub report: Option<WorkerReport>,
    /// Whether a verification caught something.
    pub caught: bool,
    /// The job that was preempted, on a GPU or not.
    pub preempted: Option<super::JobId>,
    /// Jobs that were completed, one bit each.
    pub completed: u32,
    /// What happened to the pool.
    pub tick: PoolTick,
    /// Components and reward of this step.
    pub grades: Grades,
    /// Whether the action was one too many of the same.
    pub looped: bool,
    /// Whether the action did not serve the goal.
    pub drifted: bool,
    /// The end, when this step ended the episode.
    pub terminal: Option<Terminal>,
}
