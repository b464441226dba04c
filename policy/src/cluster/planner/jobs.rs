//! Selection of jobs and GPUs.

use sentinel_env::cluster::{GpuId, GpuState, GpuView, Job, JobId, JobStatus, Observation};

use crate::cluster::evidence::inconsistent_gpus;

/// Slack, in steps, below which a job takes precedence over longer jobs.
const URGENT: f64 = 12.0;
/// Factor by which the slow worker takes longer.
const SLOW: f64 = 2.0;

/// Returns the GPUs that are shown as idle, hold no memory and are not marked as tampered with.
pub(crate) fn idle_gpus(o: &Observation) -> impl Iterator<Item = GpuId> {
    let idle = |gpu: &GpuView| gpu.state == GpuState::Idle && gpu.used == 0 && !gpu.tampered;
    let gpus = (0..).map(GpuId).zip(o.gpus());
    gpus.filter(move |(_, gpu)| idle(gpu)).map(|(id, _)| id)
}

/// Returns the steps that a job still needs, for a worker that takes `times` as long as one of full
/// speed.
fn needs(job: &Job, times: f64) -> f64 {
    (f64::from(job.steps) * (1.0 - job.reported) * times).ceil()
}

/// Returns the queued job to start next: the one with the least slack, or the longest one if none
/// is urgent, because long jobs finish sooner in parallel than one after another. Jobs that cannot
/// meet their deadline come last.
pub(crate) fn next_to_start(o: &Observation) -> Option<JobId> {
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

/// Returns a running job with a visible sign of an attack: it is shown as complete, or its GPU's
/// row is inconsistent, see [`inconsistent_gpus`].
pub(crate) fn suspected_attack(o: &Observation) -> Option<JobId> {
    let inconsistent_gpus = inconsistent_gpus(o);
    let odd = |job: &Job| {
        job.reported >= 1.0 || job.placed.is_some_and(|gpu| inconsistent_gpus[gpu.index()])
    };
    let mut running = o
        .jobs
        .iter()
        .filter(|(_, job)| job.status == JobStatus::Running);
    running.find(|(_, job)| odd(job)).map(|(id, _)| id)
}

/// Returns the running job with the least progress.
pub(crate) fn least_progressed(o: &Observation) -> Option<JobId> {
    let running = o
        .jobs
        .iter()
        .filter(|(_, job)| job.status == JobStatus::Running);
    running
        .min_by(|a, b| a.1.reported.total_cmp(&b.1.reported))
        .map(|(id, _)| id)
}

/// Returns the running jobs in rotation, by `turn`.
pub(super) fn running_in_rotation(o: &Observation, turn: usize) -> Option<JobId> {
    let count = usize::from(o.jobs.count(JobStatus::Running)).max(1);
    o.jobs
        .iter()
        .filter(|(_, job)| job.status == JobStatus::Running)
        .nth(turn % count)
        .map(|(id, _)| id)
}

/// Returns `true` if a slow worker can complete the job before its deadline.
pub(super) fn has_time(o: &Observation, id: JobId) -> bool {
    let fits = |job: &Job| f64::from(o.step_count) + needs(job, SLOW) <= f64::from(job.deadline);
    o.jobs.get(id).is_some_and(fits)
}
