//! Memory of earlier steps that the ledger does not hold: costs, rewards and stated confidence.

use sentinel_env::slot::{PerSlot, Slot};
use sentinel_env::trust::{Answer, GradeInput, LastStep, Observation, action_outcome, grade};

/// Evidence about one slot in addition to the ledger's counts.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct SlotHistory {
    /// Steps that the specialist's last call took, without the cost of verification.
    pub(crate) cost: u8,
    /// Reward of the last call minus the reward of the same outcome with neutral domain routing.
    pub(crate) reward_residual: f64,
    /// Sum of `reward_residual` over all calls.
    pub(crate) surprise_sum: f64,
    /// Stated confidence of the last failure, 0 before the first one.
    pub(crate) failure_confidence: f64,
}

/// Public memory of an episode, updated with every observation.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct History {
    seen: PerSlot<SlotHistory>,
    previous: Option<Observation>,
}

impl History {
    /// Updates the memory with an observation. Call it once for every observation of an episode, in
    /// order.
    pub(crate) fn observe(&mut self, observation: &Observation) {
        if let (Some(before), Some(last)) = (self.previous, &observation.last)
            && let Some(slot) = last.action.slot()
        {
            self.seen.0[slot.index()].add(slot, last, &before, observation);
        }
        self.previous = Some(*observation);
    }

    pub(crate) fn slot_history(&self, slot: Slot) -> &SlotHistory {
        &self.seen[slot]
    }
}

impl SlotHistory {
    fn add(&mut self, slot: Slot, last: &LastStep, before: &Observation, after: &Observation) {
        let (old, new) = (&before.ledger[slot], &after.ledger[slot]);
        let success = last.success == Some(true);
        // A failure adds its stated confidence to the ledger's gap. The confidence of a success
        // cannot be recovered; 1 agrees with the outcome.
        let confidence = if success {
            1.0
        } else {
            new.gap_sum - old.gap_sum
        };
        let honest = action_outcome(before.rules, last.action, 0, Answer::new(false, success));
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
        self.reward_residual = last.reward - neutral.reward;
        self.surprise_sum += self.reward_residual;
        if !success {
            self.failure_confidence = confidence;
        }
    }
}
