//! The regimen: a patient's medicines, as the chart shows them.

use std::ops::{Deref, DerefMut};

use super::formulary::{ArchetypeId, Condition, Formulary, PRODUCT_NAME};
use super::task_spec::MAX_STEPS;
use crate::named_enum;

/// Maximum number of medicines of a patient at the start.
pub(crate) const MAX_START_MEDICATIONS: usize = 14;
/// Maximum number of medicines of a patient: those at the start, and one more per step, which is
/// the most that cross-tapering can add.
pub const MAX_MEDICATIONS: usize = 24;
const _: () = assert!(MAX_MEDICATIONS == MAX_START_MEDICATIONS + MAX_STEPS);
/// Window of a questioned dose or a narrow archetype, as multiples of its middle.
const NARROW_WINDOW: (f64, f64) = (0.75, 1.25);
/// Window of any other dose, as multiples of its middle.
const WIDE_WINDOW: (f64, f64) = (0.5, 1.5);

named_enum! {
    /// The dose of a medicine.
    pub enum DoseBucket {
        /// Paused, without a dose.
        Hold = "HOLD",
        /// Half of the usual dose.
        Low = "LOW",
        /// The usual dose of the medicine.
        Medium = "MEDIUM",
        /// One and a half times the usual dose.
        High = "HIGH",
    }
}

impl DoseBucket {
    /// Returns the dose as a multiple of the usual one.
    #[must_use]
    #[inline]
    pub const fn dose(self) -> f64 {
        [0.0, 0.5, 1.0, 1.5][self as usize]
    }

    /// Returns the dose one bucket higher (`by` 1) or lower (-1), or `None` if that is not one of
    /// LOW to HIGH.
    #[must_use]
    pub const fn shifted(self, by: i8) -> Option<Self> {
        match (self, by) {
            (Self::Low, 1) | (Self::High, -1) => Some(Self::Medium),
            (Self::Medium, 1) => Some(Self::High),
            (Self::Medium, -1) => Some(Self::Low),
            _ => None,
        }
    }
}

/// A medicine, as the chart names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Drug {
    /// A medicine of a known archetype.
    Known(ArchetypeId),
    /// The product of two components, which are unknown until they are looked up.
    Product,
}

impl Drug {
    /// Returns the name used in observations.
    #[must_use]
    pub fn name(self, formulary: &Formulary) -> &str {
        match self {
            Self::Known(id) => &formulary.get(id).name,
            Self::Product => PRODUCT_NAME,
        }
    }

    /// Returns the drug with this name, if there is one.
    #[must_use]
    pub fn parse(name: &str, formulary: &Formulary) -> Option<Self> {
        if name == PRODUCT_NAME {
            return Some(Self::Product);
        }
        formulary.find(name).map(Self::Known)
    }

    /// Returns the archetype, or `None` for the product.
    #[must_use]
    #[inline]
    pub const fn archetype(self) -> Option<ArchetypeId> {
        match self {
            Self::Known(id) => Some(id),
            Self::Product => None,
        }
    }

    /// Returns a number below 64, unique among the drugs of the formulary.
    #[must_use]
    #[inline]
    pub const fn number(self) -> u8 {
        match self {
            Self::Known(id) => id.0,
            Self::Product => 63,
        }
    }

    /// Returns the drug with this number.
    #[must_use]
    #[inline]
    pub(crate) const fn from_number(number: u8) -> Self {
        match number {
            63 => Self::Product,
            number => Self::Known(ArchetypeId(number)),
        }
    }

    /// Returns `true` if the drug is an archetype with a narrow window.
    #[must_use]
    #[inline]
    pub(crate) fn has_narrow_window(self, formulary: &Formulary) -> bool {
        self.archetype()
            .is_some_and(|id| formulary.trait_sets().narrow & id.bit() != 0)
    }

    /// Returns `true` if the drug must be tapered. Always `false` for the product, whose first
    /// component never needs tapering.
    #[must_use]
    #[inline]
    pub fn needs_taper(self, formulary: &Formulary) -> bool {
        self.archetype()
            .is_some_and(|id| formulary.trait_sets().taper & id.bit() != 0)
    }
}

/// A medicine in the regimen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Medication {
    /// The drug of this row.
    pub drug: Drug,
    /// Current dose of the medicine.
    pub bucket: DoseBucket,
    /// Dose that the medicine resumes after a pause.
    pub resumes: DoseBucket,
    /// The indication, if the chart states one.
    pub indication: Option<Condition>,
    /// `true` if the medicine is being tapered off.
    pub tapering: bool,
    /// `true` if the indication is under review.
    pub stale: bool,
    /// `Some(true)` if the medicine is still needed, `Some(false)` if not; `None` until evidence
    /// has been found.
    pub status: Option<bool>,
    /// Last measured level, 1 being the middle of the window; `None` if not measured.
    pub level: Option<f64>,
    /// `true` if the dose was changed since that measurement.
    pub level_is_old: bool,
    /// `true` if the dose is in question.
    pub questioned: bool,
    /// Weight among the suspects of a symptom, 1 or 2; 0 if it is not a suspect.
    pub prior: u8,
}

impl Medication {
    /// Creates a row without any findings.
    #[must_use]
    pub const fn new(drug: Drug, bucket: DoseBucket, indication: Option<Condition>) -> Self {
        Self {
            drug,
            bucket,
            resumes: bucket,
            indication,
            tapering: false,
            stale: false,
            status: None,
            level: None,
            level_is_old: false,
            questioned: false,
            prior: 0,
        }
    }

    /// Returns `true` if the medicine is taken, and not paused.
    #[must_use]
    #[inline]
    pub const fn is_active(&self) -> bool {
        !matches!(self.bucket, DoseBucket::Hold)
    }

    /// Returns the window of the level between too little and too much, which is narrow for
    /// questioned doses and for archetypes with a narrow window (spec polyguard §6.2).
    #[must_use]
    pub fn window(&self, formulary: &Formulary) -> (f64, f64) {
        if self.questioned || self.drug.has_narrow_window(formulary) {
            NARROW_WINDOW
        } else {
            WIDE_WINDOW
        }
    }

    /// Returns `true` if the chart shows that the medicine is not needed.
    #[must_use]
    pub const fn is_shown_unneeded(&self) -> bool {
        matches!(self.status, Some(false)) || self.indication.is_none()
    }

    /// Returns `true` if the medicine is under review and evidence is still missing.
    #[must_use]
    pub const fn is_unrevealed(&self) -> bool {
        self.stale && self.status.is_none()
    }
}

/// All medicines, in the order of the chart.
#[derive(Clone, Debug, PartialEq)]
pub struct Regimen {
    rows: [Medication; MAX_MEDICATIONS],
    len: u8,
}

impl Default for Regimen {
    fn default() -> Self {
        Self {
            rows: [Medication::new(Drug::Product, DoseBucket::Hold, None); MAX_MEDICATIONS],
            len: 0,
        }
    }
}

impl Regimen {
    /// Returns `true` if there is no room for another medicine.
    #[must_use]
    pub const fn is_full(&self) -> bool {
        self.len as usize == MAX_MEDICATIONS
    }

    /// Adds a row at the end. Returns its position, or `None` if there is no room.
    #[must_use]
    pub(crate) const fn push(&mut self, row: Medication) -> Option<usize> {
        if self.is_full() {
            return None;
        }
        let at = self.len as usize;
        self.rows[at] = row;
        self.len += 1;
        Some(at)
    }

    /// Removes a row; the rows below it move up.
    pub(crate) fn remove(&mut self, at: usize) {
        self.rows[..self.len as usize].copy_within(at + 1.., at);
        self.len -= 1;
    }

    /// Returns the position of a drug, if it is in the regimen.
    #[must_use]
    #[inline]
    pub fn position(&self, drug: Drug) -> Option<usize> {
        self.iter().position(|row| row.drug == drug)
    }

    /// Returns the row of a drug, if it is in the regimen.
    #[must_use]
    pub fn find(&self, drug: Drug) -> Option<&Medication> {
        self.iter().find(|row| row.drug == drug)
    }
}

impl Deref for Regimen {
    type Target = [Medication];

    #[inline]
    fn deref(&self) -> &[Medication] {
        &self.rows[..self.len as usize]
    }
}

impl DerefMut for Regimen {
    #[inline]
    fn deref_mut(&mut self) -> &mut [Medication] {
        &mut self.rows[..self.len as usize]
    }
}
