//! Generation of rollouts on an existing engine: servers that speak the dialect of vLLM, such as vLLM
//! itself and `sentinel serve --model`.
//!
//! * [`RolloutEngineArgs`]: the options.
//! * [`RolloutEngine`]: the servers of a run, and the version of the adapter that they serve.
//! * [`VersionBackend`]: generates completions with that version, as a
//!   [`GenerationBackend`](crate::agent::GenerationBackend).
//! * `requests`: the division of a batch into requests, and the checks of the answers.
//! * [`Replica`]: one server.
//!
//! Prompts and completions travel as tokens and are never tokenized again. Weights travel as files: each
//! version of the adapter has a folder and a name of its own, because engines cache by both.

mod args;
mod engine;
mod error;
mod replica;
mod requests;
#[cfg(test)]
mod tests;

pub use args::RolloutEngineArgs;
pub use engine::{RolloutEngine, SyncReport, VersionBackend};
pub use error::RolloutEngineError;
pub use replica::Replica;
