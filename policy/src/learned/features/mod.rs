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

/// Writes numbers one after the other and checks that they fill the row.
struct Row<const N: usize> {
    values: [f32; N],
    len: usize,
}

impl<const N: usize> Row<N> {
    const fn new() -> Self {
        Self {
            values: [0.0; N],
            len: 0,
        }
    }

    fn push(&mut self, value: f64) {
        self.values[self.len] = value as f32;
        self.len += 1;
    }

    fn flag(&mut self, on: bool) {
        self.push(f64::from(u8::from(on)));
    }

    fn one_hot(&mut self, size: usize, at: Option<usize>) {
        for index in 0..size {
            self.flag(at == Some(index));
        }
    }

    fn finish(self) -> [f32; N] {
        debug_assert_eq!(self.len, N, "every feature is written once");
        self.values
    }
}
