//! Builds complete actions from a kind of action, with the job, GPU and worker that the reference's
//! policies choose.

use sentinel_env::cluster::{Action, ActionType, JobStatus, Observation};
use sentinel_env::slot::Slot;

/// Returns `true` if at least one job waits for a GPU.
pub(super) const fn any_queued(observation: &Observation) -> bool {
    observation.jobs.count(JobStatus::Queued) > 0
}

/// Returns `true` if at least one job runs.
pub(super) const fn any_running(observation: &Observation) -> bool {
    observation.jobs.count(JobStatus::Running) > 0
}

/// Returns an action of the given kind on the queued or running job with the earliest deadline, or
/// a tick if there is no such job.
///
/// The GPU is the one with the most free memory as shown, even if it is down (quirk C11).
pub(super) fn complete_action(o: &Observation, kind: ActionType, worker: Option<Slot>) -> Action {
    let (queued, running) = (o.jobs.next_queued(), o.jobs.most_urgent_running());
    match (kind, queued, running) {
        (ActionType::Allocate, Some(_), _) => Action::Allocate {
            job: queued,
            gpu: o.most_free_gpu(),
            worker: Some(worker.unwrap_or_else(|| calibrated(o))),
        },
        (ActionType::Preempt, _, Some(_)) => Action::Preempt {
            job: running,
            worker,
        },
        (ActionType::RequestInfo, _, Some(_)) => Action::RequestInfo {
            job: running,
            worker,
        },
        (ActionType::Verify, _, Some(_)) => Action::Verify {
            job: running,
            worker,
            force_flag: false,
        },
        _ => Action::Tick,
    }
}

/// Returns the worker that the environment would choose, but by trust rounded to three decimals.
fn calibrated(o: &Observation) -> Slot {
    o.calibrated_worker(&o.ledger.rounded_trust().0)
}
