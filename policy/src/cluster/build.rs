//! From a kind of action to an action: the names that the reference's policies fill in.

use sentinel_env::cluster::{Action, ActionType, JobStatus, Observation};
use sentinel_env::slot::Slot;

/// Whether a job waits for a GPU.
pub(super) const fn any_queued(observation: &Observation) -> bool {
    observation.jobs.count(JobStatus::Queued) > 0
}

/// Whether a job runs.
pub(super) const fn any_running(observation: &Observation) -> bool {
    observation.jobs.count(JobStatus::Running) > 0
}

/// The action of that kind on the most urgent job, or a tick when there is none.
///
/// The GPU is the one with most free memory as shown, also when it is down (quirk C11).
pub(super) fn build(o: &Observation, kind: ActionType, worker: Option<Slot>) -> Action {
    let (queued, running) = (o.jobs.next_queued(), o.jobs.most_urgent_running());
    match (kind, queued, running) {
        (ActionType::Allocate, Some(_), _) => Action::Allocate {
            job: queued,
            gpu: o.most_free(),
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

/// The environment's own choice of a worker, but by trust to three decimals.
fn calibrated(o: &Observation) -> Slot {
    o.calibrated_worker(&o.ledger.snapshot().0)
}
