//! What can be chosen at an observation.

use sentinel_env::cluster::{ActionType, JobStatus, Observation};

use super::choice::{COLUMNS, Factor};

/// Which columns can be chosen. A factor of a word that cannot be has none; the other words can
/// always be completed.
#[must_use]
pub fn legal(o: &Observation) -> [bool; COLUMNS] {
    let mut legal = [false; COLUMNS];
    if o.done() {
        return legal;
    }
    let mut allow = |factor: Factor, value: usize| legal[factor.columns().start + value] = true;
    let (mut waits, mut runs, mut placed) = (false, false, false);
    for (id, job) in o.jobs.iter() {
        let open = matches!(job.status, JobStatus::Running | JobStatus::TimedOut);
        match job.status {
            JobStatus::Queued => {
                waits = true;
                allow(Factor::AllocateJob, id.index());
            }
            JobStatus::Running => {
                runs = true;
                allow(Factor::AskJob, id.index());
                allow(Factor::VerifyJob, id.index());
            }
            _ => {}
        }
        if open && job.placed.is_some() {
            placed = true;
            allow(Factor::PreemptJob, id.index());
        }
    }
    let mut room = false;
    for (index, gpu) in o.gpus().iter().enumerate() {
        if gpu.state.operational() {
            room = true;
            allow(Factor::AllocateGpu, index);
        }
    }
    for factor in [
        Factor::AllocateWorker,
        Factor::AskWorker,
        Factor::VerifyWorker,
    ] {
        (0..factor.columns().len()).for_each(|value| allow(factor, value));
    }
    let kinds = [
        (ActionType::Allocate, waits && room),
        (ActionType::Preempt, placed),
        (ActionType::RequestInfo, runs),
        (ActionType::Verify, runs),
        (ActionType::Tick, true),
    ];
    for (kind, possible) in kinds {
        if possible {
            allow(Factor::Kind, kind as usize);
        }
    }
    legal
}
