//! The job queue (spec cluster §2, §4, §7).

use super::task::{GPUS_MAX, GpuId, JOBS_MAX, JobId};
use crate::named_enum;
use crate::slot::Slot;

named_enum! {
    /// The status of a job.
    #[derive(Default)]
    pub enum JobStatus {
        /// Waiting for a GPU.
        #[default]
        Queued = "queued",
        /// Running, possibly without a GPU after its GPU failed (quirk C3).
        Running = "running",
        /// Completed within its deadline.
        Complete = "complete",
        /// Never reached, but listed by the reference.
        Failed = "failed",
        /// Stopped because its deadline passed.
        TimedOut = "timed_out",
    }
}

/// The public part of a job.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct Job {
    /// Memory that the job needs, in units of a GPU's 80.
    pub memory: u8,
    /// Number of steps that a full-speed worker needs.
    pub steps: u8,
    /// Last step in which the job may run.
    pub deadline: u8,
    /// Number of the team that owns the job, 1..=4.
    pub owner: u8,
    /// The status of the job.
    pub status: JobStatus,
    /// The GPU shown in the job's row while it runs.
    pub assigned: Option<GpuId>,
    /// The GPU whose memory the job holds. Under the reference's rules, a job keeps it after timing
    /// out (quirk C2).
    pub placed: Option<GpuId>,
    /// The worker assigned to the job.
    pub worker: Option<Slot>,
    /// Progress shown in the queue, 0..=1. An attack may have set it to 1.
    pub reported: f64,
    /// The step in which the job was completed.
    pub completed_at: Option<u8>,
    /// Number of placements in the episode before this one, which orders the jobs on a GPU.
    pub(crate) placement: u8,
}

/// All jobs of an episode, with counts by status.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Jobs {
    rows: [Job; JOBS_MAX],
    len: u8,
    counts: [u8; 5],
    /// Bit mask of the jobs in each status, so that a step visits only the jobs it needs.
    masks: [u32; 5],
}

impl Jobs {
    /// Creates a queue of `len` jobs, all of them waiting.
    pub(crate) const fn new(rows: [Job; JOBS_MAX], len: u8) -> Self {
        Self {
            rows,
            len,
            counts: [len, 0, 0, 0, 0],
            masks: [(1 << len) - 1, 0, 0, 0, 0],
        }
    }

    /// Returns all jobs, in order of their ids.
    #[must_use]
    pub fn rows(&self) -> &[Job] {
        &self.rows[..usize::from(self.len)]
    }

    /// Iterates over all jobs with their ids.
    pub fn iter(&self) -> impl Iterator<Item = (JobId, &Job)> {
        (0..self.len).map(JobId).zip(self.rows())
    }

    /// Returns the job with this id, or `None` if the task does not have it.
    #[must_use]
    pub fn get(&self, id: JobId) -> Option<&Job> {
        self.rows().get(id.index())
    }

    /// Returns the total memory of the jobs on each GPU.
    #[must_use]
    pub fn memory_by_gpu(&self) -> [u16; GPUS_MAX] {
        let mut held = [0; GPUS_MAX];
        for job in self.rows() {
            if let Some(gpu) = job.placed {
                held[gpu.index()] += u16::from(job.memory);
            }
        }
        held
    }

    /// Returns the number of jobs in each status, in the order of [`JobStatus::ALL`].
    #[must_use]
    pub const fn counts(&self) -> [u8; 5] {
        self.counts
    }

    /// Returns the number of jobs with this status.
    #[must_use]
    pub const fn count(&self, status: JobStatus) -> u8 {
        self.counts[status as usize]
    }

    /// Returns the fraction of jobs that are complete, 0..=1.
    #[must_use]
    pub fn completion_rate(&self) -> f64 {
        f64::from(self.count(JobStatus::Complete)) / f64::from(self.len)
    }

    /// Returns the fraction of completed jobs that met their deadline, or 0 without any. Jobs past
    /// their deadline time out before they could complete, so the fraction is 1 from the first
    /// completed job on.
    #[must_use]
    pub const fn deadline_hit_rate(&self) -> f64 {
        if self.count(JobStatus::Complete) == 0 {
            0.0
        } else {
            1.0
        }
    }

    /// Iterates over the queued and running jobs whose deadline is at most 10 steps away.
    pub fn near_deadline(&self, step: u8) -> impl Iterator<Item = JobId> {
        self.iter()
            .filter(move |(_, job)| {
                let open = matches!(job.status, JobStatus::Queued | JobStatus::Running);
                open && (step..=step.saturating_add(10)).contains(&job.deadline)
            })
            .map(|(id, _)| id)
    }

    /// Returns the queued job with the earliest deadline, then the most memory, then the lowest id.
    #[must_use]
    pub fn next_queued(&self) -> Option<JobId> {
        self.first_by(JobStatus::Queued, |job| {
            u32::from(job.deadline) << 8 | u32::from(u8::MAX - job.memory)
        })
    }

    /// Returns the running job with the earliest deadline, the first one on ties.
    #[must_use]
    pub fn most_urgent_running(&self) -> Option<JobId> {
        self.first_by(JobStatus::Running, |job| u32::from(job.deadline))
    }

    /// Returns the job of that status with the smallest key of at most 16 bits, the first one on
    /// ties. The id is packed into the key, so the search has no unpredictable branch.
    fn first_by(&self, status: JobStatus, key: impl Fn(&Job) -> u32) -> Option<JobId> {
        let keys = self
            .ids_by_status(status)
            .map(|id| key(&self.rows[id.index()]) << 8 | u32::from(id.0));
        keys.min().map(|key| JobId(key as u8))
    }

    /// Iterates over the jobs that have this status at the time of the call, in order of their ids.
    pub(crate) fn ids_by_status(&self, status: JobStatus) -> impl Iterator<Item = JobId> + use<> {
        let mut mask = self.masks[status as usize];
        std::iter::from_fn(move || {
            let id = (mask != 0).then(|| JobId(mask.trailing_zeros() as u8));
            mask &= mask.wrapping_sub(1);
            id
        })
    }

    pub(crate) fn set_status(&mut self, id: JobId, status: JobStatus) {
        let job = &mut self.rows[id.index()];
        self.counts[job.status as usize] -= 1;
        self.counts[status as usize] += 1;
        self.masks[job.status as usize] &= !(1 << id.0);
        self.masks[status as usize] |= 1 << id.0;
        job.status = status;
    }

    pub(crate) fn get_mut(&mut self, id: JobId) -> &mut Job {
        &mut self.rows[id.index()]
    }
}
