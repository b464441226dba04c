//! What the network is given.

use sentinel_env::polyguard::{CANDIDATES, Observation};

use super::candidate::{self, PER_CANDIDATE};
use super::situation::{self, GLOBAL};

/// Features of an observation.
#[derive(Clone, Debug, PartialEq)]
pub struct Features {
    /// Of each candidate by its id; zeros where none is shown.
    pub candidates: [[f32; PER_CANDIDATE]; CANDIDATES],
    /// Which candidates are shown.
    pub shown: [bool; CANDIDATES],
    /// Of the situation.
    pub global: [f32; GLOBAL],
}

/// Remembers the symptom's course; everything else stands in an observation's history.
#[derive(Clone, Copy, Debug, Default)]
pub struct Observer {
    pub(super) symptom: Option<f64>,
    pub(super) before: Option<f64>,
}

impl Observer {
    /// Takes in an observation: each one of an episode once, in order.
    pub const fn observe(&mut self, o: &Observation) {
        self.before = self.symptom;
        self.symptom = o.symptom;
    }

    /// The features of the observation taken in last.
    #[must_use]
    pub fn features(&self, o: &Observation) -> Features {
        let mut features = Features {
            candidates: [[0.0; PER_CANDIDATE]; CANDIDATES],
            shown: [false; CANDIDATES],
            global: situation::row(self, o),
        };
        let chart = candidate::Chart::of(o);
        for shown in o.candidates.iter() {
            features.candidates[shown.id.index()] = chart.row(shown);
            features.shown[shown.id.index()] = true;
        }
        features
    }
}
