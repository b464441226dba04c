//! The actions that the look-ahead compares.

use sentinel_env::cluster::{Action, GpuId, Job, JobId, JobStatus, Observation};
use sentinel_env::slot::Slot;

use crate::cluster::planner::{
    idle_gpus, least_progressed, next_to_start, suspected_attack, verify,
};

/// Returns the alternatives to the planner's action. May contain duplicates.
pub(super) fn candidates(o: &Observation, planned: Action) -> Vec<Action> {
    let mut all = Vec::new();
    placements(o, planned, &mut all);
    let running = [suspected_attack(o), least_progressed(o)]
        .into_iter()
        .flatten();
    for job in running {
        all.push(verify(job, None));
        all.extend(Slot::ALL.map(|slot| verify(job, Some(slot))));
    }
    let asked = Action::RequestInfo {
        job: least_progressed(o),
        worker: None,
    };
    let stuck = |job: &Job| {
        let late = job.status == JobStatus::TimedOut && job.placed.is_some();
        late || (job.status == JobStatus::Running && job.placed.is_none())
    };
    let lost = o.jobs.iter().find(|(_, job)| stuck(job)).map(|(id, _)| id);
    all.extend(least_progressed(o).map(|_| asked));
    all.extend(lost.map(|job| Action::Preempt {
        job: Some(job),
        worker: None,
    }));
    all.push(Action::Tick);
    all
}

/// Adds allocations: the planner's job to every worker, and other queued jobs to the planner's
/// worker. The GPU is an idle one, or the one with the most free memory if none is idle.
fn placements(o: &Observation, planned: Action, all: &mut Vec<Action>) {
    let place = |job: JobId, gpu: GpuId, worker: Slot| Action::Allocate {
        job: Some(job),
        gpu: Some(gpu),
        worker: Some(worker),
    };
    let most_free_allocatable = o.most_free_gpu().filter(|gpu| o.appears_operational(*gpu));
    let (Some(job), Some(gpu)) = (
        next_to_start(o),
        idle_gpus(o).next().or(most_free_allocatable),
    ) else {
        return;
    };
    all.extend(Slot::ALL.map(|slot| place(job, gpu, slot)));
    let worker = planned.worker().unwrap_or(Slot::ALL[0]);
    let first_by = |key: fn(&Job) -> u8| {
        let waiting = o
            .jobs
            .iter()
            .filter(|(_, job)| job.status == JobStatus::Queued);
        waiting.min_by_key(|(_, job)| key(job)).map(|(id, _)| id)
    };
    let keys: [fn(&Job) -> u8; 4] = [
        |job| job.deadline,
        |job| u8::MAX - job.steps,
        |job| u8::MAX - job.memory,
        |job| job.steps,
    ];
    let others = keys.into_iter().filter_map(first_by);
    all.extend(others.map(|job| place(job, gpu, worker)));
}
