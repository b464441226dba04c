//! The medicines that a patient takes, as everybody can see them.

use std::ops::{Deref, DerefMut};

use super::case::named;
use super::formulary::{ArchetypeId, Condition, Formulary, PRODUCT};

/// Most medicines of a patient: fourteen, the planted ones and what cross-tapering adds.
pub const ROWS: usize = 24;

named! {
    /// How much of a medicine is taken.
    Bucket {
        /// Paused.
        Hold = "HOLD",
        /// Half of the usual dose.
        Low = "LOW",
        /// The usual dose.
        Medium = "MEDIUM",
        /// One and a half.
        High = "HIGH",
    }
}

impl Bucket {
    /// The dose as a multiple of the usual one.
    #[must_use]
    #[inline]
    pub const fn dose(self) -> f64 {
        [0.0, 0.5, 1.0, 1.5][self as usize]
    }

    /// One up or down, between LOW and HIGH.
    #[must_use]
    pub const fn moved(self, by: i8) -> Option<Self> {
        match (self, by) {
            (Self::Low, 1) | (Self::High, -1) => Some(Self::Medium),
            (Self::Medium, 1) => Some(Self::High),
            (Self::Medium, -1) => Some(Self::Low),
            _ => None,
        }
    }
}

/// What a row of the regimen is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Drug {
    /// An archetype.
    Known(ArchetypeId),
    /// The product of two components that nobody has looked up.
    Product,
}

impl Drug {
    /// The name used in observations.
    #[must_use]
    pub fn name(self, formulary: &Formulary) -> &str {
        match self {
            Self::Known(id) => &formulary.get(id).name,
            Self::Product => PRODUCT,
        }
    }

    /// The drug with this name.
    #[must_use]
    pub fn parse(name: &str, formulary: &Formulary) -> Option<Self> {
        if name == PRODUCT {
            return Some(Self::Product);
        }
        formulary.find(name).map(Self::Known)
    }

    /// The archetype, unless its components are unknown.
    #[must_use]
    #[inline]
    pub const fn known(self) -> Option<ArchetypeId> {
        match self {
            Self::Known(id) => Some(id),
            Self::Product => None,
        }
    }

    /// A number that no other drug of the formulary has, below 64.
    #[must_use]
    #[inline]
    pub const fn number(self) -> u8 {
        match self {
            Self::Known(id) => id.0,
            Self::Product => 63,
        }
    }

    /// The drug with this number.
    #[must_use]
    #[inline]
    pub(super) const fn of_number(number: u8) -> Self {
        match number {
            63 => Self::Product,
            number => Self::Known(ArchetypeId(number)),
        }
    }

    /// Whether it must be tapered; a product is never made of such first components.
    #[must_use]
    #[inline]
    pub fn needs_taper(self, formulary: &Formulary) -> bool {
        self.known()
            .is_some_and(|id| formulary.marks().taper & id.bit() != 0)
    }
}

/// One medicine.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Row {
    /// Which.
    pub drug: Drug,
    /// How much.
    pub bucket: Bucket,
    /// What it goes back to when it is no longer paused.
    pub resumes: Bucket,
    /// What it is given for, if the chart says so.
    pub indication: Option<Condition>,
    /// Whether it is being tapered off.
    pub tapering: bool,
    /// Whether its indication is under review.
    pub stale: bool,
    /// Whether it is still needed, once evidence has been found.
    pub status: Option<bool>,
    /// The last level that was measured, 1 being the middle of the window.
    pub level: Option<f64>,
    /// Whether the dose was changed since that level.
    pub level_is_old: bool,
    /// Whether its dose is in question.
    pub questioned: bool,
    /// Weight among the suspects of a symptom; 0 for none.
    pub prior: u8,
}

impl Row {
    /// A row about which nothing special is known.
    #[must_use]
    pub const fn new(drug: Drug, bucket: Bucket, indication: Option<Condition>) -> Self {
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

    /// Whether it is taken at present.
    #[must_use]
    #[inline]
    pub const fn is_active(&self) -> bool {
        !matches!(self.bucket, Bucket::Hold)
    }

    /// Whether the chart shows that it is not needed.
    #[must_use]
    pub const fn shown_unneeded(&self) -> bool {
        matches!(self.status, Some(false)) || self.indication.is_none()
    }

    /// Whether nobody has found out yet if it is still needed.
    #[must_use]
    pub const fn is_unrevealed(&self) -> bool {
        self.stale && self.status.is_none()
    }
}

/// All medicines, in the order of the chart.
#[derive(Clone, Debug, PartialEq)]
pub struct Regimen {
    rows: [Row; ROWS],
    len: u8,
}

impl Default for Regimen {
    fn default() -> Self {
        Self {
            rows: [Row::new(Drug::Product, Bucket::Hold, None); ROWS],
            len: 0,
        }
    }
}

impl Regimen {
    /// Adds a row at the end, if there is room.
    pub(super) const fn push(&mut self, row: Row) -> bool {
        if self.len as usize == ROWS {
            return false;
        }
        self.rows[self.len as usize] = row;
        self.len += 1;
        true
    }

    /// Takes a row out; those below move up.
    pub(super) fn remove(&mut self, at: usize) {
        self.rows[..self.len as usize].copy_within(at + 1.., at);
        self.len -= 1;
    }

    /// Where a drug stands.
    #[must_use]
    #[inline]
    pub fn place(&self, drug: Drug) -> Option<usize> {
        self.iter().position(|row| row.drug == drug)
    }

    /// The row of a drug.
    #[must_use]
    pub fn of(&self, drug: Drug) -> Option<&Row> {
        self.iter().find(|row| row.drug == drug)
    }
}

impl Deref for Regimen {
    type Target = [Row];

    #[inline]
    fn deref(&self) -> &[Row] {
        &self.rows[..self.len as usize]
    }
}

impl DerefMut for Regimen {
    #[inline]
    fn deref_mut(&mut self) -> &mut [Row] {
        &mut self.rows[..self.len as usize]
    }
}
