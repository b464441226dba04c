//! Scores that an agent gives to single candidates.

use sentinel_env::polyguard::{Candidate, CandidateId, MAX_CANDIDATES, Observation};

/// One score per candidate; 0 if the agent has no opinion.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Scores([f64; MAX_CANDIDATES]);

impl Scores {
    /// Computes the score of each shown candidate.
    #[must_use]
    pub fn from_fn(o: &Observation, mut score: impl FnMut(&Candidate) -> f64) -> Self {
        let mut all = [0.0; MAX_CANDIDATES];
        for candidate in o.candidates.iter() {
            all[candidate.id.index()] = score(candidate);
        }
        Self(all)
    }

    /// Returns the score of one candidate.
    #[must_use]
    pub const fn get(&self, id: CandidateId) -> f64 {
        self.0[id.index()]
    }

    /// Iterates over the candidates whose score is not 0, in order.
    pub fn nonzero(&self) -> impl Iterator<Item = (CandidateId, f64)> {
        CandidateId::all()
            .map(|id| (id, self.get(id)))
            .filter(|(_, score)| *score != 0.0)
    }

    /// Returns the sum of two agents' scores.
    #[must_use]
    pub fn plus(mut self, other: &Self) -> Self {
        for (sum, score) in self.0.iter_mut().zip(other.0) {
            *sum += score;
        }
        self
    }
}
