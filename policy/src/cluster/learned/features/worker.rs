//! What is known of one worker.

use sentinel_env::cluster::{JobStatus, Observation};
use sentinel_env::ledger::Rate;
use sentinel_env::slot::{SLOTS, Slot};

use super::super::history::History;
use crate::cluster::evidence::{honesty, lies};
use crate::learned::Row;

/// Features of one worker.
pub const PER_WORKER: usize = 19;

/// Reports that count as many.
const MANY: f64 = 10.0;
/// About the confidence that lies state: differences from it are small.
const CONFIDENCE: f64 = 0.92;
/// Brings differences of confidence to unit size.
const CONFIDENCE_SCALE: f64 = 10.0;

pub(super) fn features(slot: Slot, o: &Observation, history: &History) -> [f32; PER_WORKER] {
    let e = &o.ledger[slot];
    let lies = lies(o, slot);
    let mut row = Row::new();
    row.flag(e.calls > 0);
    row.push(f64::from(e.calls) / MANY);
    row.push(2.0 * e.trust() - 1.0);
    row.push(2.0 * honesty(o, slot) - 1.0);
    row.flag(lies > 0);
    row.push(f64::from(lies) / MANY);
    for Rate { successes, count } in [e.low, e.high] {
        row.push(f64::from(successes) / MANY);
        row.push(f64::from(count - successes) / MANY);
    }
    let mean = e.gap_sum / f64::from(lies.max(1));
    // Without a lie there is nothing to compare.
    let difference = if lies > 0 { mean - CONFIDENCE } else { 0.0 };
    row.push(CONFIDENCE_SCALE * difference);
    row.flag(difference > 0.015);
    row.flag(difference < -0.015);
    let slow = history.speeds.slow[slot.index()];
    row.flag(slow == Some(true));
    row.flag(slow == Some(false));
    row.push(f64::from(history.given[slot.index()]) / MANY);
    let running = o
        .jobs
        .iter()
        .filter(|(_, job)| job.status == JobStatus::Running && job.worker == Some(slot));
    row.push(running.count() as f64 / SLOTS as f64);
    row.push(history.share(|action| action.worker() == Some(slot)));
    row.flag(
        o.last
            .is_some_and(|last| last.action.worker() == Some(slot)),
    );
    row.finish()
}
