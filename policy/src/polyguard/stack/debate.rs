//! A debate in one round: three proposals, decided by majority.

use sentinel_env::polyguard::{CandidateId, Observation};

use super::super::RulesOnly;
use super::planner::Plan;
use super::safety_critic;

/// The three proposals and the result of a debate.
#[derive(Clone, Debug, PartialEq)]
pub struct Debate {
    /// Candidate that the ordered rules propose.
    pub rules: CandidateId,
    /// Candidate with the least estimated risk.
    pub greedy: CandidateId,
    /// Candidate that the planner ranks first.
    pub planner: CandidateId,
    /// `true` if at least two proposals agree.
    pub majority: bool,
    /// Candidate that was chosen.
    pub winner: CandidateId,
}

/// Collects the three proposals and decides: by majority, else by the critic's smallest penalty.
#[must_use]
pub(super) fn run_debate(o: &Observation, open: &[CandidateId], plan: &Plan) -> Debate {
    let rules = RulesOnly::choose_candidate(o);
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

/// Returns the candidate with the least estimated risk, the first one on a tie.
fn greedy(o: &Observation, open: &[CandidateId]) -> Option<CandidateId> {
    let candidates = open.iter().filter_map(|id| o.candidates.get(*id));
    let least = candidates.min_by(|a, b| a.est_risk.total_cmp(&b.est_risk));
    least.map(|candidate| candidate.id)
}

/// Returns the proposal with the smallest penalty, the lower candidate on a tie.
fn least_minded(o: &Observation, proposals: [CandidateId; 3]) -> CandidateId {
    let mut best = proposals[0];
    for id in proposals {
        let (mine, known) = (
            safety_critic::penalty(o, id),
            safety_critic::penalty(o, best),
        );
        if mine < known || mine == known && id < best {
            best = id;
        }
    }
    best
}
