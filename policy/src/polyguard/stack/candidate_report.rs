//! The candidate agent: lists the candidates that can be chosen.

use sentinel_env::polyguard::{CandidateId, Observation};

use super::super::permitted_candidates::permitted_candidates;

/// The report of the candidate agent.
#[derive(Clone, Debug, PartialEq)]
pub struct CandidateReport {
    /// Shown candidates that can be chosen, in order.
    pub open: Vec<CandidateId>,
    /// Number of shown candidates that cannot be chosen.
    pub barred: usize,
}

/// Lists the candidates that the anti-cheat rules permit, without reviews if `may_hand_over` is
/// `false`.
#[must_use]
pub(super) fn list_candidates(o: &Observation, may_hand_over: bool) -> CandidateReport {
    let open = permitted_candidates(o).filter(|c| may_hand_over || !c.act.kind.is_review());
    let open: Vec<CandidateId> = open.map(|candidate| candidate.id).collect();
    CandidateReport {
        barred: o.candidates.count() - open.len(),
        open,
    }
}
