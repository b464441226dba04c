//! The input of the network: features of each candidate, and of the case as a whole.

use sentinel_env::polyguard::{MAX_CANDIDATES, Observation};
use serde::{Deserialize, Serialize};

use super::candidate::{ObservationFacts, PER_CANDIDATE};
use super::global::{self, GLOBAL};
use crate::nn::Observe;
use crate::polyguard::culprit_belief::CulpritBelief;

/// The features of one observation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Features {
    /// Candidate features, `[candidates, features]`, indexed by candidate id; zeros for ids that
    /// are not shown.
    #[serde(with = "crate::nn::flat_array")]
    pub candidates: [[f32; PER_CANDIDATE]; MAX_CANDIDATES],
    /// `true` for each candidate that is shown. Others are masked out.
    #[serde(with = "crate::nn::flat_array")]
    pub shown: [bool; MAX_CANDIDATES],
    /// Global features of the case, `[features]`.
    #[serde(with = "crate::nn::flat_array")]
    pub global: [f32; GLOBAL],
}

/// Computes features, and remembers the readings of the symptom: the previous one, and the posterior
/// over its culprit. All other memory is in the history of an observation.
#[derive(Clone, Copy, Debug, Default)]
pub struct Observer {
    symptom: Option<f64>,
    before: Option<f64>,
    culprit: CulpritBelief,
}

impl Observer {
    /// Returns the symptom at the previous observation, if there was one.
    pub(crate) const fn symptom_before(&self) -> Option<f64> {
        self.before
    }

    /// Computes the facts of the latest observation.
    pub(crate) fn facts<'a>(&'a self, o: &'a Observation) -> ObservationFacts<'a> {
        ObservationFacts::new(o, &self.culprit)
    }
}

impl Observe for Observer {
    type Observation = Observation;
    type Features = Features;

    fn observe(&mut self, o: &Observation) {
        self.before = self.symptom;
        self.symptom = o.symptom;
        self.culprit.observe(o);
    }

    fn features(&self, o: &Observation) -> Features {
        let chart = self.facts(o);
        let mut features = Features {
            candidates: [[0.0; PER_CANDIDATE]; MAX_CANDIDATES],
            shown: [false; MAX_CANDIDATES],
            global: global::features(self.before, &chart, o),
        };
        for shown in o.candidates.iter() {
            features.candidates[shown.id.index()] = chart.features(shown);
            features.shown[shown.id.index()] = true;
        }
        features
    }
}
