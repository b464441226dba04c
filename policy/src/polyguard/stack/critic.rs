//! The critic: vetoes what must not happen.

use sentinel_env::named_enum;
use sentinel_env::polyguard::{Candidate, CandidateId, Kind, Medication, Observation};

/// Most that the estimated risk may rise.
const RISE_MAX: f64 = 0.15;

named_enum! {
    /// Why something is vetoed.
    pub enum Veto {
        /// It is not shown, would be refused, or counts as cheating.
        Illegal = "illegal",
        /// The estimated risk rises too far.
        RaisesRisk = "raises_risk",
        /// It stops the only medicine shown for a condition, while nothing speaks against that medicine.
        LeavesUntreated = "leaves_untreated",
    }
}

/// What the critic did in a step.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Critique {
    /// What was vetoed, in the order in which it was proposed.
    pub vetoes: Vec<(CandidateId, Veto)>,
    /// What was put in its place without a new plan.
    pub fallback: Option<CandidateId>,
}

/// Returns why a candidate is vetoed, if it is.
#[must_use]
pub(super) fn veto(o: &Observation, id: CandidateId) -> Option<Veto> {
    let Some(candidate) = o.candidates.get(id) else {
        return Some(Veto::Illegal);
    };
    let act = candidate.act;
    if o.refusal(act).is_some() || o.foreseen_exploit(act).is_some() {
        Some(Veto::Illegal)
    } else if candidate.est_delta > RISE_MAX {
        Some(Veto::RaisesRisk)
    } else {
        leaves_untreated(o, candidate).then_some(Veto::LeavesUntreated)
    }
}

/// Returns how much is wrong with a candidate: the rise of the estimated risk, and 1 for a veto.
#[must_use]
pub(super) fn penalty(o: &Observation, id: CandidateId) -> f64 {
    let rise = o.candidates.get(id).map_or(0.0, |c| c.est_delta.max(0.0));
    rise + if veto(o, id).is_some() { 1.0 } else { 0.0 }
}

/// Returns what takes the place of something vetoed: a review, else keeping, else the first that is neither
/// vetoed nor barred.
#[must_use]
pub(super) fn fallback(o: &Observation, open: &[CandidateId]) -> Option<CandidateId> {
    let of_kind = |is: fn(Kind) -> bool| {
        let kind = |id: &CandidateId| o.candidates.get(*id).is_some_and(|c| is(c.act.kind));
        open.iter().copied().find(kind)
    };
    of_kind(Kind::is_review)
        .or_else(|| of_kind(|kind| kind == Kind::KeepRegimen))
        .or_else(|| open.iter().copied().find(|id| veto(o, *id).is_none()))
}

fn leaves_untreated(o: &Observation, candidate: &Candidate) -> bool {
    let row = candidate.act.drug.and_then(|drug| o.regimen.find(drug));
    let Some(row) = row.filter(|_| candidate.act.kind == Kind::StopDrug) else {
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

/// Returns whether anything shown speaks against a medicine: a flag, an alert, a broken rule, evidence that
/// it is not needed, or the suspicion of a symptom.
fn speaks_against(o: &Observation, row: &Medication) -> bool {
    let parts = o.parts(row.drug);
    let in_pair = o.flags().any(|(pair, _)| {
        let pair = o.formulary().pair(pair);
        (pair.first.bit() | pair.second.bit()) & parts != 0
    });
    let broken = o.broken_rules().into_iter().filter(|(_, broken)| *broken);
    in_pair
        || row.shown_unneeded()
        || row.prior > 0
        || o.renal_alert(row) == Some(true)
        || broken.into_iter().any(|(rule, _)| o.is_member(rule, row))
}
