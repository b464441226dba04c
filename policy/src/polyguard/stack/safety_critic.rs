//! The critic: vetoes choices that must not be taken.

use sentinel_env::named_enum;
use sentinel_env::polyguard::{ActKind, Candidate, CandidateId, Medication, Observation};

/// Largest permitted rise of the estimated risk.
const RISE_MAX: f64 = 0.15;

named_enum! {
    /// The reason of a veto.
    pub enum Veto {
        /// The candidate is not shown, would be refused, or breaks an anti-cheat rule.
        Illegal = "illegal",
        /// The estimated risk would rise by more than the limit.
        RaisesRisk = "raises_risk",
        /// The act stops the only medicine shown for a condition, and nothing shown is a reason
        /// against that medicine.
        LeavesUntreated = "leaves_untreated",
    }
}

/// The result of the critic in one step.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Critique {
    /// Vetoed candidates with reasons, in the order in which they were proposed.
    pub vetoes: Vec<(CandidateId, Veto)>,
    /// Candidate that replaced the choice without a new plan.
    pub fallback: Option<CandidateId>,
}

/// Returns the reason to veto a candidate; `None` if it may be taken.
#[must_use]
pub(super) fn veto(o: &Observation, id: CandidateId) -> Option<Veto> {
    let Some(candidate) = o.candidates.get(id) else {
        return Some(Veto::Illegal);
    };
    let act = candidate.act;
    if o.refusal(act).is_some() || o.predicted_exploit(act).is_some() {
        Some(Veto::Illegal)
    } else if candidate.est_delta > RISE_MAX {
        Some(Veto::RaisesRisk)
    } else {
        leaves_untreated(o, candidate).then_some(Veto::LeavesUntreated)
    }
}

/// Returns the penalty of a candidate: the rise of the estimated risk, plus 1 if it would be
/// vetoed.
#[must_use]
pub(super) fn penalty(o: &Observation, id: CandidateId) -> f64 {
    let rise = o.candidates.get(id).map_or(0.0, |c| c.est_delta.max(0.0));
    rise + if veto(o, id).is_some() { 1.0 } else { 0.0 }
}

/// Returns the replacement for a vetoed choice: a review, else keeping the regimen, else the first
/// of `open` that would not be vetoed.
#[must_use]
pub(super) fn replacement(o: &Observation, open: &[CandidateId]) -> Option<CandidateId> {
    let of_kind = |is: fn(ActKind) -> bool| {
        let kind = |id: &CandidateId| o.candidates.get(*id).is_some_and(|c| is(c.act.kind));
        open.iter().copied().find(kind)
    };
    of_kind(ActKind::is_review)
        .or_else(|| of_kind(|kind| kind == ActKind::KeepRegimen))
        .or_else(|| open.iter().copied().find(|id| veto(o, *id).is_none()))
}

fn leaves_untreated(o: &Observation, candidate: &Candidate) -> bool {
    let row = candidate.act.drug.and_then(|drug| o.regimen.find(drug));
    let Some(row) = row.filter(|_| candidate.act.kind == ActKind::StopDrug) else {
        return false;
    };
    let Some(condition) = row.indication else {
        return false;
    };
    let others = o
        .regimen
        .iter()
        .filter(|other| other.drug != row.drug && other.is_active());
    let covered = others
        .into_iter()
        .any(|other| other.indication == Some(condition));
    !covered && !speaks_against(o, row)
}

/// Returns `true` if the chart shows a reason against a medicine: a flag, a renal alert, a broken
/// rule, evidence that it is not needed, or the suspicion that it causes a symptom.
fn speaks_against(o: &Observation, row: &Medication) -> bool {
    let parts = o.known_archetypes(row.drug);
    let in_pair = o.flagged_pairs().any(|(pair, _)| {
        let pair = o.formulary().pair(pair);
        (pair.first.bit() | pair.second.bit()) & parts != 0
    });
    let broken = o.broken_rules().into_iter().filter(|(_, broken)| *broken);
    in_pair
        || row.is_shown_unneeded()
        || row.prior > 0
        || o.renal_alert(row) == Some(true)
        || broken.into_iter().any(|(rule, _)| o.is_member(rule, row))
}
