//! Actions in the typed form that an episode takes.

use super::task::{GpuId, JobId};
use crate::named_enum;
use crate::slot::Slot;

/// What the scheduler does in one step (spec cluster §4). What is left out is chosen by rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// Put a queued job on a GPU and have a worker report on it.
    Allocate {
        /// The job; else the queued one with the earliest deadline.
        job: Option<JobId>,
        /// The GPU; else the one with most free memory, as shown.
        gpu: Option<GpuId>,
        /// The worker; else one chosen by trust and by how little it was called.
        worker: Option<Slot>,
    },
    /// Take a job off its GPU.
    Preempt {
        /// The job; else the running one whose worker is trusted least.
        job: Option<JobId>,
        /// Has no effect, but makes the action another one for the count of loops.
        worker: Option<Slot>,
    },
    /// Ask for a report and believe it.
    RequestInfo {
        /// A running job; else the one with the earliest deadline.
        job: Option<JobId>,
        /// Who is asked; else the job's worker.
        worker: Option<Slot>,
    },
    /// Ask for a report and check it.
    Verify {
        /// A running job; else the one with the earliest deadline.
        job: Option<JobId>,
        /// Who is asked; else the job's worker.
        worker: Option<Slot>,
        /// Whether a report that stands counts as a false alarm.
        force_flag: bool,
    },
    /// Let a step pass.
    Tick,
}

named_enum! {
    /// The five words of the protocol.
    pub enum ActionType {
        /// `allocate`
        Allocate = "allocate",
        /// `preempt`
        Preempt = "preempt",
        /// `request_info`
        RequestInfo = "request_info",
        /// `verify`
        Verify = "verify",
        /// `tick`
        Tick = "tick",
    }
}

impl Action {
    /// Returns the protocol's word.
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

    /// Returns the job that is named.
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

    /// Returns the GPU that is named.
    #[must_use]
    pub const fn gpu(self) -> Option<GpuId> {
        match self {
            Self::Allocate { gpu, .. } => gpu,
            _ => None,
        }
    }

    /// Returns the worker that is named.
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

    /// Returns a number that two actions share exactly when the count of loops takes them for the same:
    /// word, job, GPU and worker, as named (spec cluster §8.1).
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
