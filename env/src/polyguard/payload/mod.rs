//! The observation as JSON, in the groups of the specification (spec polyguard §9).
//!
//! Everything here is made from an [`Observation`] and nothing else: what is hidden cannot enter.
#![allow(
    missing_docs,
    reason = "the field names are the protocol, spec polyguard §9"
)]

mod choice;
mod patient;
mod safety;

pub(super) use choice::PastRow;
pub use choice::{ArgRow, CandidateRow};
pub(super) use patient::{MedicationRow, OrganFunction, PatientSummary};
pub(super) use safety::{BurdenSummary, GraphSafety, WarningSummary};

use super::observation::Observation;
use super::regimen::Drug;
use crate::num::round_to;

/// The observation as JSON.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct ObservationPayload {
    pub research_only: bool,
    pub sub_environment: &'static str,
    pub difficulty: &'static str,
    pub step_budget: StepBudget,
    pub patient_summary: PatientSummary,
    pub comorbidities: Vec<&'static str>,
    pub medication_table: Vec<MedicationRow>,
    pub organ_function: OrganFunction,
    pub graph_safety_summary: GraphSafety,
    pub burden_summary: BurdenSummary,
    pub precision_dosing_flags: Vec<DosingFlag>,
    pub unresolved_conflicts: Vec<&'static str>,
    pub suspects: Vec<Suspect>,
    pub symptom: Option<f64>,
    pub problem_drug: Option<&'static str>,
    pub candidates: Vec<CandidateRow>,
    pub action_history: Vec<PastRow>,
    pub warning_summary: WarningSummary,
    pub abstention: Abstention,
}

/// Steps taken and left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct StepBudget {
    pub step_count: u8,
    pub max_steps: u8,
    pub steps_left: u8,
}

/// A dose that is in question.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct DosingFlag {
    pub drug: &'static str,
    pub dose_bucket: &'static str,
    pub level: Option<f64>,
}

/// What may cause the symptom.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Suspect {
    pub drug: &'static str,
    pub prior_weight: u8,
    pub held: bool,
}

/// How little is known.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Abstention {
    pub uncertainty: f64,
}

impl ObservationPayload {
    /// The payload of an observation.
    #[must_use]
    pub fn of(o: &Observation) -> Self {
        let formulary = o.formulary();
        let name = |drug: Drug| drug.name(formulary);
        let rows = || o.regimen.iter();
        let [medicines, anticholinergic_burden, cns_active] = o.burden_counts();
        Self {
            research_only: true,
            sub_environment: o.case.sub().name(),
            difficulty: o.case.difficulty().name(),
            step_budget: StepBudget {
                step_count: o.step_count,
                max_steps: o.budget,
                steps_left: o.budget.saturating_sub(o.step_count),
            },
            patient_summary: PatientSummary::of(o),
            comorbidities: o.patient.comorbidities.iter().map(|c| c.name()).collect(),
            medication_table: rows().map(|row| MedicationRow::of(o, row)).collect(),
            organ_function: OrganFunction::of(o),
            graph_safety_summary: GraphSafety::of(o),
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
                .map(|(step, past)| PastRow::of(step, past, formulary))
                .collect(),
            warning_summary: WarningSummary::of(o),
            abstention: Abstention {
                uncertainty: round_to(o.uncertainty, 3),
            },
        }
    }
}
