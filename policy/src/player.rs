//! What acts: policies that see the public observation, oracles that see more, and either by name.

use sentinel_env::rng::Streams;
use sentinel_env::slot::SLOTS;
use sentinel_env::trust::{Action, Episode, Hidden, Observation};

use crate::{Bayes, Heuristic, KnowingOracle, OracleLite, Random, SelfSolve};

/// A policy: from observations to actions.
pub trait Policy {
    /// Takes in an observation. Called once for every observation of an episode, in order.
    fn observe(&mut self, _observation: &Observation) {}

    /// Chooses an action for the observation taken in last. Not called after the end.
    fn choose(&mut self, observation: &Observation) -> Action;

    /// Probability of each behaviour behind each slot (`[slot][behaviour]`), if the policy has one.
    fn belief(&self) -> Option<[[f64; SLOTS]; SLOTS]> {
        None
    }

    /// Value of each of [`Action::ALL`] at the last choice, if the policy weighs actions.
    fn action_values(&self) -> Option<[f64; 12]> {
        None
    }

    /// Probability of each of [`Action::ALL`] for the observation taken in last, if the policy has one.
    fn probabilities(&self) -> Option<[f64; 12]> {
        None
    }

    /// Next draw of the policy's own random stream, if it has one; taking it changes nothing.
    fn peek_random(&self) -> Option<f64> {
        None
    }
}

/// A scripted player that reads hidden state. Never a baseline for what can be learned.
pub trait Oracle {
    /// Chooses an action knowing everything.
    fn choose(&mut self, observation: &Observation, hidden: &Hidden) -> Action;
}

/// A policy or an oracle.
pub enum Player {
    /// Sees the observation.
    Public(Box<dyn Policy>),
    /// Sees hidden state too.
    Cheating(Box<dyn Oracle>),
}

impl Player {
    /// Takes in the current observation and chooses. `None` after the end.
    pub fn act(&mut self, episode: &Episode) -> Option<Action> {
        self.watch(episode);
        self.choose_seen(episode)
    }

    /// Chooses for an observation that was taken in by [`Player::watch`]. `None` after the end.
    pub fn choose_seen(&mut self, episode: &Episode) -> Option<Action> {
        let observation = episode.observation();
        match self {
            Self::Public(policy) => (!observation.done()).then(|| policy.choose(observation)),
            Self::Cheating(oracle) => {
                (!observation.done()).then(|| oracle.choose(observation, episode.hidden()))
            }
        }
    }

    /// Takes in the current observation without choosing, when somebody else acts.
    pub fn watch(&mut self, episode: &Episode) {
        if let Self::Public(policy) = self {
            policy.observe(episode.observation());
        }
    }

    /// See [`Policy::belief`].
    #[must_use]
    pub fn belief(&self) -> Option<[[f64; SLOTS]; SLOTS]> {
        match self {
            Self::Public(policy) => policy.belief(),
            Self::Cheating(_) => None,
        }
    }

    /// See [`Policy::action_values`].
    #[must_use]
    pub fn action_values(&self) -> Option<[f64; 12]> {
        match self {
            Self::Public(policy) => policy.action_values(),
            Self::Cheating(_) => None,
        }
    }

    /// See [`Policy::probabilities`].
    #[must_use]
    pub fn probabilities(&self) -> Option<[f64; 12]> {
        match self {
            Self::Public(policy) => policy.probabilities(),
            Self::Cheating(_) => None,
        }
    }

    /// See [`Policy::peek_random`].
    #[must_use]
    pub fn peek_random(&self) -> Option<f64> {
        match self {
            Self::Public(policy) => policy.peek_random(),
            Self::Cheating(_) => None,
        }
    }
}

/// The scripted policies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PolicyName {
    /// The reference's random policy.
    Random,
    /// Most trusted slot, verified when stakes are high and trust is not.
    Heuristic,
    /// The same with another threshold: the reference publishes it as "Trained (GRPO)".
    Heuristic70,
    /// Reads hidden state; the reference's upper bar.
    OracleLite,
    /// Never calls anybody.
    SelfSolve,
    /// Look-ahead over the exact posterior of the hidden assignment.
    Bayes,
    /// The same look-ahead, told the assignment.
    Oracle,
}

impl PolicyName {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Random,
        Self::Heuristic,
        Self::Heuristic70,
        Self::OracleLite,
        Self::SelfSolve,
        Self::Bayes,
        Self::Oracle,
    ];

    /// The name used in files, on the command line and in the page's address.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Random => "random",
            Self::Heuristic => "heuristic",
            Self::Heuristic70 => "heuristic_70",
            Self::OracleLite => "oracle_lite",
            Self::SelfSolve => "self_solve",
            Self::Bayes => "bayes",
            Self::Oracle => "oracle",
        }
    }

    /// One sentence for a person.
    #[must_use]
    pub const fn describe(self) -> &'static str {
        match self {
            Self::Random => "Picks a slot and an action at random",
            Self::Heuristic => {
                "Calls the most trusted slot; verifies it when stakes are .70 or more and trust is below .65"
            }
            Self::Heuristic70 => {
                "The heuristic with .70 in place of .65: what the reference published as “Trained (GRPO)”"
            }
            Self::OracleLite => {
                "Sees who is who, by two rules: not a fair player, the reference's upper bar"
            }
            Self::SelfSolve => "Does everything itself and trusts nobody",
            Self::Bayes => "Weighs all 120 possible assignments by what it saw, and looks ahead",
            Self::Oracle => {
                "Looks ahead like Bayes, but is told who is who: not a fair player, the upper bar"
            }
        }
    }

    /// The policy called `name`.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|p| p.name() == name)
    }

    /// Whether the policy reads hidden state.
    #[must_use]
    pub const fn cheats(self) -> bool {
        matches!(self, Self::OracleLite | Self::Oracle)
    }

    /// A fresh player for the episode `seed`.
    #[must_use]
    pub fn player(self, seed: u64, streams: Streams) -> Player {
        match self {
            Self::Random => Player::Public(Box::new(Random::new(seed, streams))),
            Self::Heuristic => Player::Public(Box::new(Heuristic::EVALUATION)),
            Self::Heuristic70 => Player::Public(Box::new(Heuristic::REPLAY_MISS)),
            Self::OracleLite => Player::Cheating(Box::new(OracleLite)),
            Self::SelfSolve => Player::Public(Box::new(SelfSolve)),
            Self::Bayes => Player::Public(Box::new(Bayes::new())),
            Self::Oracle => Player::Cheating(Box::new(KnowingOracle)),
        }
    }
}
