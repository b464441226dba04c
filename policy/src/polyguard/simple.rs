//! Policies that hardly look.

use sentinel_env::polyguard::{Action, CandidateId, Observation, PolyguardEnv, Stream};

use crate::policy::Policy;

/// Any candidate that is shown.
pub struct Random(Stream);

impl Random {
    /// Returns the policy's own stream of the episode `seed`.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(Stream::for_policy(seed))
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
