//! Language models that play a world by text: evaluation, recording, and rollouts for training.
//!
//! * [`LmAgent`]: a model as a [`sentinel_play::rollout::TextAgent`], which can record its
//!   completions as tokens.
//! * [`LanguageAgent`]: what agents of models in this process and behind an API have in common.
//! * [`GenerationBackend`]: generates the completions of an agent.
//! * [`SharedBackend`]: generation that the ranks of a run share.
//! * [`LoadedModel`]: a loaded model with the generation options that all commands share.
//! * [`play`]: evaluates a model on episodes; [`play_rollout`]: the same for `sentinel lm rollout`.
//! * [`ModelEngine`]: a model behind the completion routes of a server.
//! * [`Validation`]: the evaluation that a training run repeats.

mod chat_endpoint;
#[cfg(test)]
mod chat_endpoint_tests;
mod completion_engine;
pub(crate) mod endpoint_error;
mod evaluate;
mod examples;
mod generation_backend;
mod language_agent;
mod lm_agent;
mod loaded_model;
mod model_kind;
mod shared_backend;
pub(crate) mod text_model;
mod validation;

pub use chat_endpoint::EndpointUsage;
pub use completion_engine::{ModelEngine, ModelEngineOptions};
pub use endpoint_error::EndpointError;
pub use evaluate::{
    EvalArgs, EvalEpisodes, EvalReport, EvalResult, check_replaces, evaluate_agent, play,
    play_rollout,
};
pub use generation_backend::GenerationBackend;
pub use language_agent::LanguageAgent;
pub use lm_agent::{Generation, LmAgent};
pub use loaded_model::{GenerationArgs, LoadedModel};
pub use model_kind::{ModelKind, detect_model_kind};
pub use shared_backend::{Division, SharedBackend};
pub(crate) use text_model::{TextModel, with_agent};
pub use validation::{Validation, ValidationWorld};
