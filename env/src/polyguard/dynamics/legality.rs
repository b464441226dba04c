//! The legality of acts (spec polyguard §6.1). It is decided from the observation only, so a
//! refusal reveals nothing hidden.

use crate::polyguard::model::candidate::{Act, ActArg, ActKind};
use crate::polyguard::model::formulary::{ArchetypeId, each_archetype, each_pair};
use crate::polyguard::model::history::Violation;
use crate::polyguard::model::observation::Observation;
use crate::polyguard::model::regimen::{Drug, Medication};

impl Observation {
    /// Returns the reason why the verifier would refuse an act now, or `None` if it is legal.
    #[must_use]
    pub fn refusal(&self, act: Act) -> Option<Violation> {
        self.refusal_of(act, act.drug.and_then(|drug| self.regimen.find(drug)))
    }

    /// Returns the same as [`Observation::refusal`], for a row that has been looked up already.
    pub(super) fn refusal_of(&self, act: Act, row: Option<&Medication>) -> Option<Violation> {
        violation(self, act, row)
    }
}

fn violation(o: &Observation, act: Act, row: Option<&Medication>) -> Option<Violation> {
    let drug = act.drug?;
    let Some(row) = row else {
        return Some(Violation::TargetNotActive);
    };
    let formulary = o.formulary();
    let needs_taper = drug.needs_taper(formulary);
    let abrupt = needs_taper && row.is_active();
    match (act.kind, act.arg) {
        (ActKind::StopDrug, _) if abrupt => Some(Violation::AbruptStop),
        (ActKind::HoldDose, _) if !row.is_active() => Some(Violation::DoseOutOfRange),
        (ActKind::HoldDose, _) if abrupt => Some(Violation::AbruptStop),
        (ActKind::RecommendAlternative, _) if abrupt => Some(Violation::AbruptStop),
        (
            ActKind::SubstituteWithinClass | ActKind::RecommendAlternative,
            ActArg::Target(Drug::Known(target)),
        ) => entering(o, row, target),
        (ActKind::AdjustDoseBucket, ActArg::Dose(by)) => {
            let resumes = !row.is_active() && by == 1;
            let fits = resumes || row.bucket.shifted(by).is_some();
            (row.tapering || !fits).then_some(Violation::DoseOutOfRange)
        }
        (ActKind::InitiateTaper, _) if row.tapering => Some(Violation::TaperState),
        (ActKind::ContinueTaper, _) if !row.tapering => Some(Violation::TaperState),
        (ActKind::DecomposeNewDrug, _) if !o.has_unknown_product() => {
            Some(Violation::NothingToDecompose)
        }
        _ => None,
    }
}

/// Returns the reason why `target` may not replace the medicine in `row`, or `None` if it may.
fn entering(o: &Observation, row: &Medication, target: ArchetypeId) -> Option<Violation> {
    let formulary = o.formulary();
    let leaving = o.known_archetypes(row.drug);
    let component = row.drug == Drug::Product && leaving & target.bit() != 0;
    let others = o.regimen.iter().filter(|other| other.drug != row.drug);
    let present = others.fold(0, |bits, other| bits | o.known_archetypes(other.drug));
    let new = formulary.get(target);
    let shares = || {
        each_archetype(leaving)
            .any(|id| !formulary.get(id).treats.intersection(new.treats).is_empty())
    };
    if present & target.bit() != 0 || leaving & target.bit() != 0 && !component {
        return Some(Violation::DuplicateDrug);
    }
    if !component && !shares() {
        return Some(Violation::NotAnAlternative);
    }
    if o.egfr().is_some_and(|egfr| new.unsafe_at(egfr)) {
        return Some(Violation::RenalUnsafe);
    }
    let serious = formulary.trait_sets().serious_pairs(o.egfr()) & o.flagged;
    let known_pair = each_pair(formulary.pairs_with(target) & serious)
        .any(|pair| formulary.pair_members()[pair.index()] & present != 0);
    if known_pair {
        return Some(Violation::CreatesMajorPair);
    }
    let stays = row.drug.needs_taper(formulary);
    (stays && o.regimen.is_full()).then_some(Violation::RegimenFull)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::polyguard::model::formulary::Formulary;
    use crate::polyguard::model::regimen::{DoseBucket, MAX_MEDICATIONS};
    use crate::polyguard::model::setup::Setup;
    use crate::polyguard::model::state::State;
    use crate::polyguard::model::task_spec::TaskSpec;
    use crate::rng::PcgRandom;

    /// Returns a state whose first medicine must be tapered and has a substitute, with paused
    /// medicines that fill the regimen up to `rows`, and the act that substitutes it.
    fn regimen_of(rows: usize) -> (State, Act) {
        let formulary = Formulary::extended();
        let mut pairs = formulary.ids().filter_map(|id| {
            let old = formulary.get(id);
            let new = each_archetype(old.substitutes).next()?;
            let treats = !old
                .treats
                .intersection(formulary.get(new).treats)
                .is_empty();
            (old.taper && treats).then_some((id, new))
        });
        let (old, new) = pairs.next().expect("a medicine to taper");
        let mut state = State::new(&Setup::new(TaskSpec::ALL[0], 1), PcgRandom::new(1, &[]));
        let regimen = &mut state.observation.regimen;
        let row = |id, bucket| Medication::new(Drug::Known(id), bucket, None);
        assert!(regimen.push(row(old, DoseBucket::Medium)).is_some());
        let others = formulary.ids().filter(|id| *id != old && *id != new);
        for id in others.take(rows - 1) {
            assert!(regimen.push(row(id, DoseBucket::Hold)).is_some());
        }
        let act = Act {
            kind: ActKind::SubstituteWithinClass,
            drug: Some(Drug::Known(old)),
            arg: ActArg::Target(Drug::Known(new)),
        };
        (state, act)
    }

    #[test]
    fn replacement_without_free_row_is_refused() {
        let (mut state, act) = regimen_of(MAX_MEDICATIONS);
        assert_eq!(state.observation.refusal(act), Some(Violation::RegimenFull));
        let before = state.observation.regimen.clone();
        assert_eq!(state.observation.predict(act).regimen, before);
        state.apply_act(act);
        assert_eq!(state.observation.regimen, before, "nothing is half done");
        assert!(!state.observation.regimen[0].tapering);

        let (mut state, act) = regimen_of(MAX_MEDICATIONS - 1);
        assert_eq!(state.observation.refusal(act), None);
        let foreseen = state.observation.predict(act).regimen;
        assert_eq!(foreseen.len(), MAX_MEDICATIONS);
        state.apply_act(act);
        assert_eq!(state.observation.regimen.len(), MAX_MEDICATIONS);
        assert!(state.observation.regimen[0].tapering && state.observation.regimen.is_full());
    }
}
