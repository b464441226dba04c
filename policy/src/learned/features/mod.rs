//! Numbers that a network is given: public, and per slot the same for every slot.

mod global;
mod slot;

pub use global::GLOBAL;
pub use slot::PER_SLOT;

use sentinel_env::slot::{SLOTS, Slot};
use sentinel_env::trust::Observation;

use super::config::FeatureSet;
use super::history::History;

/// One observation as numbers of about unit size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Features {
    /// `[slots, features]`: what is known of each slot.
    pub slots: [[f32; PER_SLOT]; SLOTS],
    /// `[features]`: the situation.
    pub global: [f32; GLOBAL],
}

impl Features {
    /// Numbers, one observation's after the other in a flat row: the slots, then the situation.
    pub const LEN: usize = SLOTS * PER_SLOT + GLOBAL;
}

/// Makes features from the observations of one episode. Nothing but these reaches a network.
#[derive(Clone, Copy, Debug)]
pub struct Observer {
    set: FeatureSet,
    history: History,
}

impl Observer {
    /// Has seen nothing.
    #[must_use]
    pub fn new(set: FeatureSet) -> Self {
        Self {
            set,
            history: History::default(),
        }
    }

    /// Takes in an observation: each one of an episode once, in order.
    pub fn observe(&mut self, observation: &Observation) {
        self.history.observe(observation);
    }

    /// The features of the observation taken in last.
    #[must_use]
    pub fn features(&self, observation: &Observation) -> Features {
        let history = self.set == FeatureSet::Full;
        let slots = Slot::ALL.map(|slot| match history {
            true => slot::features(slot, observation, self.history.seen(slot)),
            false => [0.0; PER_SLOT],
        });
        Features {
            slots,
            global: global::features(observation, history),
        }
    }
}
