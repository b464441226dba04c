//! What the observation tells of a worker and of a GPU's row, for the planner and for the features.

use sentinel_env::cluster::{GPUS_MAX, GpuState, Observation};
use sentinel_env::slot::Slot;

/// Share of honest reports, with two reports of doubt.
pub(super) fn honesty(o: &Observation, slot: Slot) -> f64 {
    let e = &o.ledger[slot];
    (f64::from(e.successes()) + 1.0) / (f64::from(e.calls) + 2.0)
}

/// Reports that were not honest.
pub(super) fn lies(o: &Observation, slot: Slot) -> u16 {
    o.ledger[slot].failures()
}

/// Which GPUs' rows do not add up: more memory taken than their jobs have, or shown as idle with a
/// job there.
pub(super) fn odd_gpus(o: &Observation) -> [bool; GPUS_MAX] {
    let held = o.jobs.held();
    let mut odd = [false; GPUS_MAX];
    for ((odd, view), held) in odd.iter_mut().zip(o.gpus()).zip(held) {
        *odd = view.used != held || (view.state == GpuState::Idle && held > 0);
    }
    odd
}
