//! The patient: who, which medicines, which values.
#![allow(
    missing_docs,
    reason = "the field names are the protocol, spec polyguard §9"
)]

use serde::ser::{Serialize, Serializer};

use crate::num::round_to;
use crate::polyguard::formulary::{Condition, Tags, each};
use crate::polyguard::labs::{Lab, ShownLabs};
use crate::polyguard::observation::Observation;
use crate::polyguard::regimen::{Drug, Row};

/// Who is treated.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct PatientSummary {
    pub age: u8,
    pub sex: &'static str,
    pub frailty_score: f64,
    pub adherence_estimate: f64,
    pub prior_ade_history: Vec<&'static str>,
}

/// A medicine as the chart has it, with the public traits of its archetype.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct MedicationRow {
    pub drug: &'static str,
    pub class_name: Option<&'static str>,
    pub dose_bucket: &'static str,
    pub indication: Option<&'static str>,
    pub requires_taper: bool,
    pub tapering: bool,
    pub stale: bool,
    /// `needed` or `not_needed`, once evidence was found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<&'static str>,
    /// The last level, 1 being the middle of the window.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub level: Option<f64>,
    /// Whether the dose was changed since that level.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub level_is_old: Option<bool>,
    /// What a product is made of, once that was looked up.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub components: Vec<&'static str>,
    pub tags: Vec<&'static str>,
    pub anticholinergic_burden: u8,
    pub unsafe_below_egfr: Option<f64>,
    pub narrow_window: bool,
}

/// Laboratory values, `null` where missing, and vitals.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct OrganFunction {
    pub labs: LabRow,
    pub labs_ordered: bool,
    pub vitals: Vitals,
}

/// Laboratory values; one that is missing is `null`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LabRow(pub ShownLabs);

impl LabRow {
    /// Names and values, in the order of the labs.
    pub(in crate::polyguard) fn rows(
        &self,
    ) -> impl Iterator<Item = (&'static str, Option<f64>)> + '_ {
        let value = |lab: Lab| self.0.get(lab).map(|value| round_to(value, 1));
        Lab::ALL.iter().map(move |lab| (lab.name(), value(*lab)))
    }
}

impl Serialize for LabRow {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.rows())
    }
}

/// Vital signs.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Vitals {
    pub systolic_mmhg: f64,
    pub heart_rate: f64,
    pub respiratory_rate: f64,
}

impl PatientSummary {
    pub(super) fn of(o: &Observation) -> Self {
        let formulary = o.formulary();
        Self {
            age: o.patient.age,
            sex: o.patient.sex.name(),
            frailty_score: o.patient.frailty,
            adherence_estimate: o.patient.adherence,
            prior_ade_history: each(o.ade_history)
                .map(|id| formulary.get(id).name.as_str())
                .collect(),
        }
    }
}

impl MedicationRow {
    pub(super) fn of(o: &Observation, row: &Row) -> Self {
        let formulary = o.formulary();
        let parts = || each(o.parts(row.drug)).map(|id| formulary.get(id));
        let tags = parts().fold(Tags::EMPTY, |tags, part| tags.or(part.tags));
        Self {
            drug: row.drug.name(formulary),
            class_name: row.drug.known().map(|id| formulary.get(id).class.as_str()),
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
    pub(super) const fn of(o: &Observation) -> Self {
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
