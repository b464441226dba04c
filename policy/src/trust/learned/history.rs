//! Memory of earlier steps beyond the ledger: costs, rewards, stated confidence.

use sentinel_env::slot::{PerSlot, Slot};
use sentinel_env::trust::{Answer, GradeInput, LastStep, Observation, grade, outcome};

/// Evidence about one slot beside the ledger's counts.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Seen {
    /// Steps that its last call took, without checking.
    pub(crate) cost: u8,
    /// Reward of its last call beyond that of the same outcome with neutral routing.
    pub(crate) surprise: f64,
    /// Sum of these over all calls.
    pub(crate) surprise_sum: f64,
    /// Confidence that its last failure stated, 0 before the first.
    pub(crate) failure_confidence: f64,
}

/// Public memory of an episode: filled observation by observation.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct History {
    seen: PerSlot<Seen>,
    previous: Option<Observation>,
}

impl History {
    /// Takes in an observation; each one of an episode once, in order.
    pub(crate) fn observe(&mut self, observation: &Observation) {
        if let (Some(before), Some(last)) = (self.previous, &observation.last)
            && let Some(slot) = last.action.slot()
        {
            self.seen.0[slot.index()].add(slot, last, &before, observation);
        }
        self.previous = Some(*observation);
    }

    pub(crate) fn seen(&self, slot: Slot) -> &Seen {
        &self.seen[slot]
    }
}

impl Seen {
    fn add(&mut self, slot: Slot, last: &LastStep, before: &Observation, after: &Observation) {
        let (old, new) = (&before.ledger[slot], &after.ledger[slot]);
        let success = last.success == Some(true);
        // The ledger betrays what a failure was stated with. A success agrees with any confidence.
        let confidence = if success {
            1.0
        } else {
            new.gap_sum - old.gap_sum
        };
        let honest = outcome(before.rules, last.action, 0, Answer::new(false, success));
        let neutral = grade(&GradeInput {
            task: before.task,
            action: last.action,
            success: honest.success,
            own_work: honest.own_work,
            stakes: last.stakes,
            adversarial: false,
            confidence: Some(confidence),
            in_domain: None,
            trust_before: Some(old.trust()),
            step_count: after.step_count,
            max_steps: after.max_steps,
        });
        self.cost = last.cost.saturating_sub(honest.cost);
        self.surprise = last.reward - neutral.reward;
        self.surprise_sum += self.surprise;
        if !success {
            self.failure_confidence = confidence;
        }
    }
}
