//! What the observation tells of a worker and of a GPU's row, for the planner and for the features.

use sentinel_env::cluster::{GPUS_MAX, GpuState, JOBS_MAX, JobStatus, Observation};
use sentinel_env::slot::{SLOTS, Slot};

/// Who works at half speed, as far as progress from one step to the next shows it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Speeds {
    /// Progress of the jobs at the last observation.
    before: [f64; JOBS_MAX],
    step: u8,
    /// Whether a worker was seen to work at half speed, or at full.
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
    /// Takes in an observation: each one of an episode once, in order.
    pub(crate) fn observe(&mut self, o: &Observation) {
        for (id, job) in o.jobs.iter() {
            let before = std::mem::replace(&mut self.before[id.index()], job.reported);
            let Some(worker) = job.worker else {
                continue;
            };
            // An attack sets a job's progress to 1; then nothing can be read from it.
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

/// Share of honest reports, with two reports of doubt.
pub(crate) fn honesty(o: &Observation, slot: Slot) -> f64 {
    let e = &o.ledger[slot];
    (f64::from(e.successes()) + 1.0) / (f64::from(e.calls) + 2.0)
}

/// Reports that were not honest.
pub(crate) fn lies(o: &Observation, slot: Slot) -> u16 {
    o.ledger[slot].failures()
}

/// Which GPUs' rows do not add up: more memory taken than their jobs have, or shown as idle with a
/// job there.
pub(crate) fn odd_gpus(o: &Observation) -> [bool; GPUS_MAX] {
    let held = o.jobs.held();
    let mut odd = [false; GPUS_MAX];
    for ((odd, view), held) in odd.iter_mut().zip(o.gpus()).zip(held) {
        *odd = view.used != held || (view.state == GpuState::Idle && held > 0);
    }
    odd
}
