//! Evidence about workers and GPUs in the observation, shared by the planner and the features.

use sentinel_env::cluster::{GPUS_MAX, GpuState, JOBS_MAX, JobStatus, Observation};
use sentinel_env::slot::{SLOTS, Slot};

/// The working speed of each worker, inferred from progress between consecutive observations.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Speeds {
    /// Progress of each job at the previous observation, 0..=1.
    before: [f64; JOBS_MAX],
    step: u8,
    /// `Some(true)` for a worker that was seen to work at half speed, `Some(false)` at full speed.
    pub(crate) slow: [Option<bool>; SLOTS],
}

impl Default for Speeds {
    fn default() -> Self {
        Self {
            before: [0.0; JOBS_MAX],
            step: 0,
            slow: [None; SLOTS],
        }
    }
}

impl Speeds {
    /// Updates the speeds with an observation. Call it once for every observation of an episode, in
    /// order.
    pub(crate) fn observe(&mut self, o: &Observation) {
        for (id, job) in o.jobs.iter() {
            let before = std::mem::replace(&mut self.before[id.index()], job.reported);
            let Some(worker) = job.worker else {
                continue;
            };
            // An attack sets the shown progress of a job to 1, which hides its real speed.
            let runs = job.status == JobStatus::Running && job.reported < 1.0;
            let full = 1.0 / f64::from(job.steps);
            let made = job.reported - before;
            if runs && self.step + 1 == o.step_count && made > 0.25 * full {
                self.slow[worker.index()] = Some(made < 0.75 * full);
            }
        }
        self.step = o.step_count;
    }
}

/// Returns the posterior mean of the share of honest reports, with a uniform prior: `(honest + 1) /
/// (reports + 2)`.
pub(crate) fn honest_share(o: &Observation, slot: Slot) -> f64 {
    let e = &o.ledger[slot];
    (f64::from(e.successes()) + 1.0) / (f64::from(e.calls) + 2.0)
}

/// Returns the number of dishonest reports of a worker.
pub(crate) fn lie_count(o: &Observation, slot: Slot) -> u16 {
    o.ledger[slot].failures()
}

/// Returns `true` for each GPU whose row is inconsistent: its used memory differs from that of its
/// jobs, or it is shown as idle with a job on it.
pub(crate) fn inconsistent_gpus(o: &Observation) -> [bool; GPUS_MAX] {
    let held = o.jobs.memory_by_gpu();
    let mut odd = [false; GPUS_MAX];
    for ((odd, view), held) in odd.iter_mut().zip(o.gpus()).zip(held) {
        *odd = view.used != held || (view.state == GpuState::Idle && held > 0);
    }
    odd
}
