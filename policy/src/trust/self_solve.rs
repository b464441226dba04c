//! The policy that needs nobody: a floor that every claim about trust must clear (quirk Q4).

use sentinel_env::trust::{Action, Observation, TrustEnv};

use crate::policy::Policy;

/// Always solves independently.
pub struct SelfSolve;

impl Policy<TrustEnv> for SelfSolve {
    fn choose(&mut self, _observation: &Observation) -> Action {
        Action::SolveIndependently
    }
}
