//! The learned policy of the cluster world: features of jobs, GPUs and workers, one network over
//! these three sets, and an action that is chosen factor by factor.

mod actions;
mod architecture;
mod features;
mod forward;
pub(crate) mod history;

pub use actions::{COLUMNS, FACTOR_COLUMNS, FACTORS, Factor};
pub use architecture::{ClusterNet, HEADS, param_index};
pub use features::{
    Features, GLOBAL, GLOBAL_SCHEMA, GPU_SCHEMA, JOB_SCHEMA, Observer, PER_GPU, PER_JOB,
    PER_WORKER, WORKER_SCHEMA,
};

use sentinel_env::cluster::ClusterEnv;

use crate::nn::{NetworkWorld, Published};

/// The greedy policy of a trained model of the cluster world.
pub type Trained = crate::nn::TrainedPolicy<ClusterNet>;

impl NetworkWorld for ClusterEnv {
    type Net = ClusterNet;
}

impl Published for ClusterEnv {
    const MODELS: [&'static str; 2] = ["replays/cluster-grpo-reference", "replays/cluster-grpo"];
}
