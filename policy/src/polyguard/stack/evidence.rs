//! The evidence agent: asks for laboratory values that a decision needs.

use sentinel_env::polyguard::{ActKind, Lab, Observation};

use super::reconciliation::Reconciliation;
use super::scores::Scores;

/// Score of an act that obtains a needed value.
const BONUS: f64 = 0.3;

/// The report of the evidence agent.
#[derive(Clone, Debug, PartialEq)]
pub struct Evidence {
    /// Laboratory value that a medicine depends on and that is neither known nor ordered.
    pub needed: Option<Lab>,
    /// Number of missing laboratory values.
    pub missing: usize,
    /// `true` if evidence was requested before, or if no value is missing.
    pub tried: bool,
    /// Scores of acts that may obtain the needed value.
    pub scores: Scores,
}

/// Finds missing laboratory values. In this world only the eGFR decides about medicines.
#[must_use]
pub(super) fn gather(o: &Observation, chart: &Reconciliation) -> Evidence {
    let wanted = !chart.kidney_bound.is_empty() && o.egfr().is_none() && !o.labs_ordered;
    let scores = Scores::from_fn(o, |candidate| match candidate.act.kind {
        // Every kind of monitoring reports the laboratory values at the next step.
        ActKind::FetchExternalEvidence | ActKind::OrderMonitoring if wanted => BONUS,
        _ => 0.0,
    });
    Evidence {
        needed: wanted.then_some(Lab::Egfr),
        missing: o.labs.missing(),
        tried: o.evidence_tried(),
        scores,
    }
}
