//! Playing an episode to its end.

use sentinel_env::TrajectoryDigest;
use sentinel_env::num::round_to;
use sentinel_env::{Environment, Transition, World};

use crate::policy::Player;

/// An episode that was played to its end.
#[derive(Clone, Debug)]
pub struct Run<W: World> {
    episode: W,
    rewards: Vec<f64>,
    last: Option<W::Info>,
    digest: TrajectoryDigest,
}

impl<W: World> Run<W> {
    /// Returns the episode at its end.
    #[must_use]
    pub const fn episode(&self) -> &W {
        &self.episode
    }

    /// Returns the reward of each action, four decimals.
    #[must_use]
    pub fn rewards(&self) -> &[f64] {
        &self.rewards
    }

    /// Returns the last step.
    #[must_use]
    pub const fn last_step(&self) -> Option<&W::Info> {
        self.last.as_ref()
    }

    /// Returns the digest of the trajectory.
    #[must_use]
    pub const fn digest(&self) -> &TrajectoryDigest {
        &self.digest
    }
}

/// Plays an episode with whatever chooses, until it returns no action; `after` sees each transition.
pub fn drive<E: Environment>(
    setup: &E::Setup,
    mut choose: impl FnMut(&E) -> Option<E::Action>,
    mut after: impl FnMut(&E, &Transition<E::Info>),
) -> E {
    let mut episode = E::reset(setup);
    while let Some(action) = choose(&episode) {
        // A player names only what it sees; if it does not, the episode stops where it is.
        let Ok(transition) = episode.step(action) else {
            break;
        };
        after(&episode, &transition);
    }
    episode
}

/// Plays an episode to its end and keeps its rewards and digest.
#[must_use]
pub fn run_episode<W: World>(setup: &W::Setup, player: &mut Player<W>) -> Run<W> {
    run_with(setup, |episode| player.act(episode))
}

/// Plays an episode for as long as there is an action, and keeps its rewards and digest.
#[must_use]
pub fn run_with<W: World>(setup: &W::Setup, choose: impl FnMut(&W) -> Option<W::Action>) -> Run<W> {
    let (mut rewards, mut last) = (Vec::new(), None);
    let mut digest = TrajectoryDigest::default();
    let episode = drive(setup, choose, |episode, transition| {
        rewards.push(round_to(transition.reward, 4));
        digest.push(episode, &transition.info);
        last = Some(transition.info);
    });
    Run {
        episode,
        rewards,
        last,
        digest,
    }
}

/// Returns the score of an episode that a player plays, and keeps nothing else.
#[must_use]
pub fn score_of<E: Environment>(setup: &E::Setup, player: &mut Player<E>) -> f64 {
    drive(setup, |episode| player.act(episode), |_, _| ()).score()
}
