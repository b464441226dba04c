//! Which job and which GPU.

use sentinel_env::cluster::{GpuId, GpuState, GpuView, Job, JobId, JobStatus, Observation};

use crate::cluster::evidence::odd_gpus;

/// A job that must start within so many steps comes before long ones.
const URGENT: f64 = 12.0;
/// How much longer the slow worker takes.
const SLOW: f64 = 2.0;

/// GPUs that are shown as idle, hold nothing and are not marked as tampered with.
pub(crate) fn idle_gpus(o: &Observation) -> impl Iterator<Item = GpuId> {
    let idle = |gpu: &GpuView| gpu.state == GpuState::Idle && gpu.used == 0 && !gpu.tampered;
    let gpus = (0..).map(GpuId).zip(o.gpus());
    gpus.filter(move |(_, gpu)| idle(gpu)).map(|(id, _)| id)
}

/// Steps that a job still needs, at `times` the time of a worker of full speed.
fn needs(job: &Job, times: f64) -> f64 {
    (f64::from(job.steps) * (1.0 - job.reported) * times).ceil()
}

/// The waiting job that must start first to be done in time; when none is urgent, the longest: long
/// jobs side by side are done sooner than one after the other. What cannot be done in time comes
/// last.
pub(crate) fn next(o: &Observation) -> Option<JobId> {
    let waiting = (o.jobs.iter()).filter(|(_, job)| job.status == JobStatus::Queued);
    let rank = |(id, job): (JobId, &Job)| {
        let needs = needs(job, 1.0);
        let slack = f64::from(job.deadline) - f64::from(o.step_count) - needs;
        let order = if slack < URGENT {
            slack
        } else {
            URGENT + 100.0 - needs
        };
        (slack < 0.0, order as i16, id)
    };
    waiting.map(rank).min().map(|(_, _, id)| id)
}

/// A running job that is shown as complete, or that sits on a GPU whose row does not add up: shown
/// as idle, or with more memory taken than its jobs have.
pub(crate) fn attacked(o: &Observation) -> Option<JobId> {
    let odd_gpus = odd_gpus(o);
    let odd =
        |job: &Job| job.reported >= 1.0 || job.placed.is_some_and(|gpu| odd_gpus[gpu.index()]);
    let mut running = o
        .jobs
        .iter()
        .filter(|(_, job)| job.status == JobStatus::Running);
    running.find(|(_, job)| odd(job)).map(|(id, _)| id)
}

/// The running job that is least far.
pub(crate) fn least_done(o: &Observation) -> Option<JobId> {
    let running = o
        .jobs
        .iter()
        .filter(|(_, job)| job.status == JobStatus::Running);
    running
        .min_by(|a, b| a.1.reported.total_cmp(&b.1.reported))
        .map(|(id, _)| id)
}

/// One of the running jobs by turns.
pub(super) fn running(o: &Observation, turn: usize) -> Option<JobId> {
    let count = usize::from(o.jobs.count(JobStatus::Running)).max(1);
    o.jobs
        .iter()
        .filter(|(_, job)| job.status == JobStatus::Running)
        .nth(turn % count)
        .map(|(id, _)| id)
}

/// Whether a job can be done in time by somebody slow.
pub(super) fn has_time(o: &Observation, id: JobId) -> bool {
    let fits = |job: &Job| f64::from(o.step_count) + needs(job, SLOW) <= f64::from(job.deadline);
    o.jobs.get(id).is_some_and(fits)
}
