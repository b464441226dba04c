//! Actions in the typed form that an episode accepts.

use super::task::{GpuId, JobId};
use crate::named_enum;
use crate::slot::Slot;

/// An action of the scheduler (spec cluster §4). The environment chooses a field that is `None` by
/// rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// Places a queued job on a GPU and requests a worker's report on it.
    Allocate {
        /// The job to place; `None` selects the queued one with the earliest deadline.
        job: Option<JobId>,
        /// The GPU to use; `None` selects the one with the most free memory, as shown.
        gpu: Option<GpuId>,
        /// The worker; `None` selects one by high trust and few calls.
        worker: Option<Slot>,
    },
    /// Removes a job from its GPU.
    Preempt {
        /// The job to remove; `None` selects the running one whose worker has the lowest trust.
        job: Option<JobId>,
        /// A worker without effect on the outcome, but part of the action's identity when repeated
        /// actions are counted.
        worker: Option<Slot>,
    },
    /// Requests a report and believes it.
    RequestInfo {
        /// The running job to report on; `None` selects the one with the earliest deadline.
        job: Option<JobId>,
        /// The worker to ask; `None` selects the job's worker.
        worker: Option<Slot>,
    },
    /// Requests a report and checks it.
    Verify {
        /// The running job to check; `None` selects the one with the earliest deadline.
        job: Option<JobId>,
        /// The worker to ask; `None` selects the job's worker.
        worker: Option<Slot>,
        /// `true` if a report that proves correct should count as a false positive.
        force_flag: bool,
    },
    /// Lets one step pass without an action.
    Tick,
}

named_enum! {
    /// The five action types of the protocol.
    pub enum ActionType {
        /// Places a queued job on a GPU.
        Allocate = "allocate",
        /// Removes a job from its GPU.
        Preempt = "preempt",
        /// Requests a report and believes it.
        RequestInfo = "request_info",
        /// Requests a report and checks it.
        Verify = "verify",
        /// Lets one step pass.
        Tick = "tick",
    }
}

impl Action {
    /// Returns the action type of the protocol.
    #[must_use]
    pub const fn action_type(self) -> ActionType {
        match self {
            Self::Allocate { .. } => ActionType::Allocate,
            Self::Preempt { .. } => ActionType::Preempt,
            Self::RequestInfo { .. } => ActionType::RequestInfo,
            Self::Verify { .. } => ActionType::Verify,
            Self::Tick => ActionType::Tick,
        }
    }

    /// Returns the job that the action names, if any.
    #[must_use]
    pub const fn job(self) -> Option<JobId> {
        match self {
            Self::Allocate { job, .. }
            | Self::Preempt { job, .. }
            | Self::RequestInfo { job, .. }
            | Self::Verify { job, .. } => job,
            Self::Tick => None,
        }
    }

    /// Returns the GPU that the action names, if any.
    #[must_use]
    pub const fn gpu(self) -> Option<GpuId> {
        match self {
            Self::Allocate { gpu, .. } => gpu,
            _ => None,
        }
    }

    /// Returns the worker that the action names, if any.
    #[must_use]
    pub const fn worker(self) -> Option<Slot> {
        match self {
            Self::Allocate { worker, .. }
            | Self::Preempt { worker, .. }
            | Self::RequestInfo { worker, .. }
            | Self::Verify { worker, .. } => worker,
            Self::Tick => None,
        }
    }

    /// Returns a number that is equal for two actions exactly if loop counting treats them as the
    /// same: equal type, job, GPU and worker, as named (spec cluster §8.1).
    pub(crate) fn signature(self) -> u32 {
        let field = |named: Option<u8>| named.map_or(0, |n| u32::from(n) + 1);
        let job = field(self.job().map(|job| job.0));
        let gpu = field(self.gpu().map(|gpu| gpu.0));
        let worker = field(self.worker().map(|slot| slot.index() as u8));
        (self.action_type() as u32) << 27 | job << 18 | gpu << 9 | worker
    }
}

impl std::fmt::Display for Action {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.action_type().name())?;
        if let Some(job) = self.job() {
            write!(f, " {job}")?;
        }
        if let Some(gpu) = self.gpu() {
            write!(f, " on {gpu}")?;
        }
        if let Some(worker) = self.worker() {
            write!(f, " by {worker}")?;
        }
        Ok(())
    }
}
