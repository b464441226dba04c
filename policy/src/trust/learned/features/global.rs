//! Features of the current step as a whole: the subtask, the remaining work and the budget.

use sentinel_env::adaptive_difficulty::AdversaryProfile;
use sentinel_env::ledger::HIGH_STAKES;
use sentinel_env::trust::{Domain, Observation, Task, TaskLayout};

use crate::nn::{FeatureSchema, FeatureWriter};

/// Names of the global features, in order.
pub const SCHEMA: FeatureSchema = FeatureSchema::new(
    "global",
    &[
        "task=task1",
        "task=task2",
        "task=task3",
        "domain=analyze",
        "domain=execute",
        "domain=plan",
        "domain=synthesize",
        "domain=verify",
        "stakes",
        "stakes_are_high",
        "adversary_is_active",
        "stakes_over_threshold",
        "threshold",
        "benign_confidence",
        "poison_confidence",
        "work_left",
        "steps_used",
        "spare_steps",
        "spare_steps_per_subtask",
        "completion",
        "high_stakes_ahead",
        "analytic_ahead",
        "next_stakes",
        "failed_attempts",
        "last_reward",
        "last_outcome",
    ],
);

/// Number of global features.
pub const GLOBAL: usize = SCHEMA.width();
const _: () = assert!(GLOBAL == 26, "a change needs a new feature version");

/// Factor that scales differences of stakes to about unit size.
const STAKES_SCALE: f64 = 4.0;
/// Divisor that scales numbers of subtasks or steps to about unit size.
const COUNT_SCALE: f64 = 10.0;

pub(super) fn features(observation: &Observation, history: bool) -> [f32; GLOBAL] {
    let mut row = FeatureWriter::new(&SCHEMA);
    let o = observation;
    row.push_one_hot("task", Task::ALL.len(), Some(o.task as usize));
    row.push_one_hot(
        "domain",
        Domain::COUNT,
        o.domain.map(|domain| domain as usize),
    );
    stakes(&mut row, o);
    work(&mut row, o);
    row.push("failed_attempts", f64::from(o.progress.failed_attempts()));
    let last = o.last.filter(|_| history);
    row.push("last_reward", last.map_or(0.0, |last| last.reward));
    let outcome = last.and_then(|last| last.success);
    row.push(
        "last_outcome",
        outcome.map_or(0.0, |right| if right { 1.0 } else { -1.0 }),
    );
    row.finish()
}

fn stakes(row: &mut FeatureWriter<[f32; GLOBAL]>, o: &Observation) {
    // The adversary's parameters enter as differences from the defaults, which only a curriculum
    // changes.
    let (adversary, usual) = (&o.adversary, AdversaryProfile::default());
    row.push("stakes", 2.0 * o.stakes - 1.0);
    row.push_bool("stakes_are_high", o.stakes >= HIGH_STAKES);
    row.push_bool("adversary_is_active", o.stakes >= adversary.threshold);
    row.push(
        "stakes_over_threshold",
        STAKES_SCALE * (o.stakes - adversary.threshold),
    );
    row.push(
        "threshold",
        STAKES_SCALE * (adversary.threshold - usual.threshold),
    );
    row.push(
        "benign_confidence",
        STAKES_SCALE * (adversary.benign_confidence - usual.benign_confidence),
    );
    row.push(
        "poison_confidence",
        STAKES_SCALE * (adversary.poison_confidence - usual.poison_confidence),
    );
}

/// Writes the features of work done and left, of budget used and to spare, and of the subtasks that
/// the task description announces.
fn work(row: &mut FeatureWriter<[f32; GLOBAL]>, o: &Observation) {
    let (position, left) = (o.progress.position(), o.progress.remaining());
    let spare = f64::from(o.max_steps) - f64::from(o.step_count) - f64::from(left);
    row.push("work_left", f64::from(left) / COUNT_SCALE);
    row.push(
        "steps_used",
        f64::from(o.step_count) / f64::from(o.max_steps),
    );
    row.push("spare_steps", spare / COUNT_SCALE);
    row.push("spare_steps_per_subtask", spare / f64::from(left.max(1)));
    row.push("completion", o.progress.completion_rate());
    let ahead = (position + 1..).map_while(|index| TaskLayout::for_task(o.task).node(index));
    let (mut high, mut analytic) = (0.0, 0.0);
    for (domain, stakes) in ahead {
        high += f64::from(u8::from(stakes >= HIGH_STAKES));
        analytic += f64::from(u8::from(matches!(domain, Domain::Analyze | Domain::Verify)));
    }
    row.push("high_stakes_ahead", high / COUNT_SCALE);
    row.push("analytic_ahead", analytic / COUNT_SCALE);
    let next = TaskLayout::for_task(o.task).node(position + 1);
    row.push("next_stakes", next.map_or(0.0, |(_, stakes)| stakes));
}
