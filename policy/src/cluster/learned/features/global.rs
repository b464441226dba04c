//! The situation.

use sentinel_env::cluster::{ActionType, GpuState, JobStatus, LEVEL_MAX, Observation, Task};

use super::super::history::History;
use crate::learned::Row;

/// Features of the situation.
pub const GLOBAL: usize = 32;

/// Attacks that count as many.
const MANY: f64 = 5.0;

pub(super) fn features(o: &Observation, history: &History) -> [f32; GLOBAL] {
    let mut row = Row::new();
    row.one_hot(
        Task::ALL.len(),
        Task::ALL.iter().position(|task| *task == o.task),
    );
    row.push(f64::from(o.step_count) / f64::from(o.max_steps));
    let jobs = o.jobs.rows().len() as f64;
    for status in [
        JobStatus::Queued,
        JobStatus::Running,
        JobStatus::Complete,
        JobStatus::TimedOut,
    ] {
        row.push(f64::from(o.jobs.count(status)) / jobs);
    }
    row.flag(o.jobs.count(JobStatus::Queued) > 0);
    row.flag(o.jobs.count(JobStatus::Running) > 0);
    let gpus = o.gpus().len() as f64;
    let share = |states: &[GpuState]| {
        let count = o
            .gpus()
            .iter()
            .filter(|gpu| states.contains(&gpu.state))
            .count();
        count as f64 / gpus
    };
    row.push(share(&[GpuState::Idle]));
    row.push(share(&[GpuState::Overloaded]));
    row.push(share(&[GpuState::Failed, GpuState::Recovering]));
    row.push(o.health);
    row.push(o.utilization);
    let c = &o.counters;
    let behind = f64::from(c.attempts) - f64::from(c.detections);
    row.push((behind / MANY).clamp(-2.0, 2.0));
    row.flag(c.attempts > c.detections);
    row.flag(c.detections > 0);
    row.push((f64::from(c.poisonings) / MANY).min(2.0));
    row.push(o.detection_rate().min(2.0));
    let alarm = history.alarm();
    row.flag(alarm == Some(0));
    row.flag(alarm.is_some());
    row.push(f64::from(o.attack_types) / f64::from(LEVEL_MAX));
    row.push(o.anomalies.max());
    let last = o.last.map(|last| last.action);
    row.one_hot(
        ActionType::ALL.len(),
        last.map(|action| action.action_type() as usize),
    );
    row.flag(o.last.is_some_and(|last| last.success));
    row.push(history.share(|action| Some(*action) == last));
    let steps = f64::from(o.step_count.max(1));
    row.push(f64::from(c.loop_events + c.drift_events) / steps);
    row.finish()
}
