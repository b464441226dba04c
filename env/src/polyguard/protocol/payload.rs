//! The observation as JSON, in the groups of spec polyguard §9.3.
//!
//! Everything here is built from an [`Observation`] only, so nothing hidden can be included.
#![allow(
    missing_docs,
    reason = "the field names are the protocol, spec api §2.4"
)]

use serde::ser::{Serialize, Serializer};

use super::rows::{CandidateRow, PastRow};
use crate::num::round_to;
use crate::polyguard::model::formulary::{
    ArchetypeId, Condition, PRODUCT_NAME, Tags, each_archetype,
};
use crate::polyguard::model::history::Violation;
use crate::polyguard::model::observation::Observation;
use crate::polyguard::model::patient::{Lab, ShownLabs};
use crate::polyguard::model::regimen::{Drug, Medication};
#[cfg(feature = "schema")]
use crate::polyguard::model::{
    formulary::{SetRule, Severity, Tag},
    patient::Sex,
    regimen::DoseBucket,
    task_spec::{Difficulty, SubEnvironment},
};
use crate::schema::impl_json_schema;

/// The observation as JSON.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(rename = "PolyguardObservation")
)]
pub struct ObservationPayload {
    /// Always true: a simulation, never for patient care.
    pub research_only: bool,
    /// The kind of task.
    #[cfg_attr(feature = "schema", schemars(with = "SubEnvironment"))]
    pub sub_environment: &'static str,
    /// Difficulty of the episode.
    #[cfg_attr(feature = "schema", schemars(with = "Difficulty"))]
    pub difficulty: &'static str,
    /// Steps taken and left.
    pub step_budget: StepBudget,
    /// The patient, as the chart describes them.
    pub patient_summary: PatientSummary,
    /// Conditions of the patient.
    #[cfg_attr(feature = "schema", schemars(with = "Vec<Condition>"))]
    pub comorbidities: Vec<&'static str>,
    /// Rows of the current regimen.
    pub medication_table: Vec<MedicationRow>,
    /// Laboratory values and vital signs.
    pub organ_function: OrganFunction,
    /// Known interactions and alerts.
    pub graph_safety_summary: GraphSafety,
    /// Burden of the regimen.
    pub burden_summary: BurdenSummary,
    /// Doses that may be wrong.
    pub precision_dosing_flags: Vec<DosingFlag>,
    /// Conflicts that are not resolved.
    pub unresolved_conflicts: Vec<&'static str>,
    /// Suspects of the symptom.
    pub suspects: Vec<Suspect>,
    /// Strength of the symptom, or null.
    pub symptom: Option<f64>,
    /// The medicine to be replaced, or null.
    pub problem_drug: Option<&'static str>,
    /// The acts to choose from.
    pub candidates: Vec<CandidateRow>,
    /// The steps taken so far.
    pub action_history: Vec<PastRow>,
    /// Counts of warnings so far.
    pub warning_summary: WarningSummary,
    /// The basis for deciding on a review.
    pub abstention: Abstention,
}

/// The number of steps taken and left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StepBudget {
    /// Number of steps taken.
    pub step_count: u8,
    /// Step budget of the episode.
    #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
    pub max_steps: u8,
    /// Number of steps left.
    pub steps_left: u8,
}

/// A questioned dose and its measured level.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DosingFlag {
    /// Name of the medicine.
    pub drug: &'static str,
    /// Bucket of the dose.
    #[cfg_attr(feature = "schema", schemars(with = "DoseBucket"))]
    pub dose_bucket: &'static str,
    /// Measured level of the medicine, or null.
    pub level: Option<f64>,
}

/// A suspect of the symptom.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Suspect {
    /// Name of the medicine.
    pub drug: &'static str,
    /// Weight before any evidence.
    pub prior_weight: u8,
    /// Flag that it is paused.
    pub held: bool,
}

/// The uncertainty, the basis for deciding on a review.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Abstention {
    /// Uncertainty about the case, 0 to 1.
    #[cfg_attr(feature = "schema", schemars(with = "crate::schema::Share"))]
    pub uncertainty: f64,
}

impl ObservationPayload {
    /// Builds the payload of an observation.
    #[must_use]
    pub fn from_observation(o: &Observation) -> Self {
        let formulary = o.formulary();
        let name = |drug: Drug| drug.name(formulary);
        let rows = || o.regimen.iter();
        let [medicines, anticholinergic_burden, cns_active] = o.burden_counts();
        Self {
            research_only: true,
            sub_environment: o.task.sub_environment().name(),
            difficulty: o.task.difficulty().name(),
            step_budget: StepBudget {
                step_count: o.step_count,
                max_steps: o.budget,
                steps_left: o.budget.saturating_sub(o.step_count),
            },
            patient_summary: PatientSummary::from_observation(o),
            comorbidities: o.patient.comorbidities.iter().map(|c| c.name()).collect(),
            medication_table: rows().map(|row| MedicationRow::new(o, row)).collect(),
            organ_function: OrganFunction::from_observation(o),
            graph_safety_summary: GraphSafety::from_observation(o),
            burden_summary: BurdenSummary {
                medicines,
                anticholinergic_burden,
                cns_active,
                burden: round_to(o.burden, 3),
            },
            precision_dosing_flags: (rows().filter(|row| row.questioned))
                .map(|row| DosingFlag {
                    drug: name(row.drug),
                    dose_bucket: row.bucket.name(),
                    level: row.level.map(|level| round_to(level, 2)),
                })
                .collect(),
            unresolved_conflicts: if o.conflict {
                vec!["specialist_conflict"]
            } else {
                Vec::new()
            },
            suspects: (rows().filter(|row| row.prior > 0))
                .map(|row| Suspect {
                    drug: name(row.drug),
                    prior_weight: row.prior,
                    held: !row.is_active(),
                })
                .collect(),
            symptom: o.symptom.map(|symptom| round_to(symptom, 3)),
            problem_drug: o.problem.map(name),
            candidates: CandidateRow::all(o),
            action_history: (1..)
                .zip(o.history.iter())
                .map(|(step, past)| PastRow::new(step, past, formulary))
                .collect(),
            warning_summary: WarningSummary::from_observation(o),
            abstention: Abstention {
                uncertainty: round_to(o.uncertainty, 3),
            },
        }
    }
}

/// The patient, as the chart describes them.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PatientSummary {
    /// Age of the patient in years.
    pub age: u8,
    /// Sex of the patient.
    #[cfg_attr(feature = "schema", schemars(with = "Sex"))]
    pub sex: &'static str,
    /// Frailty of the patient, 0 to 1.
    pub frailty_score: f64,
    /// Estimated adherence of the patient, 0 to 1.
    pub adherence_estimate: f64,
    /// Medicines that were not tolerated before.
    pub prior_ade_history: Vec<&'static str>,
}

/// A medicine of the chart, with the public traits of its archetype.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MedicationRow {
    /// Name of the archetype.
    pub drug: &'static str,
    /// Name of the class, if known.
    pub class_name: Option<&'static str>,
    /// Bucket of the dose.
    #[cfg_attr(feature = "schema", schemars(with = "DoseBucket"))]
    pub dose_bucket: &'static str,
    /// Condition that it treats, or null.
    #[cfg_attr(feature = "schema", schemars(with = "Option<Condition>"))]
    pub indication: Option<&'static str>,
    /// It must be tapered, not stopped.
    pub requires_taper: bool,
    /// A taper has begun.
    pub tapering: bool,
    /// The indication is under review.
    pub stale: bool,
    /// `needed` or `not_needed`, once evidence was found.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "String", extend("enum" = ["needed", "not_needed"])))]
    pub status: Option<&'static str>,
    /// Last measured level; 1 is the middle of the window.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "f64"))]
    pub level: Option<f64>,
    /// The dose was changed since that measurement.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "bool"))]
    pub level_is_old: Option<bool>,
    /// Components of a product, once they were looked up.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub components: Vec<&'static str>,
    /// Public traits of the medicine.
    #[cfg_attr(feature = "schema", schemars(with = "Vec<Tag>"))]
    pub tags: Vec<&'static str>,
    /// Anticholinergic burden over known parts.
    pub anticholinergic_burden: u8,
    /// eGFR below which it is unsafe, or null.
    pub unsafe_below_egfr: Option<f64>,
    /// It has a narrow therapeutic window.
    pub narrow_window: bool,
}

/// The laboratory values, vitals, and whether values are on order.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OrganFunction {
    /// Laboratory values by name; null if missing.
    pub labs: LabRow,
    /// All values come with the next step.
    pub labs_ordered: bool,
    /// Vital signs of the patient.
    pub vitals: Vitals,
}

/// The laboratory values; missing ones are `null`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LabRow(pub ShownLabs);

impl LabRow {
    /// Iterates over names and values, in the order of [`Lab`].
    pub(super) fn rows(&self) -> impl Iterator<Item = (&'static str, Option<f64>)> + '_ {
        let value = |lab: Lab| self.0.get(lab).map(|value| round_to(value, 1));
        Lab::ALL.iter().map(move |lab| (lab.name(), value(*lab)))
    }
}

impl Serialize for LabRow {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.rows())
    }
}

impl_json_schema!([] LabRow, "LabRow", |generator| {
    generator.subschema_for::<std::collections::BTreeMap<String, Option<f64>>>()
});

/// The vital signs of the patient.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Vitals {
    /// Systolic blood pressure in mmHg.
    pub systolic_mmhg: f64,
    /// Heart rate in beats per minute.
    pub heart_rate: f64,
    /// Respiratory rate in breaths per minute.
    pub respiratory_rate: f64,
}

impl PatientSummary {
    fn from_observation(o: &Observation) -> Self {
        let formulary = o.formulary();
        Self {
            age: o.patient.age,
            sex: o.patient.sex.name(),
            frailty_score: o.patient.frailty,
            adherence_estimate: o.patient.adherence,
            prior_ade_history: each_archetype(o.ade_history)
                .map(|id| formulary.get(id).name.as_str())
                .collect(),
        }
    }
}

impl MedicationRow {
    fn new(o: &Observation, row: &Medication) -> Self {
        let formulary = o.formulary();
        let parts = || each_archetype(o.known_archetypes(row.drug)).map(|id| formulary.get(id));
        let tags = parts().fold(Tags::EMPTY, |tags, part| tags.union(part.tags));
        Self {
            drug: row.drug.name(formulary),
            class_name: row
                .drug
                .archetype()
                .map(|id| formulary.get(id).class.as_str()),
            dose_bucket: row.bucket.name(),
            indication: row.indication.map(Condition::name),
            requires_taper: row.drug.needs_taper(formulary),
            tapering: row.tapering,
            stale: row.stale,
            status: row
                .status
                .map(|needed| if needed { "needed" } else { "not_needed" }),
            level: row.level.map(|level| round_to(level, 2)),
            level_is_old: row.level.map(|_| row.level_is_old),
            components: match row.drug {
                Drug::Product => parts().map(|part| part.name.as_str()).collect(),
                Drug::Known(_) => Vec::new(),
            },
            tags: tags.iter().map(|tag| tag.name()).collect(),
            anticholinergic_burden: parts().map(|part| part.acb).sum(),
            unsafe_below_egfr: parts().filter_map(|part| part.renal_below).reduce(f64::max),
            narrow_window: parts().any(|part| part.narrow),
        }
    }
}

impl OrganFunction {
    const fn from_observation(o: &Observation) -> Self {
        Self {
            labs: LabRow(o.labs),
            labs_ordered: o.labs_ordered,
            vitals: Vitals {
                systolic_mmhg: o.patient.systolic_mmhg,
                heart_rate: o.patient.heart_rate,
                respiratory_rate: o.patient.respiratory_rate,
            },
        }
    }
}

/// The known interactions and alerts.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GraphSafety {
    /// Pairs that are taken together.
    pub flagged_pairs: Vec<FlaggedPair>,
    /// Broken rules about sets.
    #[cfg_attr(feature = "schema", schemars(with = "Vec<SetRule>"))]
    pub set_rules: Vec<&'static str>,
    /// Medicines that are unsafe for the kidney.
    pub renal_alerts: Vec<&'static str>,
    /// Risk as far as it is known.
    pub observed_risk: f64,
}

/// A flagged pair that is taken together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FlaggedPair {
    /// Name of one medicine.
    pub first: &'static str,
    /// Name of the other medicine.
    pub second: &'static str,
    /// Severity of the interaction.
    #[cfg_attr(feature = "schema", schemars(with = "Severity"))]
    pub severity: &'static str,
}

/// The burden of the regimen.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BurdenSummary {
    /// Number of medicines taken.
    pub medicines: u8,
    /// Sum of anticholinergic burdens.
    pub anticholinergic_burden: u8,
    /// Medicines that act on the nervous system.
    pub cns_active: u8,
    /// Burden of the regimen.
    pub burden: f64,
}

/// Warnings that follow from the observation.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WarningSummary {
    /// Serious pairs that are flagged.
    pub serious_pairs: usize,
    /// Names of missing laboratory values.
    #[cfg_attr(feature = "schema", schemars(with = "Vec<Lab>"))]
    pub missing_labs: Vec<&'static str>,
    /// Medicines without an indication.
    pub no_indication: Vec<&'static str>,
    /// Number of refused steps.
    pub invalid_action_count: u8,
    /// The reason of the last refusal, or null.
    #[cfg_attr(feature = "schema", schemars(with = "Option<Violation>"))]
    pub last_violation: Option<&'static str>,
}

impl GraphSafety {
    fn from_observation(o: &Observation) -> Self {
        let formulary = o.formulary();
        // A component of a product is shown under the product's name, which is the name that acts
        // use.
        let shown = |id: ArchetypeId| match o.regimen.find(Drug::Known(id)) {
            Some(_) => formulary.get(id).name.as_str(),
            None => PRODUCT_NAME,
        };
        let flagged = o.flagged_pairs().map(|(pair, severity)| {
            let pair = formulary.pair(pair);
            FlaggedPair {
                first: shown(pair.first),
                second: shown(pair.second),
                severity: severity.name(),
            }
        });
        let broken = o.broken_rules().into_iter().filter(|(_, broken)| *broken);
        let alerts = (o.regimen.iter())
            .filter(|row| row.is_active() && o.renal_alert(row) == Some(true))
            .map(|row| row.drug.name(formulary));
        Self {
            flagged_pairs: flagged.collect(),
            set_rules: broken.map(|(rule, _)| rule.name()).collect(),
            renal_alerts: alerts.collect(),
            observed_risk: round_to(o.risk, 3),
        }
    }
}

impl WarningSummary {
    fn from_observation(o: &Observation) -> Self {
        let formulary = o.formulary();
        let missing = Lab::ALL.iter().filter(|lab| o.labs.get(**lab).is_none());
        let aimless = o.regimen.iter().filter(|row| row.indication.is_none());
        Self {
            serious_pairs: o.flagged_pairs().filter(|(_, s)| s.is_serious()).count(),
            missing_labs: missing.map(|lab| lab.name()).collect(),
            no_indication: aimless.map(|row| row.drug.name(formulary)).collect(),
            invalid_action_count: o.invalid_count,
            last_violation: o.last_violation.map(Violation::name),
        }
    }
}
