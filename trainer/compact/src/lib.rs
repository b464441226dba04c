//! Training of compact policies: GRPO, imitation of a teacher, and expert iteration over look-ahead.
//!
//! It must never know a language model, a report or a chart. The algorithms know no file, thread
//! or clock either, parse no command line, and compile for wasm32: the caller hands in a start policy and
//! [`Workers`] that play. The folder `run/` has all of that, for native programs only; `checkpoint.rs` and
//! `run_files.rs` have the content of a run's files, for a page, too. The algorithms are
//! generic over the environment; `config.rs` knows the presets of ours. An environment of another crate implements
//! [`World`](sentinel_env::World), a network with [`Network`](sentinel_policy::nn::Network) and
//! [`Learn`]; `train` then runs GRPO on it:
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
//! Read `grpo.rs` first: rollouts, advantages and the loss of one update; `trainer.rs` runs them in order.
//! [`imitation`] and [`expert_iteration`] collect other targets for the same update. `step.rs`
//! updates the parameters, `run/mod.rs` is the loop of a run. Rollouts use the plain forward pass of
//! `sentinel_policy::nn`; only gradients need tensors, in [`Learn::forward`], which is generic over the
//! library that computes them, see [`tensor::Tensor`]. By default that is burn; [`plain`] is a small
//! one without dependencies, for a page: `Trainer::<W, Matrix>::on_device(config, start, &Cpu)`.
//! Without the feature `burn` it is the only one, and there is no `run/`.

pub mod actor;
pub mod batch;
#[cfg(feature = "burn")]
mod burn_tensor;
pub mod checkpoint;
pub mod config;
mod error;
pub mod evaluate;
pub mod expert_iteration;
pub mod grpo;
pub mod imitation;
pub mod learn;
pub mod optimizer;
mod option_values;
pub mod parameter_tensors;
pub mod plain;
pub mod played;
#[cfg(all(feature = "burn", not(target_family = "wasm")))]
pub mod run;
pub mod run_files;
mod set_net;
pub mod step;
pub mod tensor;
pub mod trainer;
pub mod workers;

#[cfg(feature = "burn")]
pub use burn;
pub use config::{Method, TrainConfig};
pub use error::Error;
pub use evaluate::evaluate;
pub use learn::{Learn, NamedPolicy};
pub use played::PlayedEpisodes;
pub use set_net::SetInputs;
pub use tensor::Tensor;
pub use trainer::Trainer;
pub use workers::{Sequential, Workers};

pub use sentinel_options::SeedRange;
pub use sentinel_policy::nn::NetworkWorld;
pub use sentinel_rl::Scores;
pub use sentinel_rl::credit_options::Credit;

#[cfg(all(feature = "burn", not(target_family = "wasm")))]
pub use run::{Event, RunDir, Threads, TrainError, load_model, save_model, train, train_until};
