//! The observation: everything that an agent may see (spec polyguard §9).

use super::candidate::{Candidates, Kind};
use super::case::Case;
use super::formulary::{ArchetypeId, Formulary};
use super::history::{End, History, Violation};
use super::patient::{Lab, Patient, ShownLabs};
use super::regimen::{Drug, Regimen};
use super::setup::Rules;

/// Everything that an agent may know.
#[derive(Clone, Debug, PartialEq)]
pub struct Observation {
    /// The case that the episode is drawn from.
    pub case: Case,
    /// The rules in force.
    pub rules: Rules,
    /// Steps taken.
    pub step_count: u8,
    /// Steps that may be taken.
    pub budget: u8,
    /// The patient.
    pub patient: Patient,
    /// Laboratory values.
    pub labs: ShownLabs,
    /// Whether all values come with the next step.
    pub labs_ordered: bool,
    /// The medicines.
    pub regimen: Regimen,
    /// The components of the product, once they were looked up.
    pub components: Option<[ArchetypeId; 2]>,
    /// Pairs that are flagged, as bits of `PairId`; also of medicines that are gone.
    pub flagged: u64,
    /// Whether specialists disagree.
    pub conflict: bool,
    /// A symptom, 0..=1, read with noise.
    pub symptom: Option<f64>,
    /// The medicine that must be replaced.
    pub problem: Option<Drug>,
    /// Archetypes that the patient did not tolerate, as bits of [`ArchetypeId`].
    pub ade_history: u64,
    /// Observable risk of the regimen, `[0, 1)`.
    pub risk: f64,
    /// Observable burden of the regimen, `[0, 1)`.
    pub burden: f64,
    /// Uncertainty: how little is known, 0..=1.
    pub uncertainty: f64,
    /// The candidates to choose from.
    pub candidates: Candidates,
    /// The steps taken so far.
    pub history: History,
    /// Number of steps that were refused.
    pub invalid_count: u8,
    /// The reason why the last step was refused.
    pub last_violation: Option<Violation>,
    /// How the episode ended; `None` while it runs.
    pub end: Option<End>,
}

impl Observation {
    /// Returns the tables that names and traits come from.
    #[must_use]
    pub fn formulary(&self) -> &'static Formulary {
        self.case.formulary().tables()
    }

    /// Returns whether the episode has ended.
    #[must_use]
    #[inline]
    pub const fn done(&self) -> bool {
        self.end.is_some()
    }

    /// Returns the estimated glomerular filtration rate in mL/min, if known.
    #[must_use]
    #[inline]
    pub const fn egfr(&self) -> Option<f64> {
        self.labs.get(Lab::Egfr)
    }

    /// Returns the known archetypes of a row: one, the looked-up components, or none.
    #[must_use]
    pub fn parts(&self, drug: Drug) -> u64 {
        match drug {
            Drug::Known(id) => id.bit(),
            Drug::Product => self.components.map_or(0, |[a, b]| a.bit() | b.bit()),
        }
    }

    /// Returns whether evidence was looked for, or no laboratory value is missing.
    #[must_use]
    pub fn evidence_tried(&self) -> bool {
        self.history.did(Kind::FetchExternalEvidence) || self.labs.missing() == 0
    }

    /// Returns whether there is a product that nobody has looked into.
    #[must_use]
    pub fn has_unknown_product(&self) -> bool {
        self.components.is_none() && self.regimen.position(Drug::Product).is_some()
    }

    /// Returns the known archetypes that are taken, as bits.
    #[must_use]
    #[inline]
    pub fn taken(&self) -> u64 {
        let active = self.regimen.iter().filter(|row| row.is_active());
        active.fold(0, |bits, row| bits | self.parts(row.drug))
    }
}
