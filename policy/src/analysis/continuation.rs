//! Policies that continue an episode after the action that is judged.

use sentinel_env::Environment;

use crate::playable::{Playable, Scripted};
use crate::policy::{Player, Policy};

/// A policy whose memory can be copied in the middle of an episode. Implemented for every policy
/// that implements `Clone`.
pub trait ContinuationPolicy<E: Environment>: Policy<E> {
    /// Returns a copy that continues as this policy does.
    fn boxed_clone(&self) -> Box<dyn ContinuationPolicy<E>>;
}

impl<E: Environment, P: Policy<E> + Clone + 'static> ContinuationPolicy<E> for P {
    fn boxed_clone(&self) -> Box<dyn ContinuationPolicy<E>> {
        Box::new(self.clone())
    }
}

/// A scripted policy as a continuation: a copy starts anew and observes the same history.
///
/// A policy with its own random stream therefore makes the same draws in every rollout of a step.
pub struct RestartedPolicy<W: Playable> {
    name: W::PolicyName,
    setup: W::Setup,
    seen: Vec<W::Observation>,
    player: Box<dyn Policy<W>>,
}

impl<W: Playable> RestartedPolicy<W> {
    /// Creates the policy `name` for an episode of `setup`; `None` if it reads hidden state.
    #[must_use]
    pub fn new(name: W::PolicyName, setup: &W::Setup) -> Option<Self> {
        match name.start(setup) {
            Player::Public(player) => Some(Self {
                name,
                setup: *setup,
                seen: Vec::new(),
                player,
            }),
            Player::Privileged(_) => None,
        }
    }
}

impl<W: Playable<Observation: Clone>> Clone for RestartedPolicy<W> {
    fn clone(&self) -> Self {
        let mut player = match self.name.start(&self.setup) {
            Player::Public(player) => player,
            // `new` accepts no such policy.
            Player::Privileged(_) => unreachable!("a policy became privileged"),
        };
        for observation in &self.seen {
            player.observe(observation);
        }
        Self {
            name: self.name,
            setup: self.setup,
            seen: self.seen.clone(),
            player,
        }
    }
}

impl<W: Playable<Observation: Clone>> Policy<W> for RestartedPolicy<W> {
    fn observe(&mut self, observation: &W::Observation) {
        self.player.observe(observation);
        self.seen.push(observation.clone());
    }

    fn choose(&mut self, observation: &W::Observation) -> W::Action {
        self.player.choose(observation)
    }
}
