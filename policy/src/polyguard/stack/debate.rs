//! A short debate: three propose, the majority counts.

use sentinel_env::polyguard::{CandidateId, Observation};

use super::super::RulesOnly;
use super::critic;
use super::planner::Plan;

/// Who proposed what.
#[derive(Clone, Debug, PartialEq)]
pub struct Debate {
    /// Plain rules.
    pub rules: CandidateId,
    /// The least estimated risk.
    pub greedy: CandidateId,
    /// The planner.
    pub planner: CandidateId,
    /// Whether two agreed.
    pub majority: bool,
    /// What counts.
    pub winner: CandidateId,
}

/// Holds a debate over what can be chosen.
#[must_use]
pub(super) fn hold(o: &Observation, open: &[CandidateId], plan: &Plan) -> Debate {
    let rules = RulesOnly::candidate(o);
    let planner = plan.first().unwrap_or(CandidateId::FIRST);
    let greedy = greedy(o, open).unwrap_or(planner);
    let majority = rules == greedy || rules == planner || greedy == planner;
    let winner = if rules == greedy || rules == planner {
        rules
    } else if greedy == planner {
        greedy
    } else {
        least_minded(o, [rules, greedy, planner])
    };
    Debate {
        rules,
        greedy,
        planner,
        majority,
        winner,
    }
}

/// Returns the least estimated risk; the first of equals.
fn greedy(o: &Observation, open: &[CandidateId]) -> Option<CandidateId> {
    let candidates = open.iter().filter_map(|id| o.candidates.get(*id));
    let least = candidates.min_by(|a, b| a.est_risk.total_cmp(&b.est_risk));
    least.map(|candidate| candidate.id)
}

/// Returns what the critic minds least; of equals the lower candidate.
fn least_minded(o: &Observation, proposals: [CandidateId; 3]) -> CandidateId {
    let mut best = proposals[0];
    for id in proposals {
        let (mine, known) = (critic::penalty(o, id), critic::penalty(o, best));
        if mine < known || mine == known && id < best {
            best = id;
        }
    }
    best
}
