//! Features of one candidate: its act, the medicine that it names, and the medicine that it adds.

use sentinel_env::polyguard::{
    ActArg, ActKind, ArchetypeId, Candidate, Drug, Formulary, Medication as Medicine, Observation,
    SetRule, Severity, each_archetype,
};

use crate::nn::{FeatureSchema, FeatureWriter};
use crate::polyguard::culprit_belief::CulpritBelief;

/// Names of the features of one candidate, in order.
pub const SCHEMA: FeatureSchema = FeatureSchema::new(
    "candidate",
    &[
        "kind=KEEP_REGIMEN",
        "kind=STOP_DRUG",
        "kind=SUBSTITUTE_WITHIN_CLASS",
        "kind=RECOMMEND_ALTERNATIVE",
        "kind=ADJUST_DOSE_BUCKET",
        "kind=INITIATE_TAPER",
        "kind=CONTINUE_TAPER",
        "kind=HOLD_DOSE",
        "kind=ORDER_MONITORING",
        "kind=FETCH_EXTERNAL_EVIDENCE",
        "kind=DECOMPOSE_NEW_DRUG",
        "kind=REQUEST_SPECIALIST_REVIEW",
        "kind=REQUEST_PHARMACIST_REVIEW",
        "estimated_risk",
        "estimated_change",
        "risk_change",
        "dose_up",
        "dose_down",
        "times_taken",
        "gained_nothing",
        "repeats_last",
        "medicine.named",
        "medicine.active",
        "medicine.dose",
        "medicine.tapering",
        "medicine.stale",
        "medicine.indicated",
        "medicine.not_indicated",
        "medicine.no_indication",
        "medicine.questioned",
        "medicine.level_known",
        "medicine.level",
        "medicine.level_old",
        "medicine.level_high",
        "medicine.level_low",
        "medicine.prior_doses",
        "medicine.held_before",
        "medicine.problem",
        "medicine.product",
        "medicine.sole_treatment",
        "medicine.anticholinergic",
        "medicine.cns",
        "medicine.needs_taper",
        "medicine.narrow_index",
        "medicine.renal_limit",
        "medicine.renal_alert",
        "medicine.renal_unknown",
        "medicine.suspicion",
        "medicine.substitutes",
        "medicine.flag_weight",
        "medicine.serious_flags",
        "medicine.flags",
        "medicine.broken_rules",
        "medicine.adverse_event_history",
        "medicine.culprit",
        "target.named",
        "target.anticholinergic",
        "target.cns",
        "target.needs_taper",
        "target.renal_limit",
        "target.renal_unknown",
        "target.suspicion",
        "target.unsuspected",
        "target.tags",
        "target.adverse_event_history",
        "target.treats_indication",
        "target.duplicates_class",
    ],
);

/// Number of features of one candidate.
pub const PER_CANDIDATE: usize = SCHEMA.width();
const _: () = assert!(PER_CANDIDATE == 67, "a change needs a new feature version");

/// Number of features of the medicine that a candidate names.
const MEDICINE: usize = 19 + 15;
/// Number of features of the medicine that a candidate adds.
const TARGET: usize = 12;

/// The facts of an observation that the features of all its candidates share, computed once. Detailed
/// prompts state the same facts.
pub(crate) struct ObservationFacts<'a> {
    o: &'a Observation,
    formulary: &'static Formulary,
    taken: u64,
    /// Archetypes of each flagged pair as bits, with its severity.
    flags: Vec<(u64, Severity)>,
    broken: Vec<SetRule>,
    culprit: &'a CulpritBelief,
}

/// The flagged pairs and rules that a medicine takes part in.
pub(crate) struct Interactions {
    /// Summed weight of the flagged pairs.
    pub(crate) weight: f64,
    /// Number of flagged pairs that count as serious.
    pub(crate) serious: usize,
    /// Number of flagged pairs.
    pub(crate) flags: usize,
    /// Number of visibly broken rules about sets.
    pub(crate) broken_rules: usize,
}

/// The effects of adding a medicine, in place of another one where it is a substitution.
pub(crate) struct Addition {
    /// Number of medicines that stay and may interact with it.
    pub(crate) suspected_pairs: u32,
    /// `true` if it treats the condition of the medicine that it replaces.
    pub(crate) treats_indication: bool,
    /// `true` if a medicine of its class stays.
    pub(crate) duplicates_class: bool,
    /// `true` if it depends on the eGFR, which is not known.
    pub(crate) renal_unknown: bool,
}

impl<'a> ObservationFacts<'a> {
    pub(super) fn new(o: &'a Observation, culprit: &'a CulpritBelief) -> Self {
        let formulary = o.formulary();
        let archetypes = |pair| {
            let pair = formulary.pair(pair);
            pair.first.bit() | pair.second.bit()
        };
        let flags = o
            .flagged_pairs()
            .map(|(pair, severity)| (archetypes(pair), severity));
        let broken = o.broken_rules().into_iter().filter(|(_, broken)| *broken);
        Self {
            o,
            formulary,
            taken: o.doses().mask(),
            flags: flags.collect(),
            broken: broken.map(|(rule, _)| rule).collect(),
            culprit,
        }
    }

    /// Returns the number of flagged pairs that count as serious.
    pub(super) fn serious_flags(&self) -> usize {
        let serious = self
            .flags
            .iter()
            .filter(|(_, severity)| severity.is_serious());
        serious.count()
    }

    /// Returns the largest probability of a suspect of the symptom.
    pub(super) fn culprit_certainty(&self) -> f64 {
        self.culprit.certainty()
    }

    /// Returns the number of rules about sets that are visibly broken.
    pub(super) fn broken_rules(&self) -> usize {
        self.broken.len()
    }

    /// Returns the flagged pairs and broken rules that a medicine takes part in.
    pub(crate) fn interactions(&self, medicine: &Medicine) -> Interactions {
        let parts = self.o.known_archetypes(medicine.drug);
        let (mut weight, mut serious, mut flags) = (0.0, 0, 0);
        for (archetypes, severity) in &self.flags {
            if archetypes & parts != 0 {
                weight += severity.weight();
                serious += usize::from(severity.is_serious());
                flags += 1;
            }
        }
        let rules = self.broken.iter();
        let broken_rules = rules.filter(|rule| self.o.is_member(**rule, medicine));
        Interactions {
            weight,
            serious,
            flags,
            broken_rules: broken_rules.count(),
        }
    }

    /// Returns the probability that a medicine contains the culprit of the symptom.
    pub(crate) fn culprit_probability(&self, medicine: &Medicine) -> f64 {
        self.culprit
            .probability(self.o.known_archetypes(medicine.drug))
    }

    /// Returns `true` if no other medicine that is taken treats the condition of this one.
    pub(crate) fn is_sole_treatment(&self, medicine: &Medicine) -> bool {
        let others = self.taken_without(Some(medicine));
        medicine.indication.is_some_and(|condition| {
            !each_archetype(others).any(|id| self.formulary.get(id).treats.contains(condition))
        })
    }

    /// Returns the known archetypes that are taken without those of `leaving`, as bits.
    fn taken_without(&self, leaving: Option<&Medicine>) -> u64 {
        let leaving = leaving.map_or(0, |medicine| self.o.known_archetypes(medicine.drug));
        self.taken & !leaving
    }

    /// Returns the effects of adding medicine `id`, in place of `replaced` if there is one.
    pub(crate) fn addition(&self, replaced: Option<&Medicine>, id: ArchetypeId) -> Addition {
        let (new, stays) = (self.formulary.get(id), self.taken_without(replaced));
        let suspected = self.formulary.suspects(id) & stays;
        let wanted = replaced.and_then(|medicine| medicine.indication);
        let in_class = |other| self.formulary.get(other).class_id == new.class_id;
        Addition {
            suspected_pairs: suspected.count_ones(),
            treats_indication: wanted.is_some_and(|condition| new.treats.contains(condition)),
            duplicates_class: each_archetype(stays).any(in_class),
            renal_unknown: new.renal_below.is_some() && self.o.egfr().is_none(),
        }
    }

    /// Computes the features of one candidate.
    pub(super) fn features(&self, candidate: &Candidate) -> [f32; PER_CANDIDATE] {
        let mut row = FeatureWriter::new(&SCHEMA);
        let (o, act) = (self.o, candidate.act);
        row.push_one_hot("kind", ActKind::ALL.len(), Some(act.kind as usize));
        row.push("estimated_risk", candidate.est_risk);
        row.push("estimated_change", candidate.est_delta);
        row.push("risk_change", o.risk_after(act) - o.risk);
        row.push_bool("dose_up", act.arg == ActArg::Dose(1));
        row.push_bool("dose_down", act.arg == ActArg::Dose(-1));
        let before = o.history.iter().filter(|past| past.act == Some(act));
        row.push("times_taken", before.clone().count() as f64 / 3.0);
        row.push_bool(
            "gained_nothing",
            before.clone().next_back().is_some_and(|past| !past.gained),
        );
        row.push_bool(
            "repeats_last",
            o.history.last().is_some_and(|past| past.act == Some(act)),
        );
        let medicine = act.drug.and_then(|drug| o.regimen.find(drug));
        match medicine {
            Some(medicine) => {
                self.state(&mut row, medicine);
                self.traits(&mut row, medicine);
            }
            None => row.skip(MEDICINE),
        }
        match act.arg {
            ActArg::Target(Drug::Known(id)) => self.target(&mut row, medicine, id.bit()),
            _ => row.skip(TARGET),
        }
        row.finish()
    }

    /// Writes the features of the medicine that the chart states.
    fn state(&self, row: &mut FeatureWriter<[f32; PER_CANDIDATE]>, medicine: &Medicine) {
        let o = self.o;
        row.push_bool("medicine.named", true);
        row.push_bool("medicine.active", medicine.is_active());
        row.push("medicine.dose", medicine.bucket.dose());
        row.push_bool("medicine.tapering", medicine.tapering);
        row.push_bool("medicine.stale", medicine.stale);
        row.push_bool("medicine.indicated", medicine.status == Some(true));
        row.push_bool("medicine.not_indicated", medicine.status == Some(false));
        row.push_bool("medicine.no_indication", medicine.indication.is_none());
        row.push_bool("medicine.questioned", medicine.questioned);
        row.push_bool("medicine.level_known", medicine.level.is_some());
        row.push(
            "medicine.level",
            medicine.level.map_or(0.0, |level| level - 1.0),
        );
        row.push_bool("medicine.level_old", medicine.level_is_old);
        row.push_bool(
            "medicine.level_high",
            medicine.level.is_some_and(|level| level > 1.25),
        );
        row.push_bool(
            "medicine.level_low",
            medicine.level.is_some_and(|level| level < 0.75),
        );
        row.push("medicine.prior_doses", f64::from(medicine.prior) / 2.0);
        let held = |act: sentinel_env::polyguard::Act| {
            act.kind == ActKind::HoldDose && act.drug == Some(medicine.drug)
        };
        row.push_bool(
            "medicine.held_before",
            o.history.iter().filter_map(|past| past.act).any(held),
        );
        row.push_bool("medicine.problem", o.problem == Some(medicine.drug));
        row.push_bool("medicine.product", medicine.drug == Drug::Product);
        row.push_bool("medicine.sole_treatment", self.is_sole_treatment(medicine));
    }

    /// Writes the features of the medicine's known archetypes and of its interactions.
    fn traits(&self, row: &mut FeatureWriter<[f32; PER_CANDIDATE]>, medicine: &Medicine) {
        let (o, parts) = (self.o, self.o.known_archetypes(medicine.drug));
        let known = each_archetype(parts).map(|id| self.formulary.get(id));
        let (mut acb, mut cns, mut narrow, mut renal, mut substitutes) = (0, false, false, 0.0, 0);
        for archetype in known {
            acb += archetype.acb;
            cns |= archetype.cns;
            narrow |= archetype.narrow;
            renal = f64::max(renal, archetype.renal_below.unwrap_or(0.0));
            substitutes += archetype.substitutes.count_ones();
        }
        row.push("medicine.anticholinergic", f64::from(acb) / 3.0);
        row.push_bool("medicine.cns", cns);
        row.push_bool(
            "medicine.needs_taper",
            medicine.drug.needs_taper(self.formulary),
        );
        row.push_bool("medicine.narrow_index", narrow);
        row.push("medicine.renal_limit", renal / 60.0);
        row.push_bool(
            "medicine.renal_alert",
            o.renal_alert(medicine) == Some(true),
        );
        row.push_bool("medicine.renal_unknown", o.renal_alert(medicine).is_none());
        row.push(
            "medicine.suspicion",
            f64::from(o.count_suspected_pairs(medicine)) / 5.0,
        );
        row.push("medicine.substitutes", f64::from(substitutes) / 2.0);
        let found = self.interactions(medicine);
        row.push("medicine.flag_weight", found.weight);
        row.push("medicine.serious_flags", found.serious as f64 / 2.0);
        row.push("medicine.flags", found.flags as f64 / 3.0);
        row.push("medicine.broken_rules", found.broken_rules as f64);
        row.push_bool("medicine.adverse_event_history", o.ade_history & parts != 0);
        row.push("medicine.culprit", self.culprit_probability(medicine));
    }

    /// Writes the features of the medicine that the candidate adds.
    fn target(
        &self,
        row: &mut FeatureWriter<[f32; PER_CANDIDATE]>,
        medicine: Option<&Medicine>,
        target: u64,
    ) {
        let o = self.o;
        let Some(id) = each_archetype(target).next() else {
            return row.skip(TARGET);
        };
        let found = self.addition(medicine, id);
        let new = self.formulary.get(id);
        row.push_bool("target.named", true);
        row.push("target.anticholinergic", f64::from(new.acb) / 3.0);
        row.push_bool("target.cns", new.cns);
        row.push_bool("target.needs_taper", new.taper);
        row.push("target.renal_limit", new.renal_below.unwrap_or(0.0) / 60.0);
        row.push_bool("target.renal_unknown", found.renal_unknown);
        row.push("target.suspicion", f64::from(found.suspected_pairs) / 5.0);
        row.push_bool("target.unsuspected", found.suspected_pairs == 0);
        row.push("target.tags", f64::from(new.tags.len()) / 3.0);
        row.push_bool("target.adverse_event_history", o.ade_history & target != 0);
        row.push_bool("target.treats_indication", found.treats_indication);
        row.push_bool("target.duplicates_class", found.duplicates_class);
    }
}
