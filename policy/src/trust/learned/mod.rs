//! The learned policy of the trust world: features of each slot and of the current step, and a
//! network over the set of slots.

mod architecture;
mod features;
mod forward;
pub(crate) mod history;

pub use architecture::{
    FEATURE_VERSION, GLOBAL_ACTIONS, Pooling, SLOT_ACTIONS, TrustNet, param_index,
};
pub use features::{FeatureSet, Features, GLOBAL, GLOBAL_SCHEMA, Observer, PER_SLOT, SLOT_SCHEMA};

use sentinel_env::trust::TrustEnv;

use crate::nn::{NetworkWorld, Published};

/// The greedy policy of a trained model of the trust world.
pub type Trained = crate::nn::TrainedPolicy<TrustNet>;

impl NetworkWorld for TrustEnv {
    type Net = TrustNet;
}

impl Published for TrustEnv {
    const MODELS: [&'static str; 2] = ["replays/grpo", "replays/trust-grpo-hardened"];
}
