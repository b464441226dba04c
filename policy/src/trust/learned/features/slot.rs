//! Features of one slot: the evidence about the specialist behind it.

use sentinel_env::ledger::Evidence;
use sentinel_env::slot::Slot;
use sentinel_env::trust::{Domain, Observation};

use crate::ledger_features::{push_rate, push_stakes};
use crate::nn::{FeatureSchema, FeatureWriter};
use crate::trust::learned::history::SlotHistory;

/// Names of the features of a slot, in order.
pub const SCHEMA: FeatureSchema = FeatureSchema::new(
    "slot",
    &[
        "called",
        "calls",
        "trust",
        "low_stakes.right",
        "low_stakes.wrong",
        "high_stakes.right",
        "high_stakes.wrong",
        "failed",
        "failure_confidence.mean",
        "failure_confidence.last",
        "failure_confidence.over_benign",
        "failure_confidence.over_poison",
        "analyze.right",
        "analyze.wrong",
        "execute.right",
        "execute.wrong",
        "plan.right",
        "plan.wrong",
        "synthesize.right",
        "synthesize.wrong",
        "verify.right",
        "verify.wrong",
        "slow",
        "surprise.last",
        "surprise.mean",
        "called_last",
    ],
);

/// Number of features of one slot.
pub const PER_SLOT: usize = SCHEMA.width();
const _: () = assert!(PER_SLOT == 26, "a change needs a new feature version");

/// Feature names of the right and wrong report counts in each domain.
const DOMAINS: [[&str; 2]; Domain::COUNT] = [
    ["analyze.right", "analyze.wrong"],
    ["execute.right", "execute.wrong"],
    ["plan.right", "plan.wrong"],
    ["synthesize.right", "synthesize.wrong"],
    ["verify.right", "verify.wrong"],
];

/// Typical stated confidence of a failure. Features hold the difference from it.
const CONFIDENCE: f64 = 0.85;
/// Factor that scales differences of confidence to about unit size.
const CONFIDENCE_SCALE: f64 = 10.0;
/// Factor that scales differences of reward to about unit size.
const REWARD_SCALE: f64 = 20.0;
/// Divisor that scales numbers of calls of one slot to about unit size.
const COUNT_SCALE: f64 = 5.0;

pub(super) fn features(
    slot: Slot,
    observation: &Observation,
    seen: &SlotHistory,
) -> [f32; PER_SLOT] {
    let evidence = &observation.ledger[slot];
    let mut row = FeatureWriter::new(&SCHEMA);
    row.push_bool("called", evidence.calls > 0);
    row.push("calls", f64::from(evidence.calls) / COUNT_SCALE);
    row.push("trust", 2.0 * evidence.trust() - 1.0);
    push_stakes(&mut row, evidence, COUNT_SCALE);
    confidence(&mut row, observation, evidence, seen);
    for (names, rate) in DOMAINS.into_iter().zip(evidence.domains) {
        push_rate(&mut row, names, rate, COUNT_SCALE);
    }
    row.push_bool("slow", seen.cost >= 2);
    row.push("surprise.last", REWARD_SCALE * seen.reward_residual);
    let calls = f64::from(evidence.calls.max(1));
    row.push("surprise.mean", REWARD_SCALE * seen.surprise_sum / calls);
    let last = observation.last.and_then(|last| last.action.slot());
    row.push_bool("called_last", last == Some(slot));
    row.finish()
}

/// Writes the confidence that the slot stated with its failures, relative to [`CONFIDENCE`] and to
/// the public parameters of the adversary. All of these features are 0 if there was no failure.
fn confidence(
    row: &mut FeatureWriter<[f32; PER_SLOT]>,
    observation: &Observation,
    evidence: &Evidence<{ Domain::COUNT }>,
    seen: &SlotHistory,
) {
    let failures = evidence.failures();
    row.push_bool("failed", failures > 0);
    let adversary = &observation.adversary;
    let mean = evidence.gap_sum / f64::from(failures.max(1));
    let last = seen.failure_confidence;
    let differences = [
        ("failure_confidence.mean", mean - CONFIDENCE),
        ("failure_confidence.last", last - CONFIDENCE),
        (
            "failure_confidence.over_benign",
            last - adversary.benign_confidence,
        ),
        (
            "failure_confidence.over_poison",
            last - adversary.poison_confidence,
        ),
    ];
    for (name, difference) in differences {
        let value = if failures > 0 {
            CONFIDENCE_SCALE * difference
        } else {
            0.0
        };
        row.push(name, value);
    }
}
