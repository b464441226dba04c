//! The observation: everything that an agent may see (spec polyguard §9).

use super::candidate::{ActKind, Candidates};
use super::formulary::{ArchetypeId, Formulary};
use super::history::{EndReason, History, Violation};
use super::patient::{Lab, Patient, ShownLabs};
use super::regimen::{Drug, Regimen};
use super::setup::Rules;
use super::task_spec::TaskSpec;

/// The observation that an agent receives, which contains everything it may know.
#[derive(Clone, Debug, PartialEq)]
pub struct Observation {
    /// The case that the episode is drawn from.
    pub task: TaskSpec,
    /// The rules in force.
    pub rules: Rules,
    /// Number of steps taken.
    pub step_count: u8,
    /// Maximum number of steps in the episode.
    pub budget: u8,
    /// The patient, as the chart describes them.
    pub patient: Patient,
    /// The laboratory values that are known.
    pub labs: ShownLabs,
    /// `true` if all laboratory values arrive with the next step.
    pub labs_ordered: bool,
    /// The medicines, as the chart shows them.
    pub regimen: Regimen,
    /// The components of the product, once they have been looked up.
    pub components: Option<[ArchetypeId; 2]>,
    /// The flagged pairs, as bits of `PairId`, including pairs of medicines that have been removed.
    pub flagged: u64,
    /// `true` if specialists disagree.
    pub conflict: bool,
    /// Strength of a symptom, 0..=1, observed with noise; `None` if there is no symptom.
    pub symptom: Option<f64>,
    /// The medicine that must be replaced, if any.
    pub problem: Option<Drug>,
    /// The archetypes that the patient is known not to tolerate, as bits of [`ArchetypeId`].
    pub ade_history: u64,
    /// Observable risk of the regimen, in `[0, 1)`.
    pub risk: f64,
    /// Observable burden of the regimen, in `[0, 1)`.
    pub burden: f64,
    /// Uncertainty about the patient, 0..=1; higher if more is unknown.
    pub uncertainty: f64,
    /// The candidates to choose from.
    pub candidates: Candidates,
    /// The steps taken so far.
    pub history: History,
    /// Number of steps that were refused.
    pub invalid_count: u8,
    /// The reason why the last step was refused, if it was.
    pub last_violation: Option<Violation>,
    /// The reason why the episode ended; `None` while it is running.
    pub end: Option<EndReason>,
}

impl Observation {
    /// Returns the tables of names and traits.
    #[must_use]
    pub fn formulary(&self) -> &'static Formulary {
        self.task.formulary().tables()
    }

    /// Returns `true` if the episode has ended.
    #[must_use]
    #[inline]
    pub const fn done(&self) -> bool {
        self.end.is_some()
    }

    /// Returns the estimated glomerular filtration rate in mL/min, if it is known.
    #[must_use]
    #[inline]
    pub const fn egfr(&self) -> Option<f64> {
        self.labs.get(Lab::Egfr)
    }

    /// Returns the known archetypes of a drug, as bits: its own, the revealed components, or none.
    #[must_use]
    pub fn known_archetypes(&self, drug: Drug) -> u64 {
        match drug {
            Drug::Known(id) => id.bit(),
            Drug::Product => self.components.map_or(0, |[a, b]| a.bit() | b.bit()),
        }
    }

    /// Returns `true` if evidence has been searched for, or no laboratory value is missing.
    #[must_use]
    pub fn evidence_tried(&self) -> bool {
        self.history.has_kind(ActKind::FetchExternalEvidence) || self.labs.missing() == 0
    }

    /// Returns `true` if the regimen contains a product that has not been decomposed.
    #[must_use]
    pub fn has_unknown_product(&self) -> bool {
        self.components.is_none() && self.regimen.position(Drug::Product).is_some()
    }

    /// Returns the known archetypes that are taken, as bits.
    #[must_use]
    #[inline]
    pub fn taken_archetypes(&self) -> u64 {
        let active = self.regimen.iter().filter(|row| row.is_active());
        active.fold(0, |bits, row| bits | self.known_archetypes(row.drug))
    }
}
