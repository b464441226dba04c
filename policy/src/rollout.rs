//! Runs episodes from reset to the end.

use sentinel_env::TrajectoryDigest;
use sentinel_env::num::round_to;
use sentinel_env::{Environment, Transition, World};

use crate::policy::{Player, Policy};

/// A finished episode with its rewards and trajectory digest.
#[derive(Clone, Debug)]
pub struct EpisodeRun<W: World> {
    episode: W,
    rewards: Vec<f64>,
    steps: Vec<W::Info>,
    digest: TrajectoryDigest,
}

impl<W: World> EpisodeRun<W> {
    /// Returns the episode in its final state.
    #[must_use]
    pub const fn episode(&self) -> &W {
        &self.episode
    }

    /// Returns the reward of each action in order, rounded to four decimals.
    #[must_use]
    pub fn rewards(&self) -> &[f64] {
        &self.rewards
    }

    /// Returns the info of the last transition; `None` if no action was taken.
    #[must_use]
    pub fn last_step(&self) -> Option<&W::Info> {
        self.steps.last()
    }

    /// Returns the info of each transition in order.
    #[must_use]
    pub fn steps(&self) -> &[W::Info] {
        &self.steps
    }

    /// Returns the digest of the whole trajectory.
    #[must_use]
    pub const fn digest(&self) -> &TrajectoryDigest {
        &self.digest
    }
}

/// Runs an episode with actions from `choose` until it returns `None` or the episode refuses an
/// action. Calls `after` with the episode and the transition after every step.
pub fn run_steps<E: Environment>(
    setup: &E::Setup,
    mut choose: impl FnMut(&E) -> Option<E::Action>,
    mut after: impl FnMut(&E, &Transition<E::Info>),
) -> E {
    let mut episode = E::reset(setup);
    while let Some(action) = choose(&episode) {
        // Players choose from what they observe, so a refusal is a bug in `choose`; the episode
        // ends here.
        let Ok(transition) = episode.step(action) else {
            break;
        };
        after(&episode, &transition);
    }
    episode
}

/// Runs an episode with `player` to its end and records its rewards and digest.
///
/// ```
/// use sentinel_env::{Environment, Named, rng::Streams, trust::{Setup, Task}};
/// use sentinel_policy::{Scripted, rollout::run_episode, trust::PolicyName};
///
/// let setup = Setup::new(Task::Task3, 42, Streams::Independent);
/// let run = run_episode(&setup, &mut PolicyName::Bayes.start(&setup));
/// println!("{} actions, score {:.3}", run.rewards().len(), run.episode().score());
/// # assert!(run.episode().score() > 0.5);
/// ```
#[must_use]
pub fn run_episode<W: World>(setup: &W::Setup, player: &mut Player<W>) -> EpisodeRun<W> {
    run_with_choices(setup, |episode| player.act(episode))
}

/// Runs an episode with actions from `choose` until it returns `None`, and records its rewards and
/// digest.
#[must_use]
pub fn run_with_choices<W: World>(
    setup: &W::Setup,
    choose: impl FnMut(&W) -> Option<W::Action>,
) -> EpisodeRun<W> {
    let (mut rewards, mut steps) = (Vec::new(), Vec::new());
    let mut digest = TrajectoryDigest::default();
    let episode = run_steps(setup, choose, |episode, transition| {
        rewards.push(round_to(transition.reward, 4));
        digest.push(episode, &transition.info);
        steps.push(transition.info);
    });
    EpisodeRun {
        episode,
        rewards,
        steps,
        digest,
    }
}

/// Runs an episode with `player` to its end and returns only its score, in `[0, 1]`.
#[must_use]
pub fn run_score<E: Environment>(setup: &E::Setup, player: &mut Player<E>) -> f64 {
    run_steps(setup, |episode| player.act(episode), |_, _| ()).score()
}

/// Returns the final score if `action` is taken next and `policy` plays on. `policy` has observed the
/// episode up to its current state.
pub(crate) fn play_out<E: Environment>(
    mut episode: E,
    policy: &mut (impl Policy<E> + ?Sized),
    action: E::Action,
) -> f64 {
    let mut next = action;
    while episode.step(next).is_ok() && !E::is_done(episode.observation()) {
        policy.observe(episode.observation());
        next = policy.choose(episode.observation());
    }
    episode.score()
}
