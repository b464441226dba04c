//! A language model in the planner's place: it names a candidate, or fails to.

use sentinel_env::polyguard::{Candidate, CandidateId, Observation};

/// How many candidates a bandit leaves.
pub const SHORTLIST: usize = 3;

/// A model that reads an observation and answers with a candidate.
pub trait Completes {
    /// Returns the candidate that the model's answer names; `None` if it names none. How the question is
    /// put, and how the answer is read, is the model's own affair.
    fn complete(&mut self, o: &Observation, list: &[Candidate]) -> Option<CandidateId>;
}
