//! A look-ahead policy over the exact posterior of the 120 hidden assignments.
//!
//! It uses public observations only: not the scenario number (which betrays a slot under reference
//! streams) and no hidden state. An honest upper reference for what can be learned.

use sentinel_env::Environment;
use sentinel_env::PrivilegedState;
mod belief;
mod lookahead;

pub use belief::Belief;

use sentinel_env::trust::{Action, Episode, Observation, TrustEnv};

use crate::policy::{Policy, PrivilegedPolicy};

/// Values closer than this are equal, and the first action wins: before anything is known all slots
/// are alike, and the last bit of a sum must not choose between them.
const TIE: f64 = 1e-9;

/// Number of actions.
const ACTIONS: usize = Action::ALL.len();

/// The policy's state: the posterior and the observation before.
#[derive(Clone, Debug, Default)]
pub struct Bayes {
    belief: Belief,
    previous: Option<Observation>,
    values: Option<[f64; ACTIONS]>,
}

impl Bayes {
    /// Knows nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }
}

/// The first action whose value nothing exceeds.
fn best(values: &[f64; ACTIONS]) -> Action {
    let mut best = 0;
    for (index, value) in values.iter().enumerate() {
        if *value > values[best] + TIE {
            best = index;
        }
    }
    Action::ALL[best]
}

impl Policy<TrustEnv> for Bayes {
    fn observe(&mut self, observation: &Observation) {
        if let Some(before) = &self.previous {
            self.belief.update(before, observation);
        }
        self.previous = Some(*observation);
    }

    fn choose(&mut self, observation: &Observation) -> Action {
        let values = lookahead::action_values(&self.belief, observation);
        self.values = Some(values);
        best(&values)
    }

    fn belief(&self) -> Option<Vec<Vec<f64>>> {
        Some(self.belief.marginals().map(Vec::from).into())
    }

    fn action_values(&self) -> Option<Vec<f64>> {
        self.values.map(Vec::from)
    }
}

/// The same look-ahead by one who knows from the start who is who: what [`Bayes`] would reach could
/// it see the assignment. Luck stays hidden from it too.
#[derive(Clone, Copy, Debug, Default)]
pub struct KnowingOracle;

impl PrivilegedPolicy<TrustEnv> for KnowingOracle {
    fn choose(&mut self, episode: &Episode) -> Action {
        let (observation, hidden) = (episode.observation(), episode.hidden());
        let belief = Belief::certain(&hidden.assignment.0);
        best(&lookahead::action_values(&belief, observation))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sentinel_env::rng::Streams;
    use sentinel_env::trust::{Episode, Setup, Task};

    #[test]
    fn slots_that_are_alike_are_taken_in_order() {
        for task in Task::ALL {
            let episode = Episode::reset(&Setup::new(task, 3, Streams::Independent));
            let mut policy = Bayes::new();
            policy.observe(episode.observation());
            let chosen = policy.choose(episode.observation());
            let first = chosen.slot().is_none_or(|slot| slot.index() == 0);
            assert!(first, "{task}: {chosen} although all slots are alike");
        }
    }
}
