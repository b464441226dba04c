//! Policies, the episode runner, and the replay format.
//!
//! A [`Policy`] sees observations and nothing else. An [`Oracle`] also sees hidden state, and its
//! type says so. A player is either, as the command line and the page need it: [`Player`] for the
//! trust world, [`play::Player`] for any.

mod bayes;
pub mod cluster;
mod heuristic;
pub mod learned;
mod oracle;
pub mod order;
pub mod play;
mod player;
pub mod polyguard;
mod random;
pub mod replay;
mod run;
mod self_solve;
pub mod text;
mod trust_world;
pub mod world;

pub use bayes::{Bayes, Belief, KnowingOracle};
pub use heuristic::Heuristic;
pub use learned::{Model, Trained};
pub use oracle::OracleLite;
pub use play::{Cycle, Oracle, Policy, Run, run_episode};
pub use player::{Player, PolicyName};
pub use random::Random;
pub use run::EpisodeRow;
pub use self_solve::SelfSolve;
pub use world::{AnyAction, Playable, Roles, Scripted, WorldName};

/// The largest seed that files, addresses and the command line accept: `2^63 - 1`.
pub const SEED_MAX: u64 = i64::MAX as u64;
