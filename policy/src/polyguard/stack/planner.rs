//! The planner: orders what can be chosen by what the agents said.

use sentinel_env::polyguard::{CandidateId, Kind, Observation};

use super::scores::Scores;
use super::supervisor::Supervision;
use crate::order::sort;

/// What the planner would choose, the best first.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// Candidates with the agents' sums.
    pub ranking: Vec<(CandidateId, f64)>,
}

impl Plan {
    /// Returns the first.
    #[must_use]
    pub fn first(&self) -> Option<CandidateId> {
        self.ranking.first().map(|(id, _)| *id)
    }
}

/// Orders candidates by their sums; of equals the lower comes first.
#[must_use]
pub(super) fn rank(open: &[CandidateId], sums: &Scores) -> Plan {
    let mut ranking: Vec<(CandidateId, f64)> = open.iter().map(|id| (*id, sums.get(*id))).collect();
    sort(&mut ranking, |a, b| {
        b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)).is_lt()
    });
    Plan { ranking }
}

/// Returns the candidates that a supervisor lets through: those of its focus, keeping and reviews; all
/// where none of these can be chosen.
#[must_use]
pub(super) fn route(o: &Observation, open: &[CandidateId], by: &Supervision) -> Vec<CandidateId> {
    let passes = |id: &&CandidateId| {
        let kind = o.candidates.get(**id).map(|candidate| candidate.act.kind);
        kind.is_some_and(|kind| {
            kind == Kind::KeepRegimen || kind.is_review() || by.focus.is_served_by(kind)
        })
    };
    let routed: Vec<CandidateId> = open.iter().filter(passes).copied().collect();
    if routed.is_empty() {
        open.to_vec()
    } else {
        routed
    }
}
