//! The policy without specialists: a lower bound that every policy that learns trust must exceed
//! (quirk Q4).

use sentinel_env::trust::{Action, Observation, TrustEnv};

use crate::policy::Policy;

/// A policy that solves every subtask independently.
pub struct SelfSolve;

impl Policy<TrustEnv> for SelfSolve {
    fn choose(&mut self, _observation: &Observation) -> Action {
        Action::SolveIndependently
    }
}
