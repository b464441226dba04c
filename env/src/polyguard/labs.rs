//! Laboratory values: the true ones, and those that the chart shows.

use super::case::named;

named! {
    /// A laboratory value, in the order in which evidence is looked up.
    Lab {
        /// Estimated glomerular filtration rate, mL/min.
        Egfr = "egfr",
        /// Aspartate transaminase, U/L.
        Ast = "ast",
        /// Alanine transaminase, U/L.
        Alt = "alt",
        /// International normalised ratio.
        Inr = "inr",
        /// Glucose, mg/dL.
        Glucose = "glucose",
    }
}

/// How many there are.
pub const LABS: usize = 5;

/// The true values, in the order of [`Lab`].
pub type TrueLabs = [f64; LABS];

/// What the chart shows; what is missing is missing.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ShownLabs([Option<f64>; LABS]);

impl ShownLabs {
    /// A value, if it is known.
    #[must_use]
    #[inline]
    pub const fn get(&self, lab: Lab) -> Option<f64> {
        self.0[lab as usize]
    }

    /// How many are missing.
    #[must_use]
    pub fn missing(&self) -> usize {
        self.0.iter().filter(|value| value.is_none()).count()
    }

    /// The first that is missing.
    #[must_use]
    pub fn first_missing(&self) -> Option<Lab> {
        Lab::ALL
            .iter()
            .copied()
            .find(|lab| self.get(*lab).is_none())
    }

    pub(super) const fn show(&mut self, lab: Lab, truth: &TrueLabs) {
        self.0[lab as usize] = Some(truth[lab as usize]);
    }

    pub(super) fn show_all(&mut self, truth: &TrueLabs) {
        self.0 = truth.map(Some);
    }
}
