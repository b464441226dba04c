//! Agents in an environment: policies, privileged policies, and players, which are either.

use std::fmt::Debug;

use sentinel_env::Environment;

/// Number of the random stream that policies draw from. Worlds use other numbers for their own
/// streams.
pub const POLICY_STREAM: u64 = 4;

/// A policy: maps observations to actions, and may keep memory within one episode.
pub trait Policy<E: Environment> {
    /// Updates the policy's memory with an observation. Called once for every observation of an
    /// episode, in order.
    fn observe(&mut self, _observation: &E::Observation) {}

    /// Chooses an action for the latest observation. Not called after the episode has ended.
    fn choose(&mut self, observation: &E::Observation) -> E::Action;

    /// Returns the posterior over the hidden variables, `[variables, classes]`, if the policy has
    /// one.
    fn belief(&self) -> Option<Vec<Vec<f64>>> {
        None
    }

    /// Returns the value of each kind of action at the latest choice, if the policy computes
    /// values.
    fn action_values(&self) -> Option<Vec<f64>> {
        None
    }

    /// Returns the probability of each kind of action for the latest observation, if the policy is
    /// a distribution over actions.
    fn probabilities(&self) -> Option<Vec<f64>> {
        None
    }

    /// Returns the next draw of the policy's own random stream without consuming it, if the policy
    /// has a stream.
    fn peek_draw(&self) -> Option<f64> {
        None
    }
}

/// A scripted policy that reads hidden state. It is an upper bound, never a baseline for learned
/// policies.
pub trait PrivilegedPolicy<E: Environment> {
    /// Updates the policy's memory with the episode. Called once for every observation of an
    /// episode, in order, including the steps on which another player acts.
    fn observe(&mut self, _episode: &E) {}

    /// Chooses an action from the full state of the episode, after [`PrivilegedPolicy::observe`].
    /// Not called after the episode has ended.
    fn choose(&mut self, episode: &E) -> E::Action;
}

/// A policy or a privileged policy. It can be moved to another thread.
pub enum Player<E: Environment> {
    /// A policy that sees the observation only.
    Public(Box<dyn Policy<E> + Send>),
    /// A policy that sees the whole episode.
    Privileged(Box<dyn PrivilegedPolicy<E> + Send>),
}

impl<E: Environment> Player<E> {
    /// Observes the current state and chooses an action; `None` after the episode has ended.
    pub fn act(&mut self, episode: &E) -> Option<E::Action> {
        self.observe(episode);
        self.choose(episode)
    }

    /// Chooses an action for the state last passed to [`Player::observe`]; `None` after the episode
    /// has ended.
    pub fn choose(&mut self, episode: &E) -> Option<E::Action> {
        let observation = episode.observation();
        if E::is_done(observation) {
            return None;
        }
        Some(match self {
            Self::Public(policy) => policy.choose(observation),
            Self::Privileged(policy) => policy.choose(episode),
        })
    }

    /// Observes the current state without choosing, for steps on which another player acts.
    pub fn observe(&mut self, episode: &E) {
        match self {
            Self::Public(policy) => policy.observe(episode.observation()),
            Self::Privileged(policy) => policy.observe(episode),
        }
    }

    fn public(&self) -> Option<&dyn Policy<E>> {
        match self {
            Self::Public(policy) => Some(policy.as_ref()),
            Self::Privileged(_) => None,
        }
    }

    /// Returns [`Policy::belief`]; `None` for a privileged policy.
    #[must_use]
    pub fn belief(&self) -> Option<Vec<Vec<f64>>> {
        self.public()?.belief()
    }

    /// Returns [`Policy::action_values`]; `None` for a privileged policy.
    #[must_use]
    pub fn action_values(&self) -> Option<Vec<f64>> {
        self.public()?.action_values()
    }

    /// Returns [`Policy::probabilities`]; `None` for a privileged policy.
    #[must_use]
    pub fn probabilities(&self) -> Option<Vec<f64>> {
        self.public()?.probabilities()
    }

    /// Returns [`Policy::peek_draw`]; `None` for a privileged policy.
    #[must_use]
    pub fn peek_draw(&self) -> Option<f64> {
        self.public()?.peek_draw()
    }
}

/// A named policy that does not learn from its observations. An environment should not reward it.
#[derive(Clone, Debug)]
pub struct ConstantPolicy<E: Environment> {
    /// Name shown in tables, unique within an environment.
    pub name: String,
    /// The rule that produces its actions.
    pub routine: Routine<E>,
}

/// The rule by which a constant policy acts.
#[derive(Debug)]
pub enum Routine<E: Environment> {
    /// A fixed sequence of actions, repeated.
    Cycle(CyclicPolicy<E>),
    /// A fixed function of the current observation, for worlds whose actions depend on what is
    /// offered.
    Habit(fn(&E::Observation) -> E::Action),
}

// Implemented by hand because a derive would require `E::Observation: Clone`, although it occurs
// only in a function signature.
impl<E: Environment> Clone for Routine<E> {
    fn clone(&self) -> Self {
        match self {
            Self::Cycle(cycle) => Self::Cycle(cycle.clone()),
            Self::Habit(habit) => Self::Habit(*habit),
        }
    }
}

impl<E: Environment> PartialEq for ConstantPolicy<E> {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl<E: Environment> Policy<E> for Routine<E> {
    fn choose(&mut self, observation: &E::Observation) -> E::Action {
        match self {
            Self::Cycle(cycle) => cycle.choose(observation),
            Self::Habit(habit) => habit(observation),
        }
    }
}

impl<E: Environment> ConstantPolicy<E> {
    /// Creates a player that starts at the first action.
    #[must_use]
    pub fn player(&self) -> Player<E> {
        Player::Public(Box::new(self.routine.clone()))
    }
}

/// A policy that repeats a fixed sequence of actions, independent of the observation.
#[derive(Clone, Debug, PartialEq)]
pub struct CyclicPolicy<E: Environment> {
    first: E::Action,
    then: Vec<E::Action>,
    taken: usize,
}

impl<E: Environment> CyclicPolicy<E> {
    /// Creates a policy that takes `first`, then each action of `then`, and starts over.
    #[must_use]
    pub const fn new(first: E::Action, then: Vec<E::Action>) -> Self {
        Self {
            first,
            then,
            taken: 0,
        }
    }
}

impl<E: Environment> Policy<E> for CyclicPolicy<E> {
    fn choose(&mut self, _observation: &E::Observation) -> E::Action {
        let place = self.taken % (self.then.len() + 1);
        self.taken += 1;
        match place {
            0 => self.first,
            _ => self.then[place - 1],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sentinel_env::rng::Streams;
    use sentinel_env::trust::{Action, Episode, Setup, Task, TrustEnv};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// A privileged policy that counts the observations it received.
    struct Counts(Arc<AtomicUsize>);

    impl PrivilegedPolicy<TrustEnv> for Counts {
        fn observe(&mut self, _episode: &Episode) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }

        fn choose(&mut self, _episode: &Episode) -> Action {
            Action::SolveIndependently
        }
    }

    #[test]
    fn privileged_player_observes_each_step_once() {
        let seen = Arc::new(AtomicUsize::new(0));
        let mut player = Player::Privileged(Box::new(Counts(Arc::clone(&seen))));
        let mut episode = Episode::reset(&Setup::new(Task::Task1, 3, Streams::Independent));
        for step in 0..4 {
            // Another player acts on every second step.
            let action = if step % 2 == 0 {
                player.act(&episode).expect("not over")
            } else {
                player.observe(&episode);
                Action::SolveIndependently
            };
            episode.step(action).expect("not over");
        }
        assert_eq!(seen.load(Ordering::Relaxed), 4);
    }
}
