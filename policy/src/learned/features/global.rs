//! The situation: what is asked, and how much work and budget there is.

use sentinel_env::ledger::HIGH_STAKES;
use sentinel_env::trust::{Domain, Observation, Task};

use crate::learned::Row;

/// Features of the situation.
pub const GLOBAL: usize = 26;

/// Brings differences of stakes to unit size.
const STAKES_SCALE: f64 = 4.0;
/// Subtasks or steps that count as many.
const MANY: f64 = 10.0;
/// The adversary's usual threshold and confidence: features are what differs from them.
const USUAL: (f64, f64, f64) = (0.70, 0.88, 0.92);

pub(super) fn features(observation: &Observation, history: bool) -> [f32; GLOBAL] {
    let mut row = Row::new();
    let o = observation;
    row.one_hot(Task::ALL.len(), Some(o.task as usize));
    row.one_hot(Domain::COUNT, o.domain.map(|domain| domain as usize));
    stakes(&mut row, o);
    work(&mut row, o);
    row.push(f64::from(o.progress.failed_attempts()));
    let last = o.last.filter(|_| history);
    row.push(last.map_or(0.0, |last| last.reward));
    let outcome = last.and_then(|last| last.success);
    row.push(outcome.map_or(0.0, |right| if right { 1.0 } else { -1.0 }));
    row.finish()
}

fn stakes(row: &mut Row<GLOBAL>, o: &Observation) {
    let adversary = &o.adversary;
    row.push(2.0 * o.stakes - 1.0);
    row.flag(o.stakes >= HIGH_STAKES);
    row.flag(o.stakes >= adversary.threshold);
    row.push(STAKES_SCALE * (o.stakes - adversary.threshold));
    row.push(STAKES_SCALE * (adversary.threshold - USUAL.0));
    row.push(STAKES_SCALE * (adversary.benign_confidence - USUAL.1));
    row.push(STAKES_SCALE * (adversary.poison_confidence - USUAL.2));
}

/// Work done and left, budget used and to spare. What is still to come is in the task's description.
fn work(row: &mut Row<GLOBAL>, o: &Observation) {
    let (position, left) = (o.progress.position(), o.progress.remaining());
    let spare = f64::from(o.max_steps) - f64::from(o.step_count) - f64::from(left);
    row.push(f64::from(left) / MANY);
    row.push(f64::from(o.step_count) / f64::from(o.max_steps));
    row.push(spare / MANY);
    row.push(spare / f64::from(left.max(1)));
    row.push(o.progress.completion());
    let ahead = (position + 1..).map_while(|index| o.task.base_node(index));
    let (mut high, mut analytic) = (0.0, 0.0);
    for (domain, stakes) in ahead {
        high += f64::from(u8::from(stakes >= HIGH_STAKES));
        analytic += f64::from(u8::from(matches!(domain, Domain::Analyze | Domain::Verify)));
    }
    row.push(high / MANY);
    row.push(analytic / MANY);
    let next = o.task.base_node(position + 1);
    row.push(next.map_or(0.0, |(_, stakes)| stakes));
}
