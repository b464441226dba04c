//! What acts in any world, and playing an episode to its end.

use sentinel_env::num::round_to;
use sentinel_env::slot::SLOTS;
use sentinel_env::trust::TrustWorld;
use sentinel_env::world::World;

/// A policy: from observations to actions.
pub trait Policy<W: World = TrustWorld> {
    /// Takes in an observation. Called once for every observation of an episode, in order.
    fn observe(&mut self, _observation: &W::Observation) {}

    /// Chooses an action for the observation taken in last. Not called after the end.
    fn choose(&mut self, observation: &W::Observation) -> W::Action;

    /// Probability of each behaviour behind each slot (`[slot][behaviour]`), if the policy has one.
    fn belief(&self) -> Option<[[f64; SLOTS]; SLOTS]> {
        None
    }

    /// Value of each kind of action at the last choice, if the policy weighs actions.
    fn action_values(&self) -> Option<W::PerAction> {
        None
    }

    /// Probability of each kind of action for the observation taken in last, if the policy has one.
    fn probabilities(&self) -> Option<W::PerAction> {
        None
    }

    /// Next draw of the policy's own random stream, if it has one; taking it changes nothing.
    fn peek_random(&self) -> Option<f64> {
        None
    }
}

/// A scripted player that reads hidden state. Never a baseline for what can be learned.
pub trait Oracle<W: World = TrustWorld> {
    /// Chooses an action knowing everything.
    fn choose(&mut self, observation: &W::Observation, hidden: &W::Hidden) -> W::Action;
}

/// A policy or an oracle.
pub enum Player<W: World> {
    /// Sees the observation.
    Public(Box<dyn Policy<W>>),
    /// Sees hidden state too.
    Cheating(Box<dyn Oracle<W>>),
}

impl<W: World> Player<W> {
    /// Takes in the current observation and chooses. `None` after the end.
    pub fn act(&mut self, episode: &W::Episode) -> Option<W::Action> {
        self.watch(episode);
        self.choose_seen(episode)
    }

    /// Chooses for an observation that was taken in by [`Player::watch`]. `None` after the end.
    pub fn choose_seen(&mut self, episode: &W::Episode) -> Option<W::Action> {
        let observation = W::observation(episode);
        if W::is_done(observation) {
            return None;
        }
        Some(match self {
            Self::Public(policy) => policy.choose(observation),
            Self::Cheating(oracle) => oracle.choose(observation, W::hidden(episode)),
        })
    }

    /// Takes in the current observation without choosing, when somebody else acts.
    pub fn watch(&mut self, episode: &W::Episode) {
        if let Self::Public(policy) = self {
            policy.observe(W::observation(episode));
        }
    }

    fn public(&self) -> Option<&dyn Policy<W>> {
        match self {
            Self::Public(policy) => Some(policy.as_ref()),
            Self::Cheating(_) => None,
        }
    }

    /// See [`Policy::belief`].
    #[must_use]
    pub fn belief(&self) -> Option<[[f64; SLOTS]; SLOTS]> {
        self.public()?.belief()
    }

    /// See [`Policy::action_values`].
    #[must_use]
    pub fn action_values(&self) -> Option<W::PerAction> {
        self.public()?.action_values()
    }

    /// See [`Policy::probabilities`].
    #[must_use]
    pub fn probabilities(&self) -> Option<W::PerAction> {
        self.public()?.probabilities()
    }

    /// See [`Policy::peek_random`].
    #[must_use]
    pub fn peek_random(&self) -> Option<f64> {
        self.public()?.peek_random()
    }
}

/// Repeats the same actions in turn, whatever it sees: what a world must not reward.
#[derive(Clone, Debug, PartialEq)]
pub struct Cycle<W: World> {
    /// The actions; at least one.
    first: W::Action,
    then: Vec<W::Action>,
    taken: usize,
}

impl<W: World> Cycle<W> {
    /// Takes `first`, then each of `then`, and starts over.
    #[must_use]
    pub const fn new(first: W::Action, then: Vec<W::Action>) -> Self {
        Self {
            first,
            then,
            taken: 0,
        }
    }
}

impl<W: World> Policy<W> for Cycle<W> {
    fn choose(&mut self, _observation: &W::Observation) -> W::Action {
        let place = self.taken % (self.then.len() + 1);
        self.taken += 1;
        match place {
            0 => self.first,
            _ => self.then[place - 1],
        }
    }
}

/// An episode that was played to its end.
#[derive(Clone, Debug)]
pub struct Run<W: World> {
    episode: W::Episode,
    rewards: Vec<f64>,
    last: Option<W::Step>,
    fingerprints: W::Fingerprints,
}

impl<W: World> Run<W> {
    /// The episode at its end.
    #[must_use]
    pub const fn episode(&self) -> &W::Episode {
        &self.episode
    }

    /// The reward that each action returned, four decimals; the last is the terminal reward.
    #[must_use]
    pub fn rewards(&self) -> &[f64] {
        &self.rewards
    }

    /// The last step.
    #[must_use]
    pub const fn last_step(&self) -> Option<&W::Step> {
        self.last.as_ref()
    }

    /// The digest of the trajectory.
    #[must_use]
    pub const fn fingerprints(&self) -> &W::Fingerprints {
        &self.fingerprints
    }
}

/// Plays an episode to its end with whatever chooses, and nothing recorded.
pub fn drive<W: World>(
    setup: &W::Setup,
    mut choose: impl FnMut(&W::Episode) -> Option<W::Action>,
    mut after: impl FnMut(&W::Episode, &W::Step),
) -> W::Episode {
    let mut episode = W::reset(setup);
    while let Some(action) = choose(&episode) {
        // A player names only what it sees; should it not, the episode stands still.
        let Ok(step) = W::step(&mut episode, action) else {
            break;
        };
        after(&episode, &step);
    }
    episode
}

/// Plays an episode to its end.
#[must_use]
pub fn run_episode<W: World>(setup: &W::Setup, player: &mut Player<W>) -> Run<W> {
    run_with(setup, |episode| player.act(episode))
}

/// Plays an episode for as long as there is an action.
#[must_use]
pub fn run_with<W: World>(
    setup: &W::Setup,
    choose: impl FnMut(&W::Episode) -> Option<W::Action>,
) -> Run<W> {
    let (mut rewards, mut last) = (Vec::new(), None);
    let mut fingerprints = W::Fingerprints::default();
    let episode = drive::<W>(setup, choose, |episode, step| {
        rewards.push(round_to(
            W::terminal(step).unwrap_or_else(|| W::reward(step)),
            4,
        ));
        W::fingerprint(&mut fingerprints, episode, step);
        last = Some(*step);
    });
    Run {
        episode,
        rewards,
        last,
        fingerprints,
    }
}

/// The score of an episode that a player plays, and nothing else: the fast way.
#[must_use]
pub fn score_of<W: World>(setup: &W::Setup, player: &mut Player<W>) -> f64 {
    W::score(&drive::<W>(setup, |episode| player.act(episode), |_, _| ()))
}
