//! What a verifier refuses (spec polyguard §6.1).

use super::{Arg, Kind};
use crate::polyguard::formulary::{ArchetypeId, each};
use crate::polyguard::history::Act;
use crate::polyguard::observation::Observation;
use crate::polyguard::regimen::{Drug, Row};
use crate::polyguard::violation::Violation;

/// Why an act is refused, if it is. Only what is known counts: a verifier does not give away what
/// is hidden.
#[must_use]
pub(in crate::polyguard) fn violation(o: &Observation, act: Act) -> Option<Violation> {
    let formulary = o.formulary();
    let drug = act.drug?;
    let Some(row) = o.regimen.of(drug) else {
        return Some(Violation::TargetNotActive);
    };
    let needs_taper = drug.needs_taper(formulary);
    let abrupt = needs_taper && row.is_active();
    match (act.kind, act.arg) {
        (Kind::StopDrug, _) if abrupt => Some(Violation::AbruptStop),
        (Kind::HoldDose, _) if !row.is_active() => Some(Violation::DoseOutOfRange),
        (Kind::HoldDose, _) if abrupt => Some(Violation::AbruptStop),
        (Kind::RecommendAlternative, _) if abrupt => Some(Violation::AbruptStop),
        (
            Kind::SubstituteWithinClass | Kind::RecommendAlternative,
            Arg::Target(Drug::Known(target)),
        ) => entering(o, row, target),
        (Kind::AdjustDoseBucket, Arg::Dose(by)) => {
            let resumes = !row.is_active() && by == 1;
            let fits = resumes || row.bucket.moved(by).is_some();
            (row.tapering || !fits).then_some(Violation::DoseOutOfRange)
        }
        (Kind::InitiateTaper, _) if row.tapering => Some(Violation::TaperState),
        (Kind::ContinueTaper, _) if !row.tapering => Some(Violation::TaperState),
        (Kind::DecomposeNewDrug, _) if !o.has_unknown_product() => {
            Some(Violation::NothingToDecompose)
        }
        _ => None,
    }
}

/// Why a medicine may not come in for another.
fn entering(o: &Observation, row: &Row, target: ArchetypeId) -> Option<Violation> {
    let formulary = o.formulary();
    let leaving = o.parts(row.drug);
    let component = row.drug == Drug::Product && leaving & target.bit() != 0;
    let others = o.regimen.iter().filter(|other| other.drug != row.drug);
    let present = others.fold(0, |bits, other| bits | o.parts(other.drug));
    let new = formulary.get(target);
    let shares = each(leaving).any(|id| !formulary.get(id).treats.and(new.treats).is_empty());
    if present & target.bit() != 0 || leaving & target.bit() != 0 && !component {
        return Some(Violation::DuplicateDrug);
    }
    if !component && !shares {
        return Some(Violation::NotAnAlternative);
    }
    if o.egfr().is_some_and(|egfr| new.unsafe_at(egfr)) {
        return Some(Violation::RenalUnsafe);
    }
    let known_pair = each(formulary.partners(target) & present)
        .filter_map(|other| formulary.between(target, other))
        .filter(|pair| o.flagged & pair.bit() != 0)
        .any(|pair| formulary.pair(pair).grade.at(o.egfr()).is_serious());
    known_pair.then_some(Violation::CreatesMajorPair)
}
