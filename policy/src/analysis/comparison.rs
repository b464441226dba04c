//! The comparison of actions at one observation: one step of policy improvement by the rollout
//! algorithm (Tesauro & Galperin 1996).

use sentinel_env::rng::derive_seed;
use sentinel_env::{Environment, Seeded as _};

use super::statistics::Moments;
use super::{Analyzable, ContinuationPolicy, Evidence as _};
use crate::rollout::play_out;

/// The estimated value of an action: final scores of rollouts in sampled states, compared with
/// those of the policy's own action in the same states.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ActionGain<A> {
    /// The action that was tried in the sampled states.
    pub action: A,
    /// Mean final score minus that of the action that is compared with, such as the policy's own.
    pub gain: f64,
    /// Standard error of `gain`; 0 for the own action and for fewer than two rollouts.
    pub standard_error: f64,
}

/// Compares actions along an episode by what it observes.
pub trait CompareActions<E: Environment> {
    /// Records an observation, and the action that led to it: `None` for the first one. Called once
    /// for every observation of an episode, in order.
    fn observe(&mut self, action: Option<E::Action>, observation: &E::Observation);

    /// Compares the policy's own action at the latest observation, which comes first in the result,
    /// with the candidates of the world and with `others`, each in the same `rollouts` sampled
    /// states. Equal seeds give equal results.
    fn compare(
        &self,
        observation: &E::Observation,
        others: &[E::Action],
        rollouts: u32,
        seed: u64,
    ) -> Vec<ActionGain<E::Action>>;
}

/// The memory of an episode that rollouts start from: what the public evidence says of hidden states,
/// and the policy that plays on.
pub struct BeliefRollouts<W: Analyzable> {
    pub(super) policy: Box<dyn ContinuationPolicy<W>>,
    pub(super) evidence: W::Evidence,
}

impl<W: Analyzable> Clone for BeliefRollouts<W> {
    fn clone(&self) -> Self {
        Self {
            policy: self.policy.boxed_clone(),
            evidence: self.evidence.clone(),
        }
    }
}

impl<W: Analyzable> BeliefRollouts<W> {
    /// Starts before the first observation of an episode. `policy` must not have observed anything
    /// yet. The seed of `setup` is not used, because hidden state follows from it.
    #[must_use]
    pub fn new(policy: &dyn ContinuationPolicy<W>, setup: &W::Setup) -> Self {
        Self {
            policy: policy.boxed_clone(),
            evidence: W::evidence(&setup.with_seed(0)),
        }
    }

    /// Returns the action that the policy would choose at the latest observation.
    #[must_use]
    pub fn own_action(&self, observation: &W::Observation) -> W::Action {
        self.policy.boxed_clone().choose(observation)
    }

    /// Returns `own`, if any, and the candidates of the world at the latest observation, without
    /// duplicates.
    pub fn candidates(
        &self,
        observation: &W::Observation,
        own: Option<W::Action>,
    ) -> Vec<W::Action> {
        let candidates = self.evidence.candidates(observation);
        distinct(own.into_iter().chain(candidates))
    }

    /// Compares actions at the latest observation, the first of them with all others, each in the same
    /// `rollouts` sampled states. Equal seeds give equal results.
    #[must_use]
    pub fn gains(
        &self,
        observation: &W::Observation,
        actions: &[W::Action],
        rollouts: u32,
        seed: u64,
    ) -> Vec<ActionGain<W::Action>> {
        let mut gains = vec![Moments::default(); actions.len()];
        for index in 0..u64::from(rollouts) {
            let seed = derive_seed(seed, index + 1);
            let state = self.evidence.sample(observation, seed);
            let Some(base) = actions.first().map(|first| self.play_out(&state, *first)) else {
                break;
            };
            for (action, gain) in actions.iter().zip(&mut gains).skip(1) {
                gain.push(self.play_out(&state, *action) - base);
            }
        }
        let each = actions.iter().zip(gains);
        each.map(|(action, gain)| ActionGain {
            action: *action,
            gain: gain.mean(),
            standard_error: gain.standard_error().unwrap_or(0.0),
        })
        .collect()
    }

    /// Returns the final score if `action` is taken in `state` and the policy plays on.
    pub(super) fn play_out(&self, state: &W, action: W::Action) -> f64 {
        play_out(state.clone(), &mut *self.policy.boxed_clone(), action)
    }
}

impl<W: Analyzable> CompareActions<W> for BeliefRollouts<W> {
    fn observe(&mut self, action: Option<W::Action>, observation: &W::Observation) {
        self.policy.observe(observation);
        self.evidence.observe(action, observation);
    }

    fn compare(
        &self,
        observation: &W::Observation,
        others: &[W::Action],
        rollouts: u32,
        seed: u64,
    ) -> Vec<ActionGain<W::Action>> {
        let own = self.own_action(observation);
        let candidates = self.candidates(observation, Some(own));
        let actions = distinct(candidates.into_iter().chain(others.to_vec()));
        self.gains(observation, &actions, rollouts, seed)
    }
}

/// Returns the actions without duplicates, in order of their first occurrence.
pub(super) fn distinct<A: PartialEq>(actions: impl IntoIterator<Item = A>) -> Vec<A> {
    let mut all = Vec::new();
    for action in actions {
        if !all.contains(&action) {
            all.push(action);
        }
    }
    all
}
