//! Who acts: a player of the policy crate, or the actions of a file.

use sentinel_env::slot::SLOTS;
use sentinel_env::world::World;
use sentinel_policy::play::{Player, Policy};
use sentinel_policy::replay::{EpisodeKey, Replay, ReplayEpisode};
use sentinel_policy::{Playable, Scripted};

use super::Recording;
use crate::state::Source;

/// A player, or a recording.
pub enum Acting<P: Playable> {
    /// A scripted or a trained player.
    Playing(Player<P>),
    /// The actions of a file.
    Recorded(Box<ReplayEpisode<P>>),
}

impl<P: Playable> Acting<P> {
    /// Who acts for a source in the episode of a setup; nobody when its file is not there.
    pub fn of<W>(
        source: &Source<W>,
        setup: &<P as World>::Setup,
        replay: Option<&Replay>,
        trained: Option<impl Policy<P> + 'static>,
    ) -> Option<Self>
    where
        W: crate::world::World<Policy = P::PolicyName>,
    {
        Some(match source {
            Source::Policy(policy) => Self::Playing(policy.start(setup)),
            Source::Trained => Self::Playing(Player::Public(Box::new(trained?))),
            Source::Replay(_) => {
                let key = EpisodeKey::made_by::<P>(setup);
                Self::Recorded(Box::new(ReplayEpisode::new(replay?, &key)))
            }
            Source::You => return None,
        })
    }

    /// The next action, and whether it is a replay's fallback.
    pub fn choose(&mut self, episode: &P::Episode) -> (Option<P::Action>, bool) {
        match self {
            Self::Playing(player) => (player.choose_seen(episode), false),
            Self::Recorded(recorded) => {
                let observation = P::observation(episode);
                let action = recorded.choose(observation);
                let missed = recorded.misses().contains(&P::steps_used(observation));
                (Some(action), missed)
            }
        }
    }

    /// Takes in what an action led to.
    pub fn see(&mut self, episode: &P::Episode) {
        match self {
            Self::Playing(player) => player.watch(episode),
            Self::Recorded(recorded) => recorded.observe(P::observation(episode)),
        }
    }

    /// What the player believes now, `[slot][behaviour]`.
    pub fn belief(&self) -> Option<[[f64; SLOTS]; SLOTS]> {
        match self {
            Self::Playing(player) => player.belief(),
            Self::Recorded(recorded) => recorded.belief(),
        }
    }

    /// Probability that the player gives each kind of action now; none after the end.
    pub fn probabilities(&self, episode: &P::Episode) -> Option<P::PerAction> {
        let all = match self {
            Self::Playing(player) => player.probabilities(),
            Self::Recorded(recorded) => recorded.probabilities(),
        };
        all.filter(|_| !P::is_done(P::observation(episode)))
    }

    /// What the player made of each kind of action at its last choice.
    pub fn values(&self) -> Option<P::PerAction> {
        match self {
            Self::Playing(player) => player.action_values(),
            Self::Recorded(_) => None,
        }
    }

    /// How a recording fits what was played; `None` when it is no recording.
    pub fn recording(&self, episode: &P::Episode) -> Option<Recording> {
        let Self::Recorded(recorded) = self else {
            return None;
        };
        let others = recorded.mismatches(P::scenario_id(episode));
        Some(Recording {
            hits: recorded.hits().len(),
            fallbacks: recorded.fallbacks(),
            unused: recorded.unused().count(),
            misfits: others.map(|row| row.line).collect(),
        })
    }
}
