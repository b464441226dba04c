//! A look-ahead policy over the exact posterior of the 120 hidden assignments.
//!
//! It uses public observations only: neither hidden state nor the scenario number, which reveals a
//! slot under reference streams. It is a fair upper reference for learned policies.

use sentinel_env::Environment;
use sentinel_env::PrivilegedState;
mod belief;
mod lookahead;

pub use belief::Belief;

use sentinel_env::trust::{Action, Episode, Observation, TrustEnv};

use self::lookahead::ACTIONS;
use crate::policy::{Policy, PrivilegedPolicy};

/// Values closer than this count as equal, and the first action is taken. At the start all slots
/// are equivalent, and rounding errors must not decide between them.
const TIE_TOLERANCE: f64 = 1e-9;

/// A look-ahead policy with its posterior and the previous observation.
#[derive(Clone, Debug, Default)]
pub struct Bayes {
    belief: Belief,
    previous: Option<Observation>,
    values: Option<[f64; ACTIONS]>,
}

impl Bayes {
    /// Creates the policy with a uniform posterior.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }
}

/// Returns the first action whose value no other action exceeds by more than [`TIE_TOLERANCE`].
fn best(values: &[f64; ACTIONS]) -> Action {
    let mut best = 0;
    for (index, value) in values.iter().enumerate() {
        if *value > values[best] + TIE_TOLERANCE {
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

/// A privileged policy that runs the same look-ahead with the true assignment: the performance that
/// [`Bayes`] would reach if it knew the assignment. It does not know future random outcomes.
#[derive(Clone, Copy, Debug, Default)]
pub struct PrivilegedLookahead;

impl PrivilegedPolicy<TrustEnv> for PrivilegedLookahead {
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
    fn equal_slots_are_chosen_by_lowest_index() {
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
