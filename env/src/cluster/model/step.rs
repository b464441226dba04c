//! The record of one step: its effects and its rewards.

use super::action::Action;
use super::attack::Attack;
use super::gpu_pool::PoolTick;
use super::task::{GpuId, JobId};
use crate::slot::Slot;

/// The reason why a step was refused. The episode is unchanged.
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
        /// Number of jobs in the task.
        jobs: u8,
    },
    /// The task has no such GPU.
    #[error("unknown gpu_id {gpu}: the task has {gpus} GPUs from GPU-00 on")]
    UnknownGpu {
        /// The GPU that was named.
        gpu: GpuId,
        /// Number of GPUs in the task.
        gpus: u8,
    },
}

/// The complete record of one step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// The action that was taken.
    pub action: Action,
    /// `true` if the action succeeded.
    pub success: bool,
    /// The attack of this step, if any.
    pub attack: Option<Attack>,
    /// The report that the action requested, if any.
    pub report: Option<WorkerReport>,
    /// `true` if a verification caught something.
    pub caught: bool,
    /// The job that a preemption chose, even if it was not on a GPU.
    pub preempted: Option<JobId>,
    /// Bit mask of the jobs that were completed.
    pub completed: u32,
    /// The GPU failures and recoveries of this step.
    pub tick: PoolTick,
    /// The reward of this step and its components.
    pub grades: Grades,
    /// `true` if the action was repeated too often.
    pub looped: bool,
    /// `true` if the action failed or did not serve the goal.
    pub drifted: bool,
    /// The terminal reward, if this step ended the episode.
    pub terminal: Option<TerminalReward>,
}

/// A recorded report with the true progress.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WorkerReport {
    /// The worker that reports.
    pub worker: Slot,
    /// The job that the report is about.
    pub job: JobId,
    /// Stated progress, 0..=1, three decimals.
    pub reported: f64,
    /// True progress, 0..=1, three decimals.
    pub actual: f64,
    /// Confidence stated with the report, 0..=1.
    pub confidence: f64,
    /// `true` if the stated progress is close enough to the true progress.
    pub honest: bool,
    /// `true` if the worker claims completion of a job that is not complete.
    pub false_completion: bool,
    /// Stakes of the job in this step, 0.10..=0.99, three decimals.
    pub stakes: f64,
    /// Number of reports by the degrading behavior so far, including this one if it is by that
    /// behavior.
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

/// Reliability scores of the scheduler itself, each 0..=1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reliability {
    /// 1 minus the number of loop events per step.
    pub loop_avoidance: f64,
    /// 1 minus the number of drift events per step.
    pub context_memory: f64,
    /// 1 minus the mean confidence gap of the slots.
    pub hallucination_resistance: f64,
    /// Variety of the behaviors in play and, in task3, of the attack types seen.
    pub freshness: f64,
    /// Weighted sum of the four scores.
    pub modifier: f64,
}

/// The terminal reward and its components, rounded as payloads show them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TerminalReward {
    /// Reward that is added to the total, 0.01..=0.99.
    pub reward: f64,
    /// Names and values of the components; the task determines their number.
    components: [(&'static str, f64); 5],
    len: u8,
}

impl TerminalReward {
    /// Creates a terminal reward with at most five components.
    pub(crate) fn new<const N: usize>(reward: f64, named: [(&'static str, f64); N]) -> Self {
        let mut components = [("", 0.0); 5];
        components[..N].copy_from_slice(&named);
        Self {
            reward,
            components,
            len: N as u8,
        }
    }

    /// Returns the components in payload order.
    #[must_use]
    pub fn components(&self) -> &[(&'static str, f64)] {
        &self.components[..usize::from(self.len)]
    }
}
