//! Who acts: a player of the policy crate, or the actions of a file.

use sentinel_env::Environment;
use sentinel_env::slot::SLOTS;
use sentinel_policy::policy::{Player, Policy};
use sentinel_policy::replay::{Replay, ReplayEpisode};
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
        setup: &<P as Environment>::Setup,
        replay: Option<&Replay<P>>,
        trained: Option<impl Policy<P> + 'static>,
    ) -> Option<Self>
    where
        W: crate::world::World<Policy = P::PolicyName>,
    {
        Some(match source {
            Source::Policy(policy) => Self::Playing(policy.start(setup)),
            Source::Trained => Self::Playing(Player::Public(Box::new(trained?))),
            Source::Replay(_) => {
                let key = P::origin(setup);
                Self::Recorded(Box::new(ReplayEpisode::new(replay?, &key)))
            }
            Source::You => return None,
        })
    }

    /// The next action, and whether it is a replay's fallback.
    pub fn choose(&mut self, episode: &P) -> (Option<P::Action>, bool) {
        match self {
            Self::Playing(player) => (player.choose(episode), false),
            Self::Recorded(recorded) => {
                let observation = P::observation(episode);
                let action = recorded.choose(observation);
                let missed = recorded.misses().contains(&P::step_count(observation));
                (Some(action), missed)
            }
        }
    }

    /// Takes in what an action led to.
    pub fn see(&mut self, episode: &P) {
        match self {
            Self::Playing(player) => player.observe(episode),
            Self::Recorded(recorded) => recorded.observe(P::observation(episode)),
        }
    }

    /// What the player believes now, `[slot][behavior]`.
    pub fn belief(&self) -> Option<[[f64; SLOTS]; SLOTS]> {
        let rows = match self {
            Self::Playing(player) => player.belief(),
            Self::Recorded(recorded) => recorded.belief(),
        };
        let rows: Option<Vec<[f64; SLOTS]>> =
            (rows?.into_iter()).map(|row| row.try_into().ok()).collect();
        rows?.try_into().ok()
    }

    /// Probability that the player gives each kind of action now; none after the end.
    pub fn probabilities<const N: usize>(&self, episode: &P) -> Option<[f64; N]> {
        let all = match self {
            Self::Playing(player) => player.probabilities(),
            Self::Recorded(recorded) => recorded.probabilities(),
        };
        let all = all.filter(|_| !P::is_done(P::observation(episode)));
        all?.try_into().ok()
    }

    /// What the player made of each kind of action at its last choice.
    pub fn values<const N: usize>(&self) -> Option<[f64; N]> {
        match self {
            Self::Playing(player) => player.action_values()?.try_into().ok(),
            Self::Recorded(_) => None,
        }
    }

    /// How a recording fits what was played; `None` when it is no recording.
    pub fn recording(&self, episode: &P) -> Option<Recording> {
        let Self::Recorded(recorded) = self else {
            return None;
        };
        let others = recorded.mismatches(episode.scenario_id());
        let first = recorded.rows().iter().next();
        Some(Recording {
            source: first.map_or_else(String::new, |row| row.row.model_source.clone()),
            hits: recorded.hits().len(),
            fallbacks: recorded.fallbacks(),
            unused: recorded.unused().count(),
            misfits: others.map(|row| row.line).collect(),
        })
    }
}
