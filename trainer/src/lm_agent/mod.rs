//! A language model that plays a world in words: to be measured, recorded, or trained on what it says.
//!
//! * [`LmAgent`]: a model as a [`crate::corpus::rollout::Generator`], which keeps what it said as tokens.
//! * [`LoadedModel`]: a model that was loaded to play, by the options that all such commands have.
//! * [`play`]: episodes of a model, to measure it; [`play_rollout`]: the same as `sentinel rollout`.
//! * [`Validation`]: the measurement that a training run repeats.

mod agent;
mod evaluate;
mod kind;
mod loaded_model;
mod validation;

pub use agent::{Generation, LmAgent};
pub use evaluate::{
    EvalEpisodes, Measured, PlayConfig, Played, check_replaces, measure, play, play_rollout,
};
pub use kind::ModelKind;
pub use loaded_model::{GenerationArgs, LoadedModel};
pub use validation::{Validation, ValidationWorld};
