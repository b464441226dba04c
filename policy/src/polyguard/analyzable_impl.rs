//! The analysis of PolyGuard episodes: patients drawn from the generator given what was shown.

use sentinel_env::polyguard::{Action, Observation, PolyguardEnv, Setup};

use crate::analysis::{Analyzable, Evidence};

/// The observation at the start, and each action with the observation that it led to.
#[derive(Clone, Debug, Default)]
pub struct PolyguardEvidence {
    first: Option<Observation>,
    past: Vec<(Action, Observation)>,
}

impl Evidence<PolyguardEnv> for PolyguardEvidence {
    fn observe(&mut self, action: Option<Action>, observation: &Observation) {
        match action {
            None => self.first = Some(observation.clone()),
            Some(action) => self.past.push((action, observation.clone())),
        }
    }

    /// Returns the choice of each shown candidate with a grounded rationale.
    fn candidates(&self, observation: &Observation) -> Vec<Action> {
        let shown = observation.candidates.iter();
        shown
            .map(|candidate| Action::with_grounded_rationale(observation, candidate.id))
            .collect()
    }

    fn sample(&self, observation: &Observation, seed: u64) -> PolyguardEnv {
        let first = self.first.as_ref().unwrap_or(observation);
        PolyguardEnv::sample_from_history(first, &self.past, seed)
    }
}

impl Analyzable for PolyguardEnv {
    type Evidence = PolyguardEvidence;

    fn evidence(_setup: &Setup) -> PolyguardEvidence {
        PolyguardEvidence::default()
    }

    fn with_outcome_seed(&self, seed: u64) -> Self {
        self.clone().with_outcome_seed(seed)
    }
}
