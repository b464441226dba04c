//! Features of one job.

use sentinel_env::cluster::{Behavior, GPU_MEMORY, Job, JobId, JobStatus};

use super::facts::ObservationFacts;
use crate::cluster::evidence::{honest_share, lie_count};
use crate::nn::{FeatureSchema, FeatureWriter};

/// Names of the features of one job, in order.
pub const SCHEMA: FeatureSchema = FeatureSchema::new(
    "job",
    &[
        "queued",
        "running",
        "running_unplaced",
        "memory",
        "steps",
        "steps_left",
        "progress",
        "reported_complete",
        "time_left",
        "slack",
        "late",
        "slack_below_half",
        "slack_below_many",
        "late_at_half_speed",
        "gpu_odd",
        "worker_honesty",
        "worker_lied",
        "worker_slow",
        "recent_actions",
        "acted_on_last",
        "believed_progress",
        "attack_suspected",
        "worker_may_lie",
        "worker_may_be_slow",
        "next_to_start",
    ],
);

/// Number of features of one job.
pub const PER_JOB: usize = SCHEMA.width();
const _: () = assert!(PER_JOB == 25, "a change needs a new feature version");

/// Divisor that scales numbers of steps to about unit size.
const MANY: f64 = 12.0;
/// Behaviors that can report more progress than there is.
const DISHONEST: [Behavior; 3] = [
    Behavior::Overreporter,
    Behavior::Adversarial,
    Behavior::Degrading,
];

pub(super) fn features(facts: &ObservationFacts<'_>, id: JobId, job: &Job) -> [f32; PER_JOB] {
    let (o, history) = (facts.o, facts.history);
    let mut row = FeatureWriter::new(&SCHEMA);
    let runs = job.status == JobStatus::Running;
    row.push_bool("queued", job.status == JobStatus::Queued);
    row.push_bool("running", runs);
    row.push_bool("running_unplaced", runs && job.placed.is_none());
    row.push("memory", f64::from(job.memory) / f64::from(GPU_MEMORY));
    row.push("steps", f64::from(job.steps) / MANY);
    let left = f64::from(job.steps) * (1.0 - job.reported);
    row.push("steps_left", left / MANY);
    row.push("progress", job.reported);
    row.push_bool("reported_complete", runs && job.reported >= 1.0);
    let time = f64::from(job.deadline) - f64::from(o.step_count);
    let slack = time - left;
    row.push("time_left", (time / MANY).clamp(-1.0, 4.0));
    row.push("slack", (slack / MANY).clamp(-1.0, 4.0));
    row.push_bool("late", slack < 0.0);
    row.push_bool("slack_below_half", slack < 0.5 * MANY);
    row.push_bool("slack_below_many", slack < MANY);
    row.push_bool("late_at_half_speed", time - 2.0 * left < 0.0);
    row.push_bool(
        "gpu_odd",
        job.placed.is_some_and(|gpu| facts.odd[gpu.index()]),
    );
    let worker = job.worker;
    row.push(
        "worker_honesty",
        worker.map_or(0.0, |slot| honest_share(o, slot)),
    );
    row.push_bool(
        "worker_lied",
        worker.is_some_and(|slot| lie_count(o, slot) > 0),
    );
    row.push_bool(
        "worker_slow",
        worker.is_some_and(|slot| history.speeds.slow[slot.index()] == Some(true)),
    );
    row.push(
        "recent_actions",
        history.recent_share(|action| action.job() == Some(id)),
    );
    row.push_bool(
        "acted_on_last",
        o.last.is_some_and(|last| last.action.job() == Some(id)),
    );
    row.push("believed_progress", facts.belief.progress(id));
    row.push_bool("attack_suspected", facts.attacked == Some(id));
    let probability = |behaviors: &[Behavior]| {
        let row = worker.map(|slot| &facts.posterior[slot.index()]);
        row.map_or(0.0, |row| behaviors.iter().map(|b| row[*b as usize]).sum())
    };
    row.push("worker_may_lie", probability(&DISHONEST));
    row.push("worker_may_be_slow", probability(&[Behavior::Slow]));
    row.push_bool("next_to_start", facts.next == Some(id));
    row.finish()
}
