//! Limits of single jobs, and of the number of jobs that can be complete at a step.

use sentinel_env::Environment as _;
use sentinel_env::PrivilegedState as _;
use sentinel_env::cluster::{Behavior, Change, Episode, Job, JobId, JobStatus, Size};

/// The limits of a queued or running job.
#[derive(Clone, Copy, Debug)]
pub(super) struct JobLimits {
    /// Memory that the job needs.
    pub(super) memory: f64,
    /// Last step in which the job may run.
    pub(super) deadline: u8,
    /// `true` if the job is running, so that it needs no action to start.
    pub(super) is_running: bool,
    /// Smallest number of steps that the job runs until it is complete.
    pub(super) steps: u8,
    /// Largest number of steps after which the job can hold memory without being complete or timed
    /// out.
    pub(super) held: u16,
}

impl JobLimits {
    /// Returns the limits of the jobs of `episode` that are queued or running.
    pub(super) fn from_episode(episode: &Episode) -> Vec<Self> {
        let (o, hidden) = (episode.observation(), episode.hidden());
        let slow = hidden.assignment.0.contains(&Behavior::Slow);
        // An attack can halt all jobs while they hold memory.
        let can_halt = Size::for_task(o.task).adversary && o.rules.has(Change::Escalation);
        let limits = |(id, job): (JobId, &Job)| {
            let progress = hidden.progress_of(id);
            let slowest = steps_to_complete(progress, if slow { 0.5 } else { 1.0 }, job.steps);
            Self {
                memory: f64::from(job.memory),
                deadline: job.deadline,
                is_running: job.status == JobStatus::Running,
                steps: steps_to_complete(progress, 1.0, job.steps) as u8,
                held: if can_halt { u16::MAX } else { slowest - 1 },
            }
        };
        let is_open = |job: &Job| matches!(job.status, JobStatus::Queued | JobStatus::Running);
        let open = o.jobs.iter().filter(|(_, job)| is_open(job));
        open.map(limits).collect()
    }

    /// Returns the last step in which a job that is complete at `step` can have started; 0 if there is
    /// none.
    fn latest_start(&self, step: u8) -> u8 {
        (self.deadline.min(step) + 1).saturating_sub(self.steps)
    }
}

/// Returns the number of steps until a job is complete, as the environment adds them up. The sum of other
/// speeds that are never above `speed` is never larger, also after rounding.
fn steps_to_complete(progress: f64, speed: f64, steps: u8) -> u16 {
    let (mut progress, mut count) = (progress, 0);
    loop {
        progress += speed / f64::from(steps);
        count += 1;
        if progress >= 1.0 {
            return count;
        }
    }
}

/// Returns the largest number of `jobs` that can be complete at `step` if one job can start in each step
/// after `now`.
///
/// A job must start early enough to be complete in time. Jobs are taken by their latest start, and a job
/// is left out if all steps up to its latest start are taken, which is optimal for jobs that count the
/// same.
pub(super) fn most_complete(jobs: &[JobLimits], now: u8, step: u8) -> u8 {
    let (running, queued): (Vec<_>, Vec<_>) = jobs.iter().partition(|job| job.is_running);
    let in_time = |job: &&&JobLimits| job.latest_start(step) > now;
    let running = running.iter().filter(in_time).count();
    let mut starts: Vec<u8> = (queued.iter().filter(in_time))
        .map(|job| job.latest_start(step) - now)
        .collect();
    starts.sort_unstable();
    let started = starts
        .iter()
        .fold(0, |taken, latest| taken + u8::from(taken < *latest));
    running as u8 + started
}
