//! The reference's random policy (spec training-eval §1).

use sentinel_env::rng::{PyRandom, Streams};
use sentinel_env::slot::{SLOTS, Slot};
use sentinel_env::trust::{Action, Observation, TrustEnv};

use crate::policy::{POLICY_STREAM, Policy};

/// A random slot; delegate 65 %, verify 20 %, solve 10 %, skip 5 %.
pub struct Random(PyRandom);

impl Random {
    /// The policy's own stream of the episode `seed`.
    #[must_use]
    pub fn new(seed: u64, streams: Streams) -> Self {
        Self(PyRandom::new(streams.seed(seed, POLICY_STREAM)))
    }
}

impl Policy<TrustEnv> for Random {
    fn choose(&mut self, _observation: &Observation) -> Action {
        // Both draws are always made, in this order.
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
