//! Features of one worker.

use sentinel_env::cluster::{Behavior, JobStatus};
use sentinel_env::slot::{SLOTS, Slot};

use super::facts::ObservationFacts;
use crate::cluster::evidence::{honest_share, lie_count};
use crate::ledger_features::push_stakes;
use crate::nn::{FeatureSchema, FeatureWriter};

/// Names of the features of one worker, in order.
pub const SCHEMA: FeatureSchema = FeatureSchema::new(
    "worker",
    &[
        "called",
        "calls",
        "trust",
        "honesty",
        "lied",
        "lies",
        "low_stakes.right",
        "low_stakes.wrong",
        "high_stakes.right",
        "high_stakes.wrong",
        "lie_confidence",
        "lie_confidence_high",
        "lie_confidence_low",
        "slow",
        "fast",
        "jobs_given",
        "running",
        "recent_actions",
        "acted_on_last",
        "belief=reliable",
        "belief=overreporter",
        "belief=slow",
        "belief=adversarial",
        "belief=degrading",
    ],
);

/// Number of features of one worker.
pub const PER_WORKER: usize = SCHEMA.width();
const _: () = assert!(PER_WORKER == 24, "a change needs a new feature version");

/// Feature names of the posterior over the worker's behavior.
const BELIEF: [&str; Behavior::ALL.len()] = [
    "belief=reliable",
    "belief=overreporter",
    "belief=slow",
    "belief=adversarial",
    "belief=degrading",
];
/// Divisor that scales numbers of reports to about unit size.
const MANY: f64 = 10.0;
/// Typical stated confidence of a dishonest report. Features hold the difference from it.
const CONFIDENCE: f64 = 0.92;
/// Factor that scales differences of confidence to about unit size.
const CONFIDENCE_SCALE: f64 = 10.0;

pub(super) fn features(facts: &ObservationFacts<'_>, slot: Slot) -> [f32; PER_WORKER] {
    let (o, history) = (facts.o, facts.history);
    let e = &o.ledger[slot];
    let lies = lie_count(o, slot);
    let mut row = FeatureWriter::new(&SCHEMA);
    row.push_bool("called", e.calls > 0);
    row.push("calls", f64::from(e.calls) / MANY);
    row.push("trust", 2.0 * e.trust() - 1.0);
    row.push("honesty", 2.0 * honest_share(o, slot) - 1.0);
    row.push_bool("lied", lies > 0);
    row.push("lies", f64::from(lies) / MANY);
    push_stakes(&mut row, e, MANY);
    let mean = e.gap_sum / f64::from(lies.max(1));
    // Without a dishonest report there is no confidence to compare.
    let difference = if lies > 0 { mean - CONFIDENCE } else { 0.0 };
    row.push("lie_confidence", CONFIDENCE_SCALE * difference);
    row.push_bool("lie_confidence_high", difference > 0.015);
    row.push_bool("lie_confidence_low", difference < -0.015);
    let slow = history.speeds.slow[slot.index()];
    row.push_bool("slow", slow == Some(true));
    row.push_bool("fast", slow == Some(false));
    row.push("jobs_given", f64::from(history.given[slot.index()]) / MANY);
    let running = o
        .jobs
        .iter()
        .filter(|(_, job)| job.status == JobStatus::Running && job.worker == Some(slot));
    row.push("running", running.count() as f64 / SLOTS as f64);
    row.push(
        "recent_actions",
        history.recent_share(|action| action.worker() == Some(slot)),
    );
    row.push_bool(
        "acted_on_last",
        o.last
            .is_some_and(|last| last.action.worker() == Some(slot)),
    );
    let posterior = &facts.posterior[slot.index()];
    for (name, probability) in BELIEF.into_iter().zip(posterior) {
        row.push(name, *probability);
    }
    row.finish()
}
