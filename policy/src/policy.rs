//! Who acts in an environment: policies, privileged policies, and either as a player.

use std::fmt::Debug;

use sentinel_env::Environment;

/// The random stream of a policy that draws; the worlds use other numbers.
pub const POLICY_STREAM: u64 = 4;

/// A policy: a mapping from observations to actions, with whatever it remembers of one episode.
pub trait Policy<E: Environment> {
    /// Takes in an observation. Called once for every observation of an episode, in order.
    fn observe(&mut self, _observation: &E::Observation) {}

    /// Chooses an action for the observation taken in last. Not called after the end.
    fn choose(&mut self, observation: &E::Observation) -> E::Action;

    /// Returns the posterior over what is hidden, one row per hidden variable, if the policy has one.
    fn belief(&self) -> Option<Vec<Vec<f64>>> {
        None
    }

    /// Returns the value of each kind of action at the last choice, if the policy computes values.
    fn action_values(&self) -> Option<Vec<f64>> {
        None
    }

    /// Returns the probability of each kind of action for the observation taken in last, if the policy
    /// is a distribution over actions.
    fn probabilities(&self) -> Option<Vec<f64>> {
        None
    }

    /// Returns the next draw of the policy's own random stream without taking it, if it has one.
    fn peek_draw(&self) -> Option<f64> {
        None
    }
}

/// A scripted policy that reads hidden state. Never a baseline for what can be learned.
pub trait PrivilegedPolicy<E: Environment> {
    /// Takes in the episode. Called once for every observation of an episode, in order, also on steps
    /// on which another player acts.
    fn observe(&mut self, _episode: &E) {}

    /// Chooses an action knowing the whole episode, which [`PrivilegedPolicy::observe`] took in. Not
    /// called after the end.
    fn choose(&mut self, episode: &E) -> E::Action;
}

/// A policy or a privileged policy.
pub enum Player<E: Environment> {
    /// Sees the observation.
    Public(Box<dyn Policy<E>>),
    /// Sees the whole episode.
    Privileged(Box<dyn PrivilegedPolicy<E>>),
}

impl<E: Environment> Player<E> {
    /// Takes in the current observation and chooses. `None` after the end.
    pub fn act(&mut self, episode: &E) -> Option<E::Action> {
        self.observe(episode);
        self.choose(episode)
    }

    /// Chooses for an observation that was taken in by [`Player::observe`]. `None` after the end.
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

    /// Takes in the current observation without choosing, for steps on which another player acts.
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

    /// See [`Policy::belief`].
    #[must_use]
    pub fn belief(&self) -> Option<Vec<Vec<f64>>> {
        self.public()?.belief()
    }

    /// See [`Policy::action_values`].
    #[must_use]
    pub fn action_values(&self) -> Option<Vec<f64>> {
        self.public()?.action_values()
    }

    /// See [`Policy::probabilities`].
    #[must_use]
    pub fn probabilities(&self) -> Option<Vec<f64>> {
        self.public()?.probabilities()
    }

    /// See [`Policy::peek_draw`].
    #[must_use]
    pub fn peek_draw(&self) -> Option<f64> {
        self.public()?.peek_draw()
    }
}

/// A policy that learns nothing from what it sees: what an environment must not reward.
#[derive(Clone, Debug)]
pub struct Constant<E: Environment> {
    /// Its name in tables; no two of an environment have the same name.
    pub name: String,
    /// What it does.
    pub routine: Routine<E>,
}

/// What a constant policy does.
#[derive(Debug)]
pub enum Routine<E: Environment> {
    /// Repeats the same actions.
    Cycle(Cycle<E>),
    /// Takes what is offered by one simple habit, where actions have no fixed names.
    Habit(fn(&E::Observation) -> E::Action),
}

// A derive would ask the same of observations, which only stand in a signature.
impl<E: Environment> Clone for Routine<E> {
    fn clone(&self) -> Self {
        match self {
            Self::Cycle(cycle) => Self::Cycle(cycle.clone()),
            Self::Habit(habit) => Self::Habit(*habit),
        }
    }
}

impl<E: Environment> PartialEq for Constant<E> {
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

impl<E: Environment> Constant<E> {
    /// Returns a fresh player.
    #[must_use]
    pub fn player(&self) -> Player<E> {
        Player::Public(Box::new(self.routine.clone()))
    }
}

/// A policy that repeats the same actions in turn, whatever it sees.
#[derive(Clone, Debug, PartialEq)]
pub struct Cycle<E: Environment> {
    first: E::Action,
    then: Vec<E::Action>,
    taken: usize,
}

impl<E: Environment> Cycle<E> {
    /// Takes `first`, then each of `then`, and starts over.
    #[must_use]
    pub const fn new(first: E::Action, then: Vec<E::Action>) -> Self {
        Self {
            first,
            then,
            taken: 0,
        }
    }
}

impl<E: Environment> Policy<E> for Cycle<E> {
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
    use std::cell::Cell;
    use std::rc::Rc;

    /// Counts the observations that it took in.
    struct Counts(Rc<Cell<usize>>);

    impl PrivilegedPolicy<TrustEnv> for Counts {
        fn observe(&mut self, _episode: &Episode) {
            self.0.set(self.0.get() + 1);
        }

        fn choose(&mut self, _episode: &Episode) -> Action {
            Action::SolveIndependently
        }
    }

    #[test]
    fn a_privileged_player_sees_every_observation_once() {
        let seen = Rc::new(Cell::new(0));
        let mut player = Player::Privileged(Box::new(Counts(Rc::clone(&seen))));
        let mut episode = Episode::reset(&Setup::new(Task::Task1, 3, Streams::Independent));
        for step in 0..4 {
            // Another player acts on every other step.
            let action = if step % 2 == 0 {
                player.act(&episode).expect("not over")
            } else {
                player.observe(&episode);
                Action::SolveIndependently
            };
            episode.step(action).expect("not over");
        }
        assert_eq!(seen.get(), 4);
    }
}
