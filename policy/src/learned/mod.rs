//! A learned policy: features of what was seen, a small network, and the policy over them.
//!
//! The trainer trains the same parameters with a tensor library; here is only what acting needs.

mod architecture;
mod config;
mod features;
mod file;
mod forward;
pub(crate) mod history;
pub mod layout;
mod row;
mod softmax;
mod trained;
mod weights;

pub use architecture::Architecture;
pub use config::{FEATURE_VERSION, FeatureSet, ModelConfig, NetConfig, Pooling};
pub use features::{Features, GLOBAL, Observer, PER_SLOT};
pub use file::{Model, ModelError};
pub use forward::{Output, Scratch};
pub(crate) use forward::{add_product, relu};
pub(crate) use row::Row;
pub use softmax::{best, best_of, masked_softmax, softmax};
pub use trained::{Trained, legal};
pub use weights::Weights;
