//! The library behind the `sentinel` command: evaluate, record, verify, trace, train.
//!
//! It prints nothing: functions return values, write to a file or to a writer that the caller
//! provides, and report progress by a callback. One config struct per command serves both clap and
//! callers from code.
//!
//! Without the feature `burn` nothing here needs a tensor library: `corpus`, `rl`, `rules`,
//! `trace`, the tools of replays, and `eval` of scripted policies, replays and compact models. The
//! feature is on by default and adds training, language models, and recording and ablation with
//! them.
#![cfg_attr(
    not(feature = "burn"),
    allow(
        dead_code,
        unused_imports,
        reason = "used only by training and language models"
    )
)]

#[cfg(feature = "burn")]
pub mod ablate;
#[cfg(feature = "burn")]
pub mod adamw;
#[cfg(feature = "burn")]
pub mod algo;
pub mod analyze;
mod arg_parsers;
pub mod bench;
#[cfg(feature = "burn")]
pub mod compact;
pub mod compact_model;
pub mod corpus;
#[cfg(feature = "burn")]
pub mod distributed;
pub mod episode_args;
mod error;
pub mod eval;
pub mod evidence;
pub mod files;
#[cfg(feature = "burn")]
pub mod finetune;
pub mod http;
pub mod hub;
pub mod interval;
#[cfg(feature = "burn")]
pub mod lm;
#[cfg(feature = "burn")]
pub mod lm_agent;
pub mod options_file;
pub mod precision;
pub mod provenance;
#[cfg(feature = "burn")]
pub mod record;
pub mod replay_manifest;
pub mod rl;
pub mod rng;
#[cfg(feature = "burn")]
pub mod rollout_engine;
pub mod rules;
pub mod run;
pub mod seeds;
#[cfg(feature = "burn")]
pub mod sweep;
pub mod task_selection;
#[cfg(feature = "burn")]
pub mod tensors;
pub mod trace;
pub mod trainable;
pub mod verify;
pub mod worlds;

pub use arg_parsers::EvalPolicy;
pub use episode_args::EpisodeArgs;
pub use error::Error;
pub use seeds::SeedRange;
pub use task_selection::{CellArgs, selected_tasks};

/// A callback that is called after each episode, by any of the threads that play.
pub type Progress<'a> = &'a (dyn Fn() + Sync);

/// Returns `true` for 0, for keys that files leave out then.
#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "the signature that serde asks for"
)]
const fn is_zero(count: &usize) -> bool {
    *count == 0
}
