//! The learned policy of the polyguard world: features of each candidate and of the case, one
//! network over the set of candidates, and a choice among those that are shown.
//!
//! Archetypes are told apart by their traits alone: a medicine that was never met in training is
//! judged by what is publicly known of it.

mod candidate;
mod features;
mod forward;
mod global;
mod net;

pub use candidate::{PER_CANDIDATE, SCHEMA as CANDIDATE_SCHEMA};
pub use features::{Features, Observer};
pub use global::{GLOBAL, SCHEMA as GLOBAL_SCHEMA};
pub use net::{LAYERS, PolyguardNet, at};

/// The greedy policy of a trained model of the polyguard world.
pub type Trained = crate::nn::TrainedPolicy<PolyguardNet>;
