//! The patient as the chart describes them, and the true and shown laboratory values.

use super::formulary::Conditions;
use crate::named_enum;

named_enum! {
    /// A laboratory value, in the order in which evidence is searched for.
    pub enum Lab {
        /// Estimated glomerular filtration rate, in mL/min.
        Egfr = "egfr",
        /// Aspartate transaminase, in U/L.
        Ast = "ast",
        /// Alanine transaminase, in U/L.
        Alt = "alt",
        /// International normalized ratio, without a unit.
        Inr = "inr",
        /// Blood glucose, in mg/dL.
        Glucose = "glucose",
    }
}

/// Number of laboratory values.
pub const LAB_COUNT: usize = 5;

/// The true values, in the order of [`Lab`].
pub type TrueLabs = [f64; LAB_COUNT];

/// The values that the chart shows; `None` for missing ones.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ShownLabs([Option<f64>; LAB_COUNT]);

impl ShownLabs {
    /// Returns a value, if it is known.
    #[must_use]
    #[inline]
    pub const fn get(&self, lab: Lab) -> Option<f64> {
        self.0[lab as usize]
    }

    /// Returns the number of missing values.
    #[must_use]
    pub fn missing(&self) -> usize {
        self.0.iter().filter(|value| value.is_none()).count()
    }

    /// Returns the first missing value, if any.
    #[must_use]
    pub fn first_missing(&self) -> Option<Lab> {
        Lab::ALL
            .iter()
            .copied()
            .find(|lab| self.get(*lab).is_none())
    }

    pub(crate) const fn show(&mut self, lab: Lab, truth: &TrueLabs) {
        self.0[lab as usize] = Some(truth[lab as usize]);
    }

    pub(crate) fn show_all(&mut self, truth: &TrueLabs) {
        self.0 = truth.map(Some);
    }
}

named_enum! {
    /// The sex of the patient.
    pub enum Sex {
        /// The patient is female.
        Female = "female",
        /// The patient is male.
        Male = "male",
    }
}

/// The patient, as the chart describes them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Patient {
    /// Age in years, 65..=90.
    pub age: u8,
    /// Sex of the patient.
    pub sex: Sex,
    /// Observed frailty, 0..=1, one decimal, with noise of up to 0.1.
    pub frailty: f64,
    /// Observed adherence, 0..=1, one decimal, with noise of up to 0.1.
    pub adherence: f64,
    /// The conditions that the chart lists as indications at the start.
    pub comorbidities: Conditions,
    /// Systolic blood pressure, in mmHg.
    pub systolic_mmhg: f64,
    /// Heart rate, in beats per minute.
    pub heart_rate: f64,
    /// Respiratory rate, in breaths per minute.
    pub respiratory_rate: f64,
}
