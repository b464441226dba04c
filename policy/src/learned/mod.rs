//! A learned policy: features of what was seen, a small network, and the policy over them.
//!
//! The trainer trains the same parameters with a tensor library; here is only what acting needs.

mod config;
mod features;
mod file;
mod forward;
mod history;
pub mod layout;
mod softmax;
mod trained;
mod weights;

pub use config::{FEATURE_VERSION, FeatureSet, ModelConfig, NetConfig, Pooling};
pub use features::{Features, GLOBAL, Observer, PER_SLOT};
pub use file::{Model, ModelError};
pub use forward::{Output, Scratch};
pub use softmax::{best, softmax};
pub use trained::{Trained, legal};
pub use weights::Weights;
