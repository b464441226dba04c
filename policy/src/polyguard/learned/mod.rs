//! The learned policy of the polyguard world: features of each candidate and of the situation, one
//! network over the set of candidates, and a choice among those that are shown.
//!
//! Archetypes are told apart by their traits alone: a medicine that was never met in training is
//! judged by what is publicly known of it.

mod candidate;
mod features;
mod forward;
mod layout;
mod situation;
mod trained;

pub use candidate::PER_CANDIDATE;
pub use features::{Features, Observer};
pub use forward::Scratch;
pub use layout::{PolyguardNet, at};
pub use situation::GLOBAL;
pub use trained::{Trained, legal};
