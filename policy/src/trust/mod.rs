//! The scripted and learned policies of the trust world.

mod analyzable_impl;
mod bayes;
mod bound;
mod episode_row;
mod heuristic;
pub mod learned;
mod oracle;
mod playable_impl;
mod random;
mod self_solve;
mod text;

pub use analyzable_impl::TrustEvidence;
pub use bayes::{Bayes, Belief, PrivilegedLookahead};
pub use bound::ScoreBound;
pub use episode_row::EpisodeRow;
pub use heuristic::Heuristic;
pub use learned::Trained;
pub use oracle::OracleLite;
pub use random::Random;
pub use self_solve::SelfSolve;
pub use text::TrustMemory;

use sentinel_env::named_enum;
use sentinel_env::rng::Streams;
use sentinel_env::trust::TrustEnv;

/// Default text of an action that solves a subtask without a specialist.
const SELF_SOLVED: &str = "SELF_SOLVED";

/// A policy or privileged policy of the trust world.
pub type Player = crate::policy::Player<TrustEnv>;

named_enum! {
    /// The scripted policies of the trust world.
    pub enum PolicyName {
        /// The random policy of the reference.
        Random = "random",
        /// Calls the most trusted slot, verified if stakes are high and its trust is low.
        Heuristic = "heuristic",
        /// The same with another threshold: the reference publishes it as "Trained (GRPO)".
        Heuristic70 = "heuristic_70",
        /// A privileged policy: the reference's upper bound.
        OracleLite = "oracle_lite",
        /// Solves every subtask itself and never calls a specialist.
        SelfSolve = "self_solve",
        /// Looks ahead over the exact posterior of the hidden assignment.
        Bayes = "bayes",
        /// A privileged policy: the same look-ahead with the true assignment.
        Oracle = "oracle",
    }
}

impl PolicyName {
    /// Returns a one-sentence description for users.
    #[must_use]
    pub const fn describe(self) -> &'static str {
        match self {
            Self::Random => "Picks a slot and an action at random",
            Self::Heuristic => {
                "Calls the most trusted slot; verifies it when stakes are .70 or more and trust is below .65"
            }
            Self::Heuristic70 => {
                "The heuristic with .70 in place of .65: the scores that the reference published as those of its trained policy are the scores of this rule"
            }
            Self::OracleLite => {
                "Knows the hidden behaviors and acts by two rules: not a fair player; the reference's upper bound"
            }
            Self::SelfSolve => "Does everything itself and trusts nobody",
            Self::Bayes => "Weighs all 120 possible assignments by what it saw, and looks ahead",
            Self::Oracle => {
                "Looks ahead like Bayes and knows the hidden behaviors: not a fair player; the strongest reference"
            }
        }
    }

    /// Returns `true` if the policy reads hidden state.
    #[must_use]
    pub const fn is_privileged(self) -> bool {
        matches!(self, Self::OracleLite | Self::Oracle)
    }

    /// Creates a player for the episode `seed`, with no memory of earlier episodes.
    #[must_use]
    pub fn player(self, seed: u64, streams: Streams) -> Player {
        match self {
            Self::Random => Player::Public(Box::new(Random::new(seed, streams))),
            Self::Heuristic => Player::Public(Box::new(Heuristic::EVALUATION)),
            Self::Heuristic70 => Player::Public(Box::new(Heuristic::REPLAY_MISS)),
            Self::OracleLite => Player::Privileged(Box::new(OracleLite)),
            Self::SelfSolve => Player::Public(Box::new(SelfSolve)),
            Self::Bayes => Player::Public(Box::new(Bayes::new())),
            Self::Oracle => Player::Privileged(Box::new(PrivilegedLookahead)),
        }
    }
}
