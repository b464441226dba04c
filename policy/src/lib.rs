//! Policies, the episode runner, and the replay format.
//!
//! A [`Policy`] sees [`Observation`](sentinel_env::trust::Observation)s and nothing else. An
//! [`Oracle`] also sees hidden state, and its type says so. [`Player`] is either, as the command
//! line and the page need it.

mod bayes;
pub mod cluster;
mod heuristic;
pub mod learned;
mod oracle;
mod player;
mod random;
pub mod replay;
mod run;
mod self_solve;

pub use bayes::{Bayes, Belief, KnowingOracle};
pub use heuristic::Heuristic;
pub use learned::{Model, Trained};
pub use oracle::OracleLite;
pub use player::{Oracle, Player, Policy, PolicyName};
pub use random::Random;
pub use run::{EpisodeRow, run_episode};
pub use self_solve::SelfSolve;

/// The largest seed that files, addresses and the command line accept: `2^63 - 1`.
pub const SEED_MAX: u64 = i64::MAX as u64;
