//! The job queue: how jobs are made, and what becomes of them (spec cluster §2, §4.6, §7).

use serde::Serialize;

use super::{GPUS_MAX, GpuId, JOBS_MAX, JobId, Size};
use crate::controller::DifficultyProfile;
use crate::rng::PyRandom;
use crate::slot::Slot;

/// Where a job stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum JobStatus {
    /// Waits for a GPU.
    #[default]
    Queued,
    /// Runs, or lost its GPU and goes on without (quirk C3).
    Running,
    /// Done in time.
    Complete,
    /// Never reached; the reference lists it.
    Failed,
    /// Passed its deadline.
    TimedOut,
}

impl JobStatus {
    /// All, in the order of counts.
    pub const ALL: [Self; 5] = [
        Self::Queued,
        Self::Running,
        Self::Complete,
        Self::Failed,
        Self::TimedOut,
    ];

    /// The word that payloads use.
    #[must_use]
    pub const fn name(self) -> &'static str {
        ["queued", "running", "complete", "failed", "timed_out"][self as usize]
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
    /// The how-many-th placement of the episode put it there; orders jobs on one GPU.
    pub(super) placement: u8,
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
    /// The queue that the stream `random` makes, and the hidden priorities (1..=5).
    pub(super) fn generate(
        size: &Size,
        profile: &DifficultyProfile,
        random: &mut PyRandom,
    ) -> (Self, [u8; JOBS_MAX]) {
        let (earliest, latest) = deadlines(size.max_steps, profile);
        let mut rows = [Job::default(); JOBS_MAX];
        let mut priorities = [0; JOBS_MAX];
        let both = rows.iter_mut().zip(&mut priorities);
        for (job, priority) in both.take(usize::from(size.jobs)) {
            *priority = random.randint(1, 5) as u8;
            job.memory = random.randint(10, 75) as u8;
            job.steps = random.randint(2, 12) as u8;
            job.deadline = random.randint(earliest, latest) as u8;
            job.owner = random.randint(1, 4) as u8;
        }
        let jobs = Self {
            rows,
            len: size.jobs,
            counts: [size.jobs, 0, 0, 0, 0],
            masks: [(1 << size.jobs) - 1, 0, 0, 0, 0],
        };
        (jobs, priorities)
    }

    /// All jobs in the order of their names.
    #[must_use]
    pub fn rows(&self) -> &[Job] {
        &self.rows[..usize::from(self.len)]
    }

    /// Every job with its name.
    pub fn iter(&self) -> impl Iterator<Item = (JobId, &Job)> {
        (0..self.len).map(JobId).zip(self.rows())
    }

    /// The job of that name, if the task has it.
    #[must_use]
    pub fn get(&self, id: JobId) -> Option<&Job> {
        self.rows().get(id.index())
    }

    /// Memory of the jobs that sit on each GPU.
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

    /// How many jobs there are in each of [`JobStatus::ALL`].
    #[must_use]
    pub const fn counts(&self) -> [u8; 5] {
        self.counts
    }

    /// How many jobs have this status.
    #[must_use]
    pub const fn count(&self, status: JobStatus) -> u8 {
        self.counts[status as usize]
    }

    /// Complete over all jobs.
    #[must_use]
    pub fn completion(&self) -> f64 {
        f64::from(self.count(JobStatus::Complete)) / f64::from(self.len)
    }

    /// Complete in time over all complete jobs; 0 without any. A job past its deadline times out
    /// before it could be complete, so this is 1 from the first complete job on.
    #[must_use]
    pub const fn deadline_hit(&self) -> f64 {
        if self.count(JobStatus::Complete) == 0 {
            0.0
        } else {
            1.0
        }
    }

    /// Jobs that wait or run and whose deadline is at most 10 steps away.
    pub fn pressing(&self, step: u8) -> impl Iterator<Item = JobId> {
        self.iter()
            .filter(move |(_, job)| {
                let open = matches!(job.status, JobStatus::Queued | JobStatus::Running);
                open && (step..=step.saturating_add(10)).contains(&job.deadline)
            })
            .map(|(id, _)| id)
    }

    /// The queued job with the earliest deadline, then the most memory; the first of equals.
    #[must_use]
    pub fn next_queued(&self) -> Option<JobId> {
        self.first_by(JobStatus::Queued, |job| {
            u32::from(job.deadline) << 8 | u32::from(u8::MAX - job.memory)
        })
    }

    /// The running job with the earliest deadline; the first of equals.
    #[must_use]
    pub fn most_urgent_running(&self) -> Option<JobId> {
        self.first_by(JobStatus::Running, |job| u32::from(job.deadline))
    }

    /// The job of that status with the smallest key of at most 16 bits, the first of equals. The
    /// number rides along in the key, so that the search has no branch to mispredict.
    fn first_by(&self, status: JobStatus, key: impl Fn(&Job) -> u32) -> Option<JobId> {
        let keys = self
            .with(status)
            .map(|id| key(&self.rows[id.index()]) << 8 | u32::from(id.0));
        keys.min().map(|key| JobId(key as u8))
    }

    /// The jobs that have this status now, in the order of their names.
    pub(super) fn with(&self, status: JobStatus) -> impl Iterator<Item = JobId> + use<> {
        let mut mask = self.masks[status as usize];
        std::iter::from_fn(move || {
            let id = (mask != 0).then(|| JobId(mask.trailing_zeros() as u8));
            mask &= mask.wrapping_sub(1);
            id
        })
    }

    pub(super) fn set_status(&mut self, id: JobId, status: JobStatus) {
        let job = &mut self.rows[id.index()];
        self.counts[job.status as usize] -= 1;
        self.counts[status as usize] += 1;
        self.masks[job.status as usize] &= !(1 << id.0);
        self.masks[status as usize] |= 1 << id.0;
        job.status = status;
    }

    pub(super) fn get_mut(&mut self, id: JobId) -> &mut Job {
        &mut self.rows[id.index()]
    }
}

/// The range of deadlines, in steps (spec cluster §2).
fn deadlines(max_steps: u8, profile: &DifficultyProfile) -> (u32, u32) {
    let steps = u32::from(max_steps);
    let earliest = (steps / 5).max(8);
    if !profile.adaptive {
        return (earliest, steps);
    }
    let shortened = f64::from(steps) * (1.0 - 0.20 * profile.high_stakes_ratio);
    (earliest, (steps / 3).max(8).max(shortened as u32))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trust::Task;

    #[test]
    fn a_harder_curriculum_shortens_deadlines() {
        let hard = DifficultyProfile {
            adaptive: true,
            high_stakes_ratio: 0.80,
            ..DifficultyProfile::default()
        };
        assert_eq!(deadlines(120, &DifficultyProfile::default()), (24, 120));
        assert_eq!(deadlines(120, &hard), (24, 100));
        assert_eq!(deadlines(30, &DifficultyProfile::default()), (8, 30));
    }

    #[test]
    fn counts_follow_every_change() {
        let size = Size::of(Task::Task1);
        let profile = DifficultyProfile::default();
        let (mut jobs, priorities) = Jobs::generate(&size, &profile, &mut PyRandom::new(0));
        assert_eq!((jobs.rows()[0].memory, priorities[0]), (63, 4));
        jobs.set_status(JobId(3), JobStatus::Running);
        jobs.set_status(JobId(3), JobStatus::Complete);
        assert_eq!(jobs.counts(), [9, 0, 1, 0, 0]);
        assert_eq!(jobs.completion(), 0.1);
        assert_eq!(jobs.with(JobStatus::Queued).nth(3), Some(JobId(4)));
    }
}
