//! A language model that plays a world in words: to be measured, recorded, or trained on what it says.
//!
//! * [`Voice`]: a model as a [`crate::corpus::rollout::Speaker`], which keeps what it said as tokens.
//! * [`Speech`]: a model that was loaded to play, by the options that all such commands have.
//! * [`play`]: episodes of a model, to measure it; [`play_rollout`]: the same as `sentinel rollout`.
//! * [`Validation`]: the measurement that a training run repeats.

mod evaluate;
mod kind;
mod speech;
mod validation;
mod voice;

pub use evaluate::{
    EvalEpisodes, Measured, PlayConfig, Played, check_replaces, measure, play, play_rollout,
};
pub use kind::ModelKind;
pub use speech::{Speech, SpeechOptions};
pub use validation::{Validation, ValidationWorld};
pub use voice::{Said, Voice};
