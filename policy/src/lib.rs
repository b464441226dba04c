//! Policies, the episode runner, and the replay format.
//!
//! A [`Policy`] sees observations only. A [`PrivilegedPolicy`] also reads hidden state, which its
//! type makes visible. A [`Player`] is one or the other.

pub mod analysis;
pub mod cluster;
pub mod foreign_format;
pub mod insertion_sort;
pub mod interval;
mod ledger_features;
pub mod nn;
pub mod playable;
pub mod policy;
pub mod polyguard;
pub mod python_json;
pub mod replay;
pub mod rollout;
pub mod text;
pub mod trust;

pub use playable::{Playable, Roles, Scripted};
pub use policy::{ConstantPolicy, CyclicPolicy, Player, Policy, PrivilegedPolicy, Routine};
pub use rollout::{EpisodeRun, run_episode};
pub use sentinel_env::WorldName;

/// The largest seed accepted in files, page addresses and on the command line: `2^63 - 1`.
pub const SEED_MAX: u64 = i64::MAX as u64;
