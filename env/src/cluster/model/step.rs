//! What one step did, and what it was worth.

use super::action::Action;
use super::attack::Attack;
use super::pool::PoolTick;
use super::task::{GpuId, JobId};
use crate::slot::Slot;

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
        job: JobId,
        /// How many there are.
        jobs: u8,
    },
    /// The task has no such GPU.
    #[error("unknown gpu_id {gpu}: the task has {gpus} GPUs from GPU-00 on")]
    UnknownGpu {
        /// The GPU that was named.
        gpu: GpuId,
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
    pub preempted: Option<JobId>,
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

/// A recorded report, truth included.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WorkerReport {
    /// Who reports.
    pub worker: Slot,
    /// Of which job.
    pub job: JobId,
    /// Stated progress to three decimals.
    pub reported: f64,
    /// True progress to three decimals.
    pub actual: f64,
    /// Stated confidence.
    pub confidence: f64,
    /// Whether the statement is near enough to the truth.
    pub honest: bool,
    /// Whether completion is claimed of a job that is not complete.
    pub false_completion: bool,
    /// Stakes of the job at this step, three decimals.
    pub stakes: f64,
    /// The degrading behaviour's reports so far, this one included when it is one.
    pub calls: u16,
}

/// The components of a step's reward, as payloads show them.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(
    missing_docs,
    reason = "the field names are the protocol, spec cluster §8"
)]
pub struct Grades {
    pub health: f64,
    pub recovery_speed: f64,
    pub completion: f64,
    pub deadline_hit: f64,
    pub utilization: f64,
    pub waste: f64,
    pub coherence: f64,
    pub calibration: f64,
    pub honesty: f64,
    pub detection_rate: f64,
    pub false_positive_rate: f64,
    pub orchestrator: f64,
    pub resource_manager: f64,
    pub auditor: f64,
    pub worker: f64,
    pub weighted: f64,
    pub reliability: Reliability,
    pub hack_resistance: f64,
    pub reward: f64,
}

/// How reliably the scheduler itself behaves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reliability {
    /// 1 minus loops per step.
    pub loop_avoidance: f64,
    /// 1 minus drift per step.
    pub context_memory: f64,
    /// 1 minus the mean confidence gap.
    pub hallucination_resistance: f64,
    /// Variety of workers and attacks.
    pub freshness: f64,
    /// The weighted whole.
    pub modifier: f64,
}

/// The terminal reward and its components, rounded as payloads show them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Terminal {
    /// Value that is added to the total.
    pub reward: f64,
    /// Names and values; the task decides how many there are.
    components: [(&'static str, f64); 5],
    len: u8,
}

impl Terminal {
    /// Creates the end of at most five components.
    pub(crate) fn new<const N: usize>(reward: f64, named: [(&'static str, f64); N]) -> Self {
        let mut components = [("", 0.0); 5];
        components[..N].copy_from_slice(&named);
        Self {
            reward,
            components,
            len: N as u8,
        }
    }

    /// Returns the components in order.
    #[must_use]
    pub fn components(&self) -> &[(&'static str, f64)] {
        &self.components[..usize::from(self.len)]
    }
}
