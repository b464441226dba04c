//! Language models that play the worlds and learn from it: GRPO, supervised fine-tuning, evaluation,
//! recording, and generation on other servers.
//!
//! It must never compute a layer or a step of a world: models are those of `sentinel_lm`, the loss of
//! GRPO and its advantages those of `sentinel_rl`, episodes those of `sentinel_play`. (The estimate of
//! memory, `grpo/memory_estimate.rs`, does count the tensors of a layer.)
//!
//! Read `grpo/mod.rs` first: one update of GRPO from rollouts to optimizer step. `sft/mod.rs` is
//! supervised fine-tuning, `training/` the run around both, `agent/` the model that plays,
//! `record/` records it, `import.rs` converts models of other programs, `rollout_engine/` generation on other servers, `ablate/` a comparison of parts of PolyGuard.

pub mod ablate;
pub mod agent;
mod exchange;
pub mod grpo;
pub mod import;
pub mod record;
mod requests_at_once;
pub mod rollout_engine;
pub mod sft;
pub mod training;
