//! Estimates from the observation: flags, broken rules, observable risk and burden, and
//! uncertainty.

use super::risk::{self, Doses};
use crate::num::clip01;
use crate::polyguard::model::candidate::{Act, ActArg, ActKind};
use crate::polyguard::model::formulary::{
    Formulary, PairId, SetRule, Severity, each_archetype, each_pair,
};
use crate::polyguard::model::observation::Observation;
use crate::polyguard::model::patient::{LAB_COUNT, Lab};
use crate::polyguard::model::regimen::{DoseBucket, Drug, Medication};

impl Observation {
    /// Returns the known archetypes that are taken, with their doses.
    #[must_use]
    #[inline]
    pub fn doses(&self) -> Doses {
        let mut doses = Doses::default();
        for row in self.regimen.iter() {
            doses.add(self.known_archetypes(row.drug), row.bucket);
        }
        doses
    }

    /// Iterates over the flagged pairs that are taken together, with their severity, in table
    /// order.
    pub fn flagged_pairs(&self) -> impl Iterator<Item = (PairId, Severity)> {
        let (formulary, egfr) = (self.formulary(), self.egfr());
        // A pair stays flagged even after its medicines have been removed.
        let pairs = risk::pairs_among(formulary, self.taken_archetypes(), self.flagged);
        each_pair(pairs).map(move |pair| (pair, formulary.pair(pair).grade.at(egfr)))
    }

    /// Returns `true` if a flagged pair that is taken together is serious.
    #[must_use]
    pub fn has_serious_flag(&self) -> bool {
        let formulary = self.formulary();
        let serious = self.flagged & formulary.trait_sets().serious_pairs(self.egfr());
        serious != 0 && risk::pairs_among(formulary, self.taken_archetypes(), serious) != 0
    }

    /// Returns each set rule, with `true` if it is visibly broken.
    #[must_use]
    pub fn broken_rules(&self) -> [(SetRule, bool); 4] {
        risk::evaluate_set_rules(
            self.formulary(),
            self.task.formulary(),
            self.taken_archetypes(),
        )
    }

    /// Returns the archetypes that are unsafe at the eGFR or, if it is unknown, those that may be
    /// unsafe; as bits of `ArchetypeId`.
    pub(crate) fn renal_limits(&self) -> u64 {
        let marks = self.formulary().trait_sets();
        self.egfr()
            .map_or(marks.renal, |egfr| marks.unsafe_at(egfr))
    }

    /// Returns `true` if a row is visibly unsafe for the kidney, or `None` if that depends on an
    /// unknown eGFR.
    #[must_use]
    pub fn renal_alert(&self, row: &Medication) -> Option<bool> {
        let formulary = self.formulary();
        let limited = self.known_archetypes(row.drug) & formulary.trait_sets().renal;
        if limited == 0 {
            return Some(false);
        }
        let egfr = self.egfr()?;
        Some(limited & formulary.trait_sets().unsafe_at(egfr) != 0)
    }

    /// Returns the number of medicines taken, their anticholinergic burden, and how many of them
    /// act on the central nervous system, as far as they are known.
    #[must_use]
    pub fn burden_counts(&self) -> [u8; 3] {
        self.burden_counts_of(self.taken_archetypes())
    }

    /// Returns the same as [`Observation::burden_counts`], for the given archetypes that are taken.
    fn burden_counts_of(&self, taken: u64) -> [u8; 3] {
        let count = self.regimen.iter().filter(|row| row.is_active()).count();
        risk::burden_counts(self.formulary(), taken, count)
    }

    /// Returns the observable risk after an act, without the noise of a candidate's estimate.
    #[must_use]
    pub fn risk_after(&self, act: Act) -> f64 {
        let row = act.drug.and_then(|drug| self.regimen.find(drug));
        row.map_or(self.risk, |row| {
            RiskEstimator::new(self, self.doses()).risk_after(act, row)
        })
    }

    /// Returns `true` if a row is a member of a set rule.
    #[must_use]
    pub fn is_member(&self, rule: SetRule, row: &Medication) -> bool {
        let members = risk::rule_members(self.formulary(), rule, self.taken_archetypes());
        self.known_archetypes(row.drug) & members != 0
    }

    /// Returns the number of archetypes taken that form a suspected, unflagged pair with a row.
    #[must_use]
    pub fn count_suspected_pairs(&self, row: &Medication) -> u32 {
        self.count_suspected_pairs_among(row, self.taken_archetypes())
    }

    /// Returns the same as [`Observation::count_suspected_pairs`], for the given archetypes that are taken.
    pub(super) fn count_suspected_pairs_among(&self, row: &Medication, mask: u64) -> u32 {
        let formulary = self.formulary();
        if !row.is_active() {
            return 0;
        }
        let parts = self.known_archetypes(row.drug);
        let suspected = each_archetype(parts).map(|id| {
            let mut others = formulary.suspects(id) & mask & !parts;
            if others != 0 {
                for pair in each_pair(formulary.pairs_with(id) & self.flagged) {
                    others &= !formulary.pair_members()[pair.index()];
                }
            }
            others.count_ones()
        });
        suspected.sum()
    }

    /// Updates all estimates: observable risk, burden and uncertainty. Returns the doses that they
    /// are based on.
    pub(crate) fn update_estimates(&mut self) -> Doses {
        self.uncertainty = self.estimate_uncertainty();
        self.update_risk()
    }

    /// Updates the observable risk and burden. Returns the doses that they are based on.
    pub(super) fn update_risk(&mut self) -> Doses {
        let doses = self.doses();
        let load = risk::risk_load(
            self.formulary(),
            self.task.formulary(),
            &doses,
            self.flagged,
            self.egfr(),
        );
        self.risk = risk::risk_from_load(load);
        self.burden = risk::burden(self.burden_counts_of(doses.mask()));
        doses
    }

    /// Returns the uncertainty, 0..=1 (spec polyguard §6.3).
    fn estimate_uncertainty(&self) -> f64 {
        let weigh = |holds: bool, weight: f64| if holds { weight } else { 0.0 };
        let formulary = self.formulary();
        let mut rows = self.regimen.iter();
        let unmeasured =
            rows.any(|row| row.level.is_none() && row.drug.has_narrow_window(formulary));
        let uncertainty = 0.1
            + 0.4 * self.labs.missing() as f64 / LAB_COUNT as f64
            + weigh(self.labs.get(Lab::Egfr).is_none(), 0.2)
            + weigh(self.conflict, 0.3)
            + weigh(self.has_unknown_product(), 0.3)
            + weigh(unmeasured, 0.1)
            + weigh(self.regimen.iter().any(Medication::is_unrevealed), 0.2)
            + 0.2 * (self.symptom.unwrap_or(0.0) - 0.3).max(0.0);
        clip01(uncertainty)
    }
}

/// The effect of an act on the doses, in enough detail for an estimate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct DoseEffect {
    /// The new dose, or `None` if it does not change; `Hold` if the medicine is removed or paused.
    pub dose: Option<DoseBucket>,
    /// The medicine that is added at the usual dose.
    pub enters: Option<Drug>,
}

/// Returns the effect of an act on a medicine at dose `bucket`.
#[must_use]
pub(super) fn dose_effect(
    act: Act,
    bucket: DoseBucket,
    resumes: DoseBucket,
    needs_taper: bool,
) -> DoseEffect {
    let to = |bucket| DoseEffect {
        dose: Some(bucket),
        enters: None,
    };
    match (act.kind, act.arg) {
        (ActKind::StopDrug | ActKind::HoldDose, _) => to(DoseBucket::Hold),
        (ActKind::SubstituteWithinClass | ActKind::RecommendAlternative, ActArg::Target(drug)) => {
            DoseEffect {
                dose: Some(if needs_taper {
                    DoseBucket::Low
                } else {
                    DoseBucket::Hold
                }),
                enters: Some(drug),
            }
        }
        (ActKind::AdjustDoseBucket, ActArg::Dose(_)) if bucket == DoseBucket::Hold => to(resumes),
        (ActKind::AdjustDoseBucket, ActArg::Dose(by)) => to(bucket.shifted(by).unwrap_or(bucket)),
        (ActKind::InitiateTaper | ActKind::ContinueTaper, _) => {
            to(bucket.shifted(-1).unwrap_or(DoseBucket::Hold))
        }
        _ => DoseEffect {
            dose: None,
            enters: None,
        },
    }
}

/// An estimator of the observable risk after acts.
pub(super) struct RiskEstimator<'a> {
    o: &'a Observation,
    formulary: &'static Formulary,
    doses: Doses,
}

impl<'a> RiskEstimator<'a> {
    pub(super) fn new(o: &'a Observation, doses: Doses) -> Self {
        Self {
            o,
            formulary: o.formulary(),
            doses,
        }
    }

    /// Returns the observable risk after an act on a row, without noise.
    pub(super) fn risk_after(&self, act: Act, row: &Medication) -> f64 {
        let (o, formulary) = (self.o, self.formulary);
        let tapers = row.drug.needs_taper(formulary);
        let effect = dose_effect(act, row.bucket, row.resumes, tapers);
        let Some(dose) = effect.dose else {
            return o.risk;
        };
        let (parts, mut doses) = (o.known_archetypes(row.drug), self.doses);
        doses.remove(parts);
        doses.add(parts, dose);
        if let Some(drug) = effect.enters {
            doses.add(o.known_archetypes(drug), DoseBucket::Medium);
        }
        let name = o.task.formulary();
        risk::risk_from_load(risk::risk_load(
            formulary,
            name,
            &doses,
            o.flagged,
            o.egfr(),
        ))
    }
}
