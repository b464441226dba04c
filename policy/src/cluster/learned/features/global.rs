//! Features of the cluster as a whole.

use sentinel_env::cluster::{ActionType, GpuState, JobStatus, MAX_ATTACK_LEVEL, Observation, Task};

use super::super::history::History;
use crate::nn::{FeatureSchema, FeatureWriter};

/// Names of the global features, in order.
pub const SCHEMA: FeatureSchema = FeatureSchema::new(
    "global",
    &[
        "task=task1",
        "task=task2",
        "task=task3",
        "steps_used",
        "jobs_queued",
        "jobs_running",
        "jobs_complete",
        "jobs_timed_out",
        "any_queued",
        "any_running",
        "gpus_idle",
        "gpus_overloaded",
        "gpus_down",
        "health",
        "utilization",
        "attacks_undetected",
        "any_attack_undetected",
        "any_detection",
        "poisonings",
        "detection_rate",
        "attack_now",
        "attack_open",
        "attack_types",
        "anomaly_max",
        "last=allocate",
        "last=preempt",
        "last=request_info",
        "last=verify",
        "last=tick",
        "last_success",
        "last_action_share",
        "loops_and_drift",
    ],
);

/// Number of global features.
pub const GLOBAL: usize = SCHEMA.width();
const _: () = assert!(GLOBAL == 32, "a change needs a new feature version");

/// Divisor that scales numbers of attacks to about unit size.
const MANY: f64 = 5.0;

pub(super) fn features(o: &Observation, history: &History) -> [f32; GLOBAL] {
    let mut row = FeatureWriter::new(&SCHEMA);
    row.push_one_hot(
        "task",
        Task::ALL.len(),
        Task::ALL.iter().position(|task| *task == o.task),
    );
    row.push(
        "steps_used",
        f64::from(o.step_count) / f64::from(o.max_steps),
    );
    let jobs = o.jobs.rows().len() as f64;
    for (name, status) in [
        ("jobs_queued", JobStatus::Queued),
        ("jobs_running", JobStatus::Running),
        ("jobs_complete", JobStatus::Complete),
        ("jobs_timed_out", JobStatus::TimedOut),
    ] {
        row.push(name, f64::from(o.jobs.count(status)) / jobs);
    }
    row.push_bool("any_queued", o.jobs.count(JobStatus::Queued) > 0);
    row.push_bool("any_running", o.jobs.count(JobStatus::Running) > 0);
    pool(&mut row, o);
    attacks(&mut row, o, history);
    last_step(&mut row, o, history);
    row.finish()
}

/// Writes the features of the GPU pool: shares of GPUs by state, health and utilization.
fn pool(row: &mut FeatureWriter<[f32; GLOBAL]>, o: &Observation) {
    let gpus = o.gpus().len() as f64;
    let share = |states: &[GpuState]| {
        let count = o
            .gpus()
            .iter()
            .filter(|gpu| states.contains(&gpu.state))
            .count();
        count as f64 / gpus
    };
    row.push("gpus_idle", share(&[GpuState::Idle]));
    row.push("gpus_overloaded", share(&[GpuState::Overloaded]));
    row.push(
        "gpus_down",
        share(&[GpuState::Failed, GpuState::Recovering]),
    );
    row.push("health", o.health);
    row.push("utilization", o.utilization);
}

/// Writes the features of attacks and detections.
fn attacks(row: &mut FeatureWriter<[f32; GLOBAL]>, o: &Observation, history: &History) {
    let c = &o.counters;
    let behind = f64::from(c.attempts) - f64::from(c.detections);
    row.push("attacks_undetected", (behind / MANY).clamp(-2.0, 2.0));
    row.push_bool("any_attack_undetected", c.attempts > c.detections);
    row.push_bool("any_detection", c.detections > 0);
    row.push("poisonings", (f64::from(c.poisonings) / MANY).min(2.0));
    row.push("detection_rate", o.detection_rate().min(2.0));
    let alarm = history.steps_since_open_attack();
    row.push_bool("attack_now", alarm == Some(0));
    row.push_bool("attack_open", alarm.is_some());
    row.push(
        "attack_types",
        f64::from(o.attack_types) / f64::from(MAX_ATTACK_LEVEL),
    );
    row.push("anomaly_max", o.anomalies.max());
}

/// Writes the features of the last action and its result.
fn last_step(row: &mut FeatureWriter<[f32; GLOBAL]>, o: &Observation, history: &History) {
    let c = &o.counters;
    let last = o.last.map(|last| last.action);
    row.push_one_hot(
        "last",
        ActionType::ALL.len(),
        last.map(|action| action.action_type() as usize),
    );
    row.push_bool("last_success", o.last.is_some_and(|last| last.success));
    row.push(
        "last_action_share",
        history.recent_share(|action| Some(*action) == last),
    );
    let steps = f64::from(o.step_count.max(1));
    row.push(
        "loops_and_drift",
        f64::from(c.loop_events + c.drift_events) / steps,
    );
}
