//! What is known of one slot.

use sentinel_env::ledger::{Evidence, Rate};
use sentinel_env::slot::Slot;
use sentinel_env::trust::{Domain, Observation};

use crate::learned::Row;
use crate::learned::history::Seen;

/// Features of one slot.
pub const PER_SLOT: usize = 26;

/// About the confidence that failures state: differences from it are small.
const CONFIDENCE: f64 = 0.85;
/// Brings differences of confidence to unit size.
const CONFIDENCE_SCALE: f64 = 10.0;
/// Brings differences of reward to unit size.
const REWARD_SCALE: f64 = 20.0;
/// Calls of one slot that count as many.
const MANY: f64 = 5.0;

pub(super) fn features(slot: Slot, observation: &Observation, seen: &Seen) -> [f32; PER_SLOT] {
    let evidence = &observation.ledger[slot];
    let mut row = Row::new();
    counts(&mut row, evidence);
    confidence(&mut row, observation, evidence, seen);
    for rate in evidence.domains {
        balance(&mut row, rate);
    }
    row.flag(seen.cost >= 2);
    row.push(REWARD_SCALE * seen.surprise);
    let calls = f64::from(evidence.calls.max(1));
    row.push(REWARD_SCALE * seen.surprise_sum / calls);
    let last = observation.last.and_then(|last| last.action.slot());
    row.flag(last == Some(slot));
    row.finish()
}

/// Calls, trust, and right and wrong reports below and from high stakes on.
fn counts(row: &mut Row<PER_SLOT>, evidence: &Evidence<{ Domain::COUNT }>) {
    row.flag(evidence.calls > 0);
    row.push(f64::from(evidence.calls) / MANY);
    row.push(2.0 * evidence.trust() - 1.0);
    for rate in [evidence.low, evidence.high] {
        row.push(f64::from(rate.successes) / MANY);
        row.push(f64::from(rate.count - rate.successes) / MANY);
    }
}

/// How sure the slot was when it was wrong, by itself and against the adversary's public habits.
fn confidence(
    row: &mut Row<PER_SLOT>,
    observation: &Observation,
    evidence: &Evidence<{ Domain::COUNT }>,
    seen: &Seen,
) {
    let failures = evidence.failures();
    row.flag(failures > 0);
    let adversary = &observation.adversary;
    let mean = evidence.gap_sum / f64::from(failures.max(1));
    let last = seen.failure_confidence;
    let differences = [
        mean - CONFIDENCE,
        last - CONFIDENCE,
        last - adversary.benign_confidence,
        last - adversary.poison_confidence,
    ];
    for difference in differences {
        // Without a failure there is nothing to compare.
        row.push(if failures > 0 {
            CONFIDENCE_SCALE * difference
        } else {
            0.0
        });
    }
}

/// Right and wrong reports.
fn balance(row: &mut Row<PER_SLOT>, rate: Rate) {
    row.push(f64::from(rate.successes) / MANY);
    row.push(f64::from(rate.count - rate.successes) / MANY);
}
