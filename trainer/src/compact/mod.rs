//! Training of compact policies: rollouts in the simulator, GRPO or imitation, on burn.
//!
//! Everything here but the command line is generic over the environment. An environment of another
//! crate implements [`World`](sentinel_env::World), a network with
//! [`Network`](sentinel_policy::nn::Network) and [`Learn`]; [`train`] then runs GRPO on it:
//!
//! ```ignore
//! let config = TrainConfig {
//!     max_steps: 100,
//!     ..TrainConfig::preset::<MyWorld>(Method::Grpo, false)
//! };
//! train::<MyWorld>(&config, &RunDir::new("outputs/mine"), &mut |event| println!("{event:?}"))?;
//! let model = load_model::<MyNet>("outputs/mine".as_ref())?;
//! ```
//!
//! [`burn`] is the tensor library of [`Learn::forward`]. `run` is the loop of a run. `trainer`
//! holds the state and one update, for which an algorithm of [`crate::algo`] collects rollouts and
//! computes the loss. `step` updates the parameters. Rollouts use the plain forward pass of
//! `sentinel_policy::nn`; only gradients need tensors.

pub mod actor;
pub mod batch;
pub mod checkpoint;
pub mod command;
pub mod config;
pub mod device;
mod error;
pub mod evaluate;
pub mod learn;
pub mod optimizer;
mod option_values;
pub mod outputs;
pub mod parameter_tensors;
pub mod run;
mod set_net;
pub mod step;
pub mod trainer;

pub use burn;
pub use config::{Method, TrainConfig};
pub use error::TrainError;
pub use evaluate::{Scores, evaluate};
pub use learn::{Learn, NamedPolicy};
pub use run::{train, train_until};
pub use set_net::SetInputs;
pub use trainer::Trainer;

pub use crate::compact_model::{load_model, save_model};
pub use crate::run::{Event, RunDir};
pub use crate::trainable::Trainable;
