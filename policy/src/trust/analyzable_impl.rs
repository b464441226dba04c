//! The analysis of trust episodes: hidden assignments from the exact posterior.

use sentinel_env::rng::{PcgRandom, derive_seed};
use sentinel_env::trust::{Action, Hypothesis, LastStep, Observation, Setup, TrustEnv};

use super::Belief;
use crate::analysis::{Analyzable, Evidence};

/// The posterior over the assignments, and the public results of the actions so far.
#[derive(Clone, Debug)]
pub struct TrustEvidence {
    setup: Setup,
    belief: Belief,
    previous: Option<Observation>,
    past: Vec<LastStep>,
}

impl Evidence<TrustEnv> for TrustEvidence {
    fn observe(&mut self, _action: Option<Action>, observation: &Observation) {
        if let Some(before) = &self.previous {
            self.belief.update(before, observation);
        }
        self.past.extend(observation.last);
        self.previous = Some(*observation);
    }

    /// Returns all twelve actions.
    fn candidates(&self, _observation: &Observation) -> Vec<Action> {
        Action::ALL.to_vec()
    }

    fn sample(&self, observation: &Observation, seed: u64) -> TrustEnv {
        let hypothesis = Hypothesis {
            assignment: self.belief.sample(PcgRandom::new(seed, &[]).unit()),
            outcome_seed: derive_seed(seed, 1),
        };
        TrustEnv::from_belief(&self.setup, observation, &self.past, &hypothesis)
    }
}

impl Analyzable for TrustEnv {
    type Evidence = TrustEvidence;

    fn evidence(setup: &Setup) -> TrustEvidence {
        TrustEvidence {
            setup: *setup,
            belief: Belief::default(),
            previous: None,
            past: Vec::new(),
        }
    }

    fn with_outcome_seed(&self, seed: u64) -> Self {
        (*self).with_outcome_seed(derive_seed(seed, 1))
    }
}
