//! The candidate agent: what can be chosen at all.

use sentinel_env::polyguard::{CandidateId, Observation};

use super::super::permitted::permitted;

/// What can be chosen.
#[derive(Clone, Debug, PartialEq)]
pub struct Offer {
    /// The shown candidates that the rules against cheating permit, in order.
    pub open: Vec<CandidateId>,
    /// How many more are shown.
    pub barred: usize,
}

/// Lists what can be chosen; without reviews where nothing may be handed over.
#[must_use]
pub(super) fn list(o: &Observation, may_hand_over: bool) -> Offer {
    let open = permitted(o).filter(|c| may_hand_over || !c.act.kind.is_review());
    let open: Vec<CandidateId> = open.map(|candidate| candidate.id).collect();
    Offer {
        barred: o.candidates.count() - open.len(),
        open,
    }
}
