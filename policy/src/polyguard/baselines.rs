//! Baseline policies that use little or none of the observation.

use sentinel_env::polyguard::{Action, CandidateId, Observation, PolyguardEnv};
use sentinel_env::rng::PcgRandom;

use crate::policy::Policy;

/// Separates the random streams of policies from those of the world: `POLICY` in ASCII.
const POLICY_SALT: u64 = 0x504F_4C49_4359_0000;

/// Returns the random stream of a policy for the episode `seed`, independent of the world's
/// streams.
#[must_use]
pub fn policy_stream(seed: u64) -> PcgRandom {
    PcgRandom::new(seed ^ POLICY_SALT, &[])
}

/// A policy that chooses any shown candidate at random.
pub struct Random(PcgRandom);

impl Random {
    /// Creates the policy with its own random stream of the episode `seed`.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(policy_stream(seed))
    }
}

impl Policy<PolyguardEnv> for Random {
    fn choose(&mut self, o: &Observation) -> Action {
        let at = self.0.below(o.candidates.count().max(1));
        let chosen = o.candidates.iter().nth(at).map(|candidate| candidate.id);
        Action::with_grounded_rationale(o, chosen.unwrap_or(CandidateId::FIRST))
    }

    fn peek_draw(&self) -> Option<f64> {
        Some(self.0.clone().unit())
    }
}

/// A policy that keeps the regimen at every step.
pub struct KeepRegimen;

impl Policy<PolyguardEnv> for KeepRegimen {
    fn choose(&mut self, o: &Observation) -> Action {
        Action::with_grounded_rationale(o, CandidateId::FIRST)
    }
}

/// A policy that takes the candidate with the least estimated risk; the first one on a tie.
pub struct LeastRisk;

impl Policy<PolyguardEnv> for LeastRisk {
    fn choose(&mut self, o: &Observation) -> Action {
        let mut best = o.candidates.iter().next();
        for candidate in o.candidates.iter() {
            if best.is_none_or(|best| candidate.est_risk < best.est_risk) {
                best = Some(candidate);
            }
        }
        Action::with_grounded_rationale(o, best.map_or(CandidateId::FIRST, |best| best.id))
    }
}
