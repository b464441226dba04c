//! The analysis of cluster episodes: hidden states from the sampler of the look-ahead policy.

use sentinel_env::cluster::{Action, ClusterEnv, Observation, Setup};

use super::Lookahead;
use crate::analysis::{Analyzable, Evidence};
use crate::policy::Policy;

impl Evidence<ClusterEnv> for Lookahead {
    fn observe(&mut self, _action: Option<Action>, observation: &Observation) {
        Policy::observe(self, observation);
    }

    /// Returns the actions that the look-ahead policy compares.
    fn candidates(&self, observation: &Observation) -> Vec<Action> {
        self.compared_actions(observation)
    }

    fn sample(&self, observation: &Observation, seed: u64) -> ClusterEnv {
        self.sample_episode(observation, seed)
    }
}

impl Analyzable for ClusterEnv {
    type Evidence = Lookahead;

    fn evidence(_setup: &Setup) -> Lookahead {
        Lookahead::new()
    }

    fn with_outcome_seed(&self, seed: u64) -> Self {
        self.clone().with_outcome_seed(seed)
    }
}
