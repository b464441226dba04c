//! Safety of the graph of interactions: estimated risk of each candidate, and where hidden pairs are
//! to be suspected.

use sentinel_env::polyguard::{Drug, Observation};

use super::scores::Scores;

/// What the graph says.
#[derive(Clone, Debug, PartialEq)]
pub struct GraphSafety {
    /// Flagged pairs that are taken together.
    pub flagged: usize,
    /// Rules about sets that are visibly broken.
    pub broken: usize,
    /// Medicines that public traits let one suspect, with how many suspected pairs.
    pub suspected: Vec<(Drug, u32)>,
    /// How far each candidate lowers the estimated risk.
    pub scores: Scores,
}

/// Reads the graph.
#[must_use]
pub(super) fn assess(o: &Observation) -> GraphSafety {
    let suspected = o.regimen.iter().map(|row| (row.drug, o.suspicion(row)));
    GraphSafety {
        flagged: o.flags().count(),
        broken: o
            .broken_rules()
            .iter()
            .filter(|(_, broken)| *broken)
            .count(),
        suspected: suspected.filter(|(_, pairs)| *pairs > 0).collect(),
        scores: Scores::of(o, |candidate| -candidate.est_delta),
    }
}
