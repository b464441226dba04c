//! The planner: ranks the candidates by the sum of the agents' scores.

use sentinel_env::polyguard::{ActKind, CandidateId, Observation};

use super::scores::Scores;
use super::supervisor::Supervision;
use crate::insertion_sort::sort;

/// The candidates in the planner's order, best first.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// Candidates with the sum of the agents' scores.
    pub ranking: Vec<(CandidateId, f64)>,
}

impl Plan {
    /// Returns the best candidate, if there is one.
    #[must_use]
    pub fn first(&self) -> Option<CandidateId> {
        self.ranking.first().map(|(id, _)| *id)
    }
}

/// Sorts candidates by descending sum; the lower candidate comes first on a tie.
#[must_use]
pub(super) fn rank(open: &[CandidateId], sums: &Scores) -> Plan {
    let mut ranking: Vec<(CandidateId, f64)> = open.iter().map(|id| (*id, sums.get(*id))).collect();
    sort(&mut ranking, |a, b| {
        b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)).is_lt()
    });
    Plan { ranking }
}

/// Returns the candidates that the supervisor permits: keeping, reviews and the kinds of acts of
/// its focus. If there are none, returns all.
#[must_use]
pub(super) fn supervised_candidates(
    o: &Observation,
    open: &[CandidateId],
    by: &Supervision,
) -> Vec<CandidateId> {
    let passes = |id: &&CandidateId| {
        let kind = o.candidates.get(**id).map(|candidate| candidate.act.kind);
        kind.is_some_and(|kind| {
            kind == ActKind::KeepRegimen || kind.is_review() || by.focus.is_served_by(kind)
        })
    };
    let routed: Vec<CandidateId> = open.iter().filter(passes).copied().collect();
    if routed.is_empty() {
        open.to_vec()
    } else {
        routed
    }
}
