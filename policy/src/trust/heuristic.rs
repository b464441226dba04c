//! The rule-based policy of the reference: call the most trusted slot, and verify it at high stakes
//! (spec evaluation §1.2).

use sentinel_env::ledger::HIGH_STAKES;
use sentinel_env::slot::argmax;
use sentinel_env::trust::{Action, Observation, TrustEnv};

use crate::policy::Policy;

/// A policy that calls the most trusted slot, and verifies it if stakes are high and its trust is
/// below a threshold.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Heuristic {
    verify_below: f64,
}

impl Heuristic {
    /// The threshold of the reference's evaluation.
    pub const EVALUATION: Self = Self { verify_below: 0.65 };
    /// The threshold with which the reference fills gaps of a replay. Its published "trained" row
    /// is this policy.
    pub const REPLAY_MISS: Self = Self { verify_below: 0.70 };
}

impl Policy<TrustEnv> for Heuristic {
    fn choose(&mut self, observation: &Observation) -> Action {
        let trust = observation.ledger.rounded_trust().0;
        let slot = argmax(&trust);
        if observation.stakes >= HIGH_STAKES && trust[slot.index()] < self.verify_below {
            Action::Verify(slot)
        } else {
            Action::Delegate(slot)
        }
    }
}
