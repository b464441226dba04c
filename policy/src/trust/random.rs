//! The random policy of the reference (spec evaluation §1.2).

use sentinel_env::rng::{PyRandom, Streams};
use sentinel_env::slot::{SLOTS, Slot};
use sentinel_env::trust::{Action, Observation, TrustEnv};

use crate::policy::{POLICY_STREAM, Policy};

/// A policy that picks a random slot and delegates with 65 %, verifies with 20 %, solves
/// independently with 10 % and skips with 5 % probability.
pub struct Random(PyRandom);

impl Random {
    /// Creates the policy with its own random stream of the episode `seed`.
    #[must_use]
    pub fn new(seed: u64, streams: Streams) -> Self {
        Self(PyRandom::new(streams.seed(seed, POLICY_STREAM)))
    }
}

impl Policy<TrustEnv> for Random {
    fn choose(&mut self, _observation: &Observation) -> Action {
        // Both numbers are drawn on every step, in this order.
        let slot = Slot::ALL[self.0.below(SLOTS as u32) as usize];
        match self.0.random() {
            r if r < 0.65 => Action::Delegate(slot),
            r if r < 0.85 => Action::Verify(slot),
            r if r < 0.95 => Action::SolveIndependently,
            _ => Action::Skip,
        }
    }

    fn peek_draw(&self) -> Option<f64> {
        Some(self.0.clone().random())
    }
}
