//! Scripted and learned policies of the cluster world (spec cluster §11).
//!
//! A [`Policy`] sees observations only. A [`PrivilegedPolicy`] also reads hidden state, which its
//! type makes visible. A [`Player`] is one or the other.

mod analyzable_impl;
mod bound;
mod complete_action;
mod episode_row;
pub(crate) mod evidence;
pub mod learned;
mod lookahead;
mod planner;
mod playable_impl;
mod reference_policies;
mod text;

use sentinel_env::cluster::ClusterEnv;
use sentinel_env::named_enum;
use sentinel_env::rng::Streams;

pub use bound::EpisodeBound;
pub use episode_row::EpisodeRow;
pub use lookahead::{Lookahead, LookaheadOracle};
pub use planner::Planner;
pub use reference_policies::{Blind, OracleLite, Random, Trust};

pub use crate::policy::{Policy, PrivilegedPolicy};
pub use crate::rollout::run_episode;

/// A policy or privileged policy of the cluster world.
pub type Player = crate::policy::Player<ClusterEnv>;

named_enum! {
    /// The scripted policies of the cluster world.
    pub enum PolicyName {
        /// Acts at random; allocations are twice as likely as other kinds.
        Random = "random",
        /// Allocates every job to the first worker, whatever it observes.
        Blind = "blind",
        /// Verifies regularly, and allocates by trust.
        Trust = "trust",
        /// A privileged policy that allocates every job to the most reliable worker.
        OracleLite = "oracle_lite",
        /// Probes the workers, and schedules by fixed rules.
        Planner = "planner",
        /// Tries actions in sampled states that agree with its observations; slow.
        Lookahead = "lookahead",
        /// A privileged policy that tries actions in the true state, future random draws included;
        /// slow.
        Oracle = "oracle",
    }
}

impl PolicyName {
    /// Returns a one-sentence description for users.
    #[must_use]
    pub const fn describe(self) -> &'static str {
        match self {
            Self::Random => "Picks an action and a worker at random",
            Self::Blind => "Gives every job to the first worker and waits",
            Self::Trust => {
                "Verifies every fourth step or on suspicion; gives jobs to trusted workers"
            }
            Self::OracleLite => {
                "Knows the most reliable worker and gives it every job: not a fair player"
            }
            Self::Planner => "Probes the workers, then one job per idle GPU, urgent ones first",
            Self::Lookahead => "Plays each action out in episodes that fit what it saw; slow",
            Self::Oracle => "Plays each action out in the episode as it is: not a fair player",
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
            Self::Blind => Player::Public(Box::new(Blind)),
            Self::Trust => Player::Public(Box::new(Trust)),
            Self::OracleLite => Player::Privileged(Box::new(OracleLite)),
            Self::Planner => Player::Public(Box::new(Planner::new())),
            Self::Lookahead => Player::Public(Box::new(Lookahead::new())),
            Self::Oracle => Player::Privileged(Box::new(LookaheadOracle::new())),
        }
    }
}
