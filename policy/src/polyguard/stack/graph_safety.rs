//! The graph safety agent: scores candidates by estimated risk, and lists medicines with suspected
//! pairs.

use sentinel_env::polyguard::{Drug, Observation};

use super::scores::Scores;

/// The report of the graph safety agent.
#[derive(Clone, Debug, PartialEq)]
pub struct GraphSafety {
    /// Number of flagged pairs that are taken together.
    pub flagged: usize,
    /// Number of rules about sets that are visibly broken.
    pub broken: usize,
    /// Medicines whose public traits suggest interactions, with the number of suspected pairs.
    pub suspected: Vec<(Drug, u32)>,
    /// Reduction of the estimated risk by each candidate.
    pub scores: Scores,
}

/// Assesses the interactions in the chart.
#[must_use]
pub(super) fn assess(o: &Observation) -> GraphSafety {
    let suspected = o
        .regimen
        .iter()
        .map(|row| (row.drug, o.count_suspected_pairs(row)));
    GraphSafety {
        flagged: o.flagged_pairs().count(),
        broken: o
            .broken_rules()
            .iter()
            .filter(|(_, broken)| *broken)
            .count(),
        suspected: suspected.filter(|(_, pairs)| *pairs > 0).collect(),
        scores: Scores::from_fn(o, |candidate| -candidate.est_delta),
    }
}
