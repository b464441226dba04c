//! The reconciliation agent: counts the medicines, their burden, and those without a known reason.

use sentinel_env::polyguard::{Drug, Observation, each_archetype};

/// The report of the reconciliation agent.
#[derive(Clone, Debug, PartialEq)]
pub struct Reconciliation {
    /// Number of medicines that are taken.
    pub medicines: u8,
    /// Anticholinergic points, summed over the medicines that are taken.
    pub anticholinergic: u8,
    /// Number of medicines that act on the central nervous system.
    pub central: u8,
    /// Observable burden of the regimen, `[0, 1)`.
    pub burden: f64,
    /// Medicines for which the chart shows no indication.
    pub without_indication: Vec<Drug>,
    /// Medicines that are unsafe below some eGFR.
    pub kidney_bound: Vec<Drug>,
}

/// Reconciles the medicines in the chart.
#[must_use]
pub(super) fn reconcile(o: &Observation) -> Reconciliation {
    let [medicines, anticholinergic, central] = o.burden_counts();
    let formulary = o.formulary();
    let bound = |drug| {
        let mut parts = each_archetype(o.known_archetypes(drug));
        parts.any(|id| formulary.get(id).renal_below.is_some())
    };
    let drugs = || o.regimen.iter().map(|row| row.drug);
    let unexplained = o.regimen.iter().filter(|row| row.indication.is_none());
    Reconciliation {
        medicines,
        anticholinergic,
        central,
        burden: o.burden,
        without_indication: unexplained.map(|row| row.drug).collect(),
        kidney_bound: drugs().filter(|drug| bound(*drug)).collect(),
    }
}
