//! The candidates that the anti-cheat rules permit, as a mask over the shown list.

use sentinel_env::polyguard::{Candidate, CandidateId, Observation};

/// Returns the shown candidates that the public anti-cheat rules permit now, in order.
pub(super) fn permitted_candidates(o: &Observation) -> impl Iterator<Item = &Candidate> + Clone {
    o.candidates
        .iter()
        .filter(|candidate| o.predicted_exploit(candidate.act).is_none())
}

/// Returns the permitted candidate with the highest value, the first one on a tie; the first shown
/// candidate if none is permitted.
pub(super) fn argmax_permitted(
    o: &Observation,
    mut value: impl FnMut(&Candidate) -> f64,
) -> CandidateId {
    let mut best: Option<(f64, CandidateId)> = None;
    for candidate in permitted_candidates(o) {
        let value = value(candidate);
        if best.is_none_or(|(known, _)| value > known) {
            best = Some((value, candidate.id));
        }
    }
    best.map_or(CandidateId::FIRST, |(_, id)| id)
}

#[cfg(test)]
mod tests {
    use sentinel_env::Environment;
    use sentinel_env::polyguard::{Action, Episode, Setup, TaskSpec};

    use super::*;

    #[test]
    fn act_repeated_three_times_is_not_permitted() {
        let mut episode = Episode::reset(&Setup::new(TaskSpec::ALL[2], 1));
        let first = CandidateId::FIRST;
        assert!(permitted_candidates(episode.observation()).any(|c| c.id == first));
        while permitted_candidates(episode.observation()).any(|c| c.id == first) {
            let action = Action::with_grounded_rationale(episode.observation(), first);
            assert!(episode.step(action).is_ok());
        }
        let o = episode.observation();
        assert!(!o.done() && o.history.len() <= 3, "before it ends");
        assert_ne!(argmax_permitted(o, |c| -f64::from(c.id.number())), first);
    }
}
