//! Learned policies, independent of the environment: named parameters, the model file, the forward
//! pass, and the greedy policy of a trained model.
//!
//! An environment implements [`Network`]: features, a forward pass, and a mapping from columns to
//! actions. This module holds only what acting needs; the trainer optimizes the same parameters
//! with a tensor library.

mod architecture;
mod feature_schema;
pub mod flat_array;
mod inference;
mod model_file;
mod network;
mod network_world;
mod ops;
mod published;
mod set_layers;
pub mod set_net;
mod weights;

pub use architecture::{Architecture, Init, Shape};
pub use feature_schema::{FeatureSchema, FeatureWriter, RowWriter};
pub use inference::{Inference, TrainedPolicy, action_probabilities};
pub use model_file::{MODEL_FILE, Model, ModelConfig, ModelError};
pub use network::{
    ActionOf, Choice, FACTORS_MAX, Network, ObservationOf, Observe, Output, Scratch,
};
pub use network_world::{NetworkWorld, StepFacts};
pub use ops::{add_product, linear, masked_argmax, masked_softmax, relu, set_layer, softmax};
pub use published::Published;
pub use set_layers::SetLayers;
pub use set_net::{ChoiceSet, SetFeatures, SetNet};
pub use weights::Weights;
