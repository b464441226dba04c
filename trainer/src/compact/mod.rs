//! Training of the compact policy: rollouts in the simulator, GRPO or imitation, on burn.
//!
//! `train` is the loop; `collect` plays, `update` learns. Rollouts use the plain forward pass of
//! `sentinel_policy::learned`, and only gradients need tensors.

pub mod actor;
pub mod batch;
pub mod checkpoint;
pub mod collect;
pub mod command;
pub mod config;
pub mod device;
mod error;
pub mod evaluate;
pub mod events;
mod fields;
pub mod imitate;
pub mod learn;
pub mod net;
pub mod optimizer;
pub mod outputs;
pub mod run;
pub mod trainer;
pub mod update;

pub use error::TrainError;
