//! Episodes that the trainer plays, without a tensor library: evaluation with confidence intervals,
//! rollouts by prompts and completions, corpora (also from data sets on the network), verification of
//! replays, and traces.
//!
//! It must never know a gradient: a compact policy plays by the plain forward pass of
//! `sentinel_policy::nn`, and a language model takes part as a [`rollout::TextAgent`].
//!
//! Read `eval/mod.rs` first (`sentinel eval`), then `rollout/play.rs`, one episode in words.

pub mod analyze;
pub mod bench;
pub mod bound;
pub mod compact_model;
pub mod corpus;
mod error;
pub mod eval;
pub mod replay_manifest;
pub mod rollout;
pub mod rules;
pub mod trace;
pub mod verify;
pub mod worlds;

pub use error::PlayError;
