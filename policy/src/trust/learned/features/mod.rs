//! The input of the network: public numbers of about unit size, in the same order for every slot.

mod global;
mod slot;

pub use global::{GLOBAL, SCHEMA as GLOBAL_SCHEMA};
pub use slot::{PER_SLOT, SCHEMA as SLOT_SCHEMA};

use sentinel_env::slot::{SLOTS, Slot};
use sentinel_env::trust::Observation;

use super::history::History;
use crate::nn::Observe;
use serde::{Deserialize, Serialize};

/// The features that the network receives; the others are 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FeatureSet {
    /// All features of slots and of the current step.
    #[default]
    Full,
    /// Only features of the current step, with nothing from earlier steps. An ablation that cannot
    /// tell one specialist from another.
    NoHistory,
}

/// The features of one observation.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Features {
    /// Slot features, `[slots, features]`.
    #[serde(with = "crate::nn::flat_array")]
    pub slots: [[f32; PER_SLOT]; SLOTS],
    /// Global features of the current step, `[features]`.
    #[serde(with = "crate::nn::flat_array")]
    pub global: [f32; GLOBAL],
}

/// Computes features from the observations of one episode.
#[derive(Clone, Copy, Debug)]
pub struct Observer {
    set: FeatureSet,
    history: History,
}

impl Observer {
    /// Creates an observer that has not seen any observation.
    #[must_use]
    pub fn new(set: FeatureSet) -> Self {
        Self {
            set,
            history: History::default(),
        }
    }
}

impl Observe for Observer {
    type Observation = Observation;
    type Features = Features;

    fn observe(&mut self, observation: &Observation) {
        self.history.observe(observation);
    }

    fn features(&self, observation: &Observation) -> Features {
        let history = self.set == FeatureSet::Full;
        let slots = Slot::ALL.map(|slot| match history {
            true => slot::features(slot, observation, self.history.slot_history(slot)),
            false => [0.0; PER_SLOT],
        });
        Features {
            slots,
            global: global::features(observation, history),
        }
    }
}
