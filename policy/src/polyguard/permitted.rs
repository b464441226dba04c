//! The candidates that do not count as cheating: a mask over the shown list.

use sentinel_env::polyguard::{Candidate, CandidateId, Observation};

/// The shown candidates that the public rules against cheating allow now, in order.
pub(super) fn permitted(o: &Observation) -> impl Iterator<Item = &Candidate> + Clone {
    o.candidates
        .iter()
        .filter(|candidate| o.counts_as(candidate.act).is_none())
}

/// The candidate with most worth among those permitted; the first of equals, and the first shown
/// where none is permitted.
pub(super) fn best(o: &Observation, mut worth: impl FnMut(&Candidate) -> f64) -> CandidateId {
    let mut best: Option<(f64, CandidateId)> = None;
    for candidate in permitted(o) {
        let worth = worth(candidate);
        if best.is_none_or(|(known, _)| worth > known) {
            best = Some((worth, candidate.id));
        }
    }
    best.map_or(CandidateId::FIRST, |(_, id)| id)
}

#[cfg(test)]
mod tests {
    use sentinel_env::polyguard::{Action, Case, Episode, Setup};

    use super::*;

    #[test]
    fn what_was_done_three_times_in_a_row_is_not_permitted() {
        let mut episode = Episode::reset(&Setup::new(Case::ALL[2], 1));
        let first = CandidateId::FIRST;
        assert!(permitted(episode.observation()).any(|c| c.id == first));
        while permitted(episode.observation()).any(|c| c.id == first) {
            let action = Action::explained(episode.observation(), first);
            assert!(episode.step(action).is_ok());
        }
        let o = episode.observation();
        assert!(!o.done() && o.history.len() <= 3, "before it ends");
        assert_ne!(best(o, |c| -f64::from(c.id.number())), first);
    }
}
