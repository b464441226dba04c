//! Evidence: asks for laboratory values that a decision needs.

use sentinel_env::polyguard::{Kind, Lab, Observation};

use super::med_rec::Reconciliation;
use super::scores::Scores;

/// What asking for a needed value is worth.
const BONUS: f64 = 0.3;

/// What is missing.
#[derive(Clone, Debug, PartialEq)]
pub struct Evidence {
    /// A value that a medicine hangs on, that is missing and not ordered.
    pub needed: Option<Lab>,
    /// How many values are missing.
    pub missing: usize,
    /// Whether evidence was looked for, or nothing is missing.
    pub tried: bool,
    /// For what may find the needed value.
    pub scores: Scores,
}

/// Looks for what is missing. Only the eGFR decides over medicines here.
#[must_use]
pub(super) fn gather(o: &Observation, chart: &Reconciliation) -> Evidence {
    let wanted = !chart.kidney_bound.is_empty() && o.egfr().is_none() && !o.labs_ordered;
    let scores = Scores::of(o, |candidate| match candidate.act.kind {
        // Any order of monitoring brings the values with the next step.
        Kind::FetchExternalEvidence | Kind::OrderMonitoring if wanted => BONUS,
        _ => 0.0,
    });
    Evidence {
        needed: wanted.then_some(Lab::Egfr),
        missing: o.labs.missing(),
        tried: o.evidence_tried(),
        scores,
    }
}
