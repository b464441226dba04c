//! The job queue (spec cluster §2, §4, §7).

use super::task::{GPUS_MAX, GpuId, JOBS_MAX, JobId};
use crate::named_enum;
use crate::slot::Slot;

named_enum! {
    /// Where a job stands.
    #[derive(Default)]
    pub enum JobStatus {
        /// Waits for a GPU.
        #[default]
        Queued = "queued",
        /// Runs, or lost its GPU and goes on without (quirk C3).
        Running = "running",
        /// Done in time.
        Complete = "complete",
        /// Never reached; the reference lists it.
        Failed = "failed",
        /// Passed its deadline.
        TimedOut = "timed_out",
    }
}

/// What everybody can see of a job.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct Job {
    /// Memory that it takes, of the 80 that a GPU has.
    pub memory: u8,
    /// Steps that a worker of full speed needs.
    pub steps: u8,
    /// Last step at which it may run.
    pub deadline: u8,
    /// Team `1..=4`.
    pub owner: u8,
    /// Where it stands.
    pub status: JobStatus,
    /// The GPU that its row names, while it runs.
    pub assigned: Option<GpuId>,
    /// The GPU whose memory it holds, also after it has timed out (quirk C2).
    pub placed: Option<GpuId>,
    /// Who works on it.
    pub worker: Option<Slot>,
    /// Progress as the queue shows it, 0..1. An attack may have set it to 1.
    pub reported: f64,
    /// The step at which it was complete.
    pub completed_at: Option<u8>,
    /// Number of placements in the episode before it was put there; orders jobs on one GPU.
    pub(crate) placement: u8,
}

/// All jobs of an episode, and how many there are in each status.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Jobs {
    rows: [Job; JOBS_MAX],
    len: u8,
    counts: [u8; 5],
    /// One bit per job for each status, so that a step visits only the jobs that it must.
    masks: [u32; 5],
}

impl Jobs {
    /// Creates a queue of `len` rows that all wait.
    pub(crate) const fn new(rows: [Job; JOBS_MAX], len: u8) -> Self {
        Self {
            rows,
            len,
            counts: [len, 0, 0, 0, 0],
            masks: [(1 << len) - 1, 0, 0, 0, 0],
        }
    }

    /// Returns all jobs in the order of their names.
    #[must_use]
    pub fn rows(&self) -> &[Job] {
        &self.rows[..usize::from(self.len)]
    }

    /// Iterates over every job with its name.
    pub fn iter(&self) -> impl Iterator<Item = (JobId, &Job)> {
        (0..self.len).map(JobId).zip(self.rows())
    }

    /// Returns the job of that name, if the task has it.
    #[must_use]
    pub fn get(&self, id: JobId) -> Option<&Job> {
        self.rows().get(id.index())
    }

    /// Returns the memory of the jobs that sit on each GPU.
    #[must_use]
    pub fn held(&self) -> [u16; GPUS_MAX] {
        let mut held = [0; GPUS_MAX];
        for job in self.rows() {
            if let Some(gpu) = job.placed {
                held[gpu.index()] += u16::from(job.memory);
            }
        }
        held
    }

    /// Returns how many jobs there are in each of [`JobStatus::ALL`].
    #[must_use]
    pub const fn counts(&self) -> [u8; 5] {
        self.counts
    }

    /// Returns how many jobs have this status.
    #[must_use]
    pub const fn count(&self, status: JobStatus) -> u8 {
        self.counts[status as usize]
    }

    /// Returns complete over all jobs.
    #[must_use]
    pub fn completion(&self) -> f64 {
        f64::from(self.count(JobStatus::Complete)) / f64::from(self.len)
    }

    /// Returns complete in time over all complete jobs; 0 without any. A job past its deadline times out
    /// before it could be complete, so this is 1 from the first complete job on.
    #[must_use]
    pub const fn deadline_hit(&self) -> f64 {
        if self.count(JobStatus::Complete) == 0 {
            0.0
        } else {
            1.0
        }
    }

    /// Iterates over the jobs that wait or run and whose deadline is at most 10 steps away.
    pub fn pressing(&self, step: u8) -> impl Iterator<Item = JobId> {
        self.iter()
            .filter(move |(_, job)| {
                let open = matches!(job.status, JobStatus::Queued | JobStatus::Running);
                open && (step..=step.saturating_add(10)).contains(&job.deadline)
            })
            .map(|(id, _)| id)
    }

    /// Returns the queued job with the earliest deadline, then the most memory; the first of equals.
    #[must_use]
    pub fn next_queued(&self) -> Option<JobId> {
        self.first_by(JobStatus::Queued, |job| {
            u32::from(job.deadline) << 8 | u32::from(u8::MAX - job.memory)
        })
    }

    /// Returns the running job with the earliest deadline; the first of equals.
    #[must_use]
    pub fn most_urgent_running(&self) -> Option<JobId> {
        self.first_by(JobStatus::Running, |job| u32::from(job.deadline))
    }

    /// Returns the job of that status with the smallest key of at most 16 bits, the first of equals. The
    /// number rides along in the key, so that the search has no branch to mispredict.
    fn first_by(&self, status: JobStatus, key: impl Fn(&Job) -> u32) -> Option<JobId> {
        let keys = self
            .with(status)
            .map(|id| key(&self.rows[id.index()]) << 8 | u32::from(id.0));
        keys.min().map(|key| JobId(key as u8))
    }

    /// Iterates over the jobs that have this status now, in the order of their names.
    pub(crate) fn with(&self, status: JobStatus) -> impl Iterator<Item = JobId> + use<> {
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
