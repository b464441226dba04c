//! Prediction of the observation after an act, as far as an agent can foresee it.

use super::estimates::dose_effect;
use crate::polyguard::model::candidate::{Act, ActArg, ActKind};
use crate::polyguard::model::formulary::Condition;
use crate::polyguard::model::history::PastStep;
use crate::polyguard::model::observation::Observation;
use crate::polyguard::model::regimen::{DoseBucket, Drug, Medication};

impl Observation {
    /// Returns the observation after an act, as far as it can be foreseen: medicines, observable
    /// risk and burden, and the step count. New findings and new flags cannot be foreseen, and the
    /// candidates stay the current ones.
    #[must_use]
    pub fn predict(&self, act: Act) -> Self {
        let mut next = self.clone();
        let place = act.drug.and_then(|drug| self.regimen.position(drug));
        if let Some(at) = place {
            next.change(at, act);
        }
        next.update_risk();
        next.step_count = next.step_count.saturating_add(1);
        next.history.push(PastStep {
            act: Some(act),
            violation: None,
            gained: false,
        });
        next
    }

    fn change(&mut self, at: usize, act: Act) {
        let row = self.regimen[at];
        let tapers = row.drug.needs_taper(self.formulary());
        let foreseen = dose_effect(act, row.bucket, row.resumes, tapers);
        let Some(bucket) = foreseen.dose else {
            return;
        };
        let replaced = foreseen.enters.is_some() && tapers;
        if replaced && self.regimen.is_full() {
            return;
        }
        match bucket {
            DoseBucket::Hold if act.kind != ActKind::HoldDose => self.regimen.remove(at),
            bucket => {
                let row = &mut self.regimen[at];
                row.tapering |= act.kind.is_taper() || replaced;
                row.resumes = if bucket == DoseBucket::Hold {
                    row.bucket
                } else {
                    bucket
                };
                row.bucket = bucket;
                row.level_is_old = row.level.is_some();
            }
        }
        if let ActArg::Target(drug @ Drug::Known(_)) = act.arg {
            let indication = self.passes_on(&row, drug);
            let new = Medication::new(drug, DoseBucket::Medium, indication);
            let place = self.regimen.push(new);
            debug_assert!(place.is_some(), "a medicine left, or there was room");
        }
    }

    /// Returns the indication that a replacement takes over: the same one if it treats that, else
    /// its first.
    fn passes_on(&self, row: &Medication, drug: Drug) -> Option<Condition> {
        let treats = self.formulary().get(drug.archetype()?).treats;
        let indication = row.indication?;
        if treats.contains(indication) {
            return Some(indication);
        }
        treats.iter().next()
    }
}
