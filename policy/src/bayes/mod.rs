//! A look-ahead policy over the exact posterior of the 120 hidden assignments.
//!
//! It uses public observations only: not the scenario number (which betrays a slot under reference
//! streams) and no hidden state. An honest upper reference for what can be learned.

mod belief;
mod lookahead;

pub use belief::Belief;

use sentinel_env::slot::SLOTS;
use sentinel_env::trust::{Action, Observation};

use crate::Policy;

/// The policy's state: the posterior and the observation before.
#[derive(Clone, Debug, Default)]
pub struct Bayes {
    belief: Belief,
    previous: Option<Observation>,
    values: Option<[f64; 12]>,
}

impl Bayes {
    /// Knows nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }
}

impl Policy for Bayes {
    fn observe(&mut self, observation: &Observation) {
        if let Some(before) = &self.previous {
            self.belief.update(before, observation);
        }
        self.previous = Some(*observation);
    }

    fn choose(&mut self, observation: &Observation) -> Action {
        let values = lookahead::action_values(&self.belief, observation);
        self.values = Some(values);
        let mut best = 0;
        for (index, value) in values.iter().enumerate() {
            if *value > values[best] {
                best = index;
            }
        }
        Action::ALL[best]
    }

    fn belief(&self) -> Option<[[f64; SLOTS]; SLOTS]> {
        Some(self.belief.marginals())
    }

    fn action_values(&self) -> Option<[f64; 12]> {
        self.values
    }
}
