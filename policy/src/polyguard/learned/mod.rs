//! The learned policy of the polyguard world: features of each candidate and of the case, one
//! network over the set of candidates, and a choice among those that are shown.
//!
//! The features describe archetypes by their public traits only, so the network also handles
//! medicines that did not occur in training.

mod architecture;
mod candidate;
mod features;
mod forward;
mod global;
mod network_world_impl;

pub use architecture::{LAYERS, PolyguardNet, param_index};
pub(crate) use candidate::ObservationFacts;
pub use candidate::{PER_CANDIDATE, SCHEMA as CANDIDATE_SCHEMA};
pub use features::{Features, Observer};
pub use global::{GLOBAL, SCHEMA as GLOBAL_SCHEMA};

/// The greedy policy of a trained model of the polyguard world.
pub type Trained = crate::nn::TrainedPolicy<PolyguardNet>;
