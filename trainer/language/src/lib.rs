//! Language models that play the worlds and learn from it: GRPO, supervised fine-tuning, evaluation,
//! recording, and generation on other servers.
//!
//! It must never know the inside of a model: layers, tokens and files are those of `sentinel_lm`,
//! losses and advantages those of `sentinel_rl`, episodes those of `sentinel_play`.
//!
//! Read `grpo/mod.rs` first: one update of GRPO from rollouts to optimizer step. `sft/mod.rs` is the
//! same for supervised fine-tuning, `training/` the run around both, `agent/` the model that plays.

pub mod ablate;
pub mod agent;
mod exchange;
pub mod grpo;
pub mod record;
pub mod rollout_engine;
pub mod sft;
pub mod training;
