//! A language model in a policy's place: it names a candidate, or fails to.

use sentinel_env::polyguard::{
    Action, Candidate, CandidateId, Observation, PolyguardWorld, Violation,
};

use crate::play::Policy;

use super::bandit::{Bandit, Rule};

/// How many candidates a bandit leaves.
pub const SHORTLIST: usize = 3;

/// A model that reads an observation and answers with a candidate.
pub trait Completes {
    /// The candidate that the model's answer names; `None` if it names none. How the question is
    /// put, and how the answer is read, is the model's own affair.
    fn complete(&mut self, o: &Observation, list: &[Candidate]) -> Option<CandidateId>;
}

/// A model alone, or behind a bandit that leaves it three candidates.
pub struct Completed {
    model: Box<dyn Completes>,
    bandit: Option<Bandit>,
}

impl Completed {
    /// The model over all that is shown.
    #[must_use]
    pub fn alone(model: Box<dyn Completes>) -> Self {
        Self {
            model,
            bandit: None,
        }
    }

    /// The model over what LinUCB would choose first.
    #[must_use]
    pub fn with_bandit(model: Box<dyn Completes>, seed: u64) -> Self {
        Self {
            model,
            bandit: Some(Bandit::new(Rule::LinUcb, seed)),
        }
    }
}

impl Policy<PolyguardWorld> for Completed {
    fn choose(&mut self, o: &Observation) -> Action {
        let list: Vec<Candidate> = match &mut self.bandit {
            None => o.candidates.iter().copied().collect(),
            Some(bandit) => {
                let top = bandit.top_k(o, SHORTLIST);
                top.iter()
                    .filter_map(|id| o.candidates.get(*id))
                    .copied()
                    .collect()
            }
        };
        let answer = self.model.complete(o, &list);
        // An answer that names nothing is a wasted step, never replaced by keeping.
        match answer.filter(|id| list.iter().any(|candidate| candidate.id == *id)) {
            Some(id) => Action::explained(o, id),
            None => Action::Invalid(Violation::NoCandidate),
        }
    }
}

#[cfg(test)]
mod tests {
    use sentinel_env::polyguard::{Case, Episode, Setup};

    use super::*;

    /// Names the last of its list, or something else.
    struct Last(bool);

    impl Completes for Last {
        fn complete(&mut self, _: &Observation, list: &[Candidate]) -> Option<CandidateId> {
            list.last().filter(|_| self.0).map(|candidate| candidate.id)
        }
    }

    #[test]
    fn the_model_chooses_from_its_list_and_its_silence_is_invalid() {
        let episode = Episode::reset(&Setup::new(Case::ALL[8], 3));
        let o = episode.observation();
        let last = o.candidates.iter().next_back().map(|c| c.id);
        assert_eq!(Completed::alone(Box::new(Last(true))).choose(o).id(), last);
        let top = Bandit::new(Rule::LinUcb, 3).top_k(o, SHORTLIST);
        let mut short = Completed::with_bandit(Box::new(Last(true)), 3);
        assert_eq!(short.choose(o).id(), top.last().copied());
        let silent = Completed::alone(Box::new(Last(false))).choose(o);
        assert_eq!(silent, Action::Invalid(Violation::NoCandidate));
    }
}
