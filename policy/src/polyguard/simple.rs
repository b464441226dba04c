//! Policies that hardly look.

use sentinel_env::polyguard::{Action, CandidateId, Observation, PolyguardEnv};
use sentinel_env::rng::PcgRandom;

use crate::policy::Policy;

/// Tells the streams of policies from those of the world: `POLICY` in ASCII.
const POLICY_SALT: u64 = 0x504F_4C49_4359_0000;

/// Returns the random stream of a policy that draws, independent of the world's.
#[must_use]
pub fn policy_stream(seed: u64) -> PcgRandom {
    PcgRandom::new(seed ^ POLICY_SALT, &[])
}

/// Any candidate that is shown.
pub struct Random(PcgRandom);

impl Random {
    /// Returns the policy's own stream of the episode `seed`.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(policy_stream(seed))
    }
}

impl Policy<PolyguardEnv> for Random {
    fn choose(&mut self, o: &Observation) -> Action {
        let at = self.0.below(o.candidates.count().max(1));
        let chosen = o.candidates.iter().nth(at).map(|candidate| candidate.id);
        Action::explained(o, chosen.unwrap_or(CandidateId::FIRST))
    }

    fn peek_draw(&self) -> Option<f64> {
        Some(self.0.clone().unit())
    }
}

/// Keeps the regimen, always.
pub struct NoChange;

impl Policy<PolyguardEnv> for NoChange {
    fn choose(&mut self, o: &Observation) -> Action {
        Action::explained(o, CandidateId::FIRST)
    }
}

/// The least estimated risk.
pub struct GreedyRegimen;

impl Policy<PolyguardEnv> for GreedyRegimen {
    fn choose(&mut self, o: &Observation) -> Action {
        let mut best = o.candidates.iter().next();
        for candidate in o.candidates.iter() {
            if best.is_none_or(|best| candidate.est_risk < best.est_risk) {
                best = Some(candidate);
            }
        }
        Action::explained(o, best.map_or(CandidateId::FIRST, |best| best.id))
    }
}
