//! The hand-written policy: trust the ledger, check when it matters (spec training-eval §1).

use sentinel_env::ledger::HIGH_STAKES;
use sentinel_env::slot::argmax;
use sentinel_env::trust::{Action, Observation, TrustEnv};

use crate::policy::Policy;

/// Calls the most trusted slot; verifies when stakes are high and its trust is below a threshold.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Heuristic {
    verify_below: f64,
}

impl Heuristic {
    /// As the reference's evaluation plays it.
    pub const EVALUATION: Self = Self { verify_below: 0.65 };
    /// As the reference fills the gaps of a replay; its published "trained" row is this policy.
    pub const REPLAY_MISS: Self = Self { verify_below: 0.70 };
}

impl Policy<TrustEnv> for Heuristic {
    fn choose(&mut self, observation: &Observation) -> Action {
        let trust = observation.ledger.snapshot().0;
        let slot = argmax(&trust);
        if observation.stakes >= HIGH_STAKES && trust[slot.index()] < self.verify_below {
            Action::Verify(slot)
        } else {
            Action::Delegate(slot)
        }
    }
}
