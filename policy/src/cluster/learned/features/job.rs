//! What is known of one job.

use sentinel_env::cluster::{Job, JobId, JobStatus, Observation};

use super::super::history::History;
use crate::cluster::evidence::{honesty, lies};
use crate::learned::Row;

/// Features of one job.
pub const PER_JOB: usize = 20;

/// Steps that count as many.
const MANY: f64 = 12.0;

pub(super) fn features(
    id: JobId,
    job: &Job,
    odd: bool,
    o: &Observation,
    history: &History,
) -> [f32; PER_JOB] {
    let mut row = Row::new();
    let runs = job.status == JobStatus::Running;
    row.flag(job.status == JobStatus::Queued);
    row.flag(runs);
    row.flag(runs && job.placed.is_none());
    row.push(f64::from(job.memory) / 80.0);
    row.push(f64::from(job.steps) / MANY);
    let left = f64::from(job.steps) * (1.0 - job.reported);
    row.push(left / MANY);
    row.push(job.reported);
    row.flag(runs && job.reported >= 1.0);
    let time = f64::from(job.deadline) - f64::from(o.step_count);
    let slack = time - left;
    row.push((time / MANY).clamp(-1.0, 4.0));
    row.push((slack / MANY).clamp(-1.0, 4.0));
    row.flag(slack < 0.0);
    row.flag(slack < 0.5 * MANY);
    row.flag(slack < MANY);
    row.flag(time - 2.0 * left < 0.0);
    row.flag(odd);
    let worker = job.worker;
    row.push(worker.map_or(0.0, |slot| honesty(o, slot)));
    row.flag(worker.is_some_and(|slot| lies(o, slot) > 0));
    row.flag(worker.is_some_and(|slot| history.speeds.slow[slot.index()] == Some(true)));
    row.push(history.share(|action| action.job() == Some(id)));
    row.flag(o.last.is_some_and(|last| last.action.job() == Some(id)));
    row.finish()
}
