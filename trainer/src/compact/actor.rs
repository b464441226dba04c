//! Acting while training: an episode under way, and a network that plays it.

use std::ops::Range;

use sentinel_policy::nn::{Choice, Inference, Network, Observe as _, Weights};

use super::learn::{FeaturesOf, Learn, ObserverOf};
use crate::rng::{Rng, weighted_index};

/// An episode under way with what its policy remembers. A clone continues from the same point.
#[derive(Clone)]
pub struct Rollout<W: Learn> {
    /// The episode.
    pub episode: W,
    observer: ObserverOf<W>,
}

/// The policy at one observation.
#[derive(Clone, Debug)]
pub struct Decision<W: Learn> {
    /// The input of the network.
    pub features: FeaturesOf<W>,
    /// Which columns can be chosen.
    pub action_mask: Vec<bool>,
    /// The probability of each column within its factor, at temperature 1.
    pub probabilities: Vec<f64>,
}

/// A network with buffers to play with.
pub struct Actor<'a, W: Learn> {
    weights: &'a Weights<W::Net>,
    inference: Inference<W::Net>,
}

impl<W: Learn> Rollout<W> {
    /// Starts at the episode's first observation.
    #[must_use]
    pub fn new(episode: W, net: &W::Net) -> Self {
        let mut observer = net.observer();
        observer.observe(episode.observation());
        Self { episode, observer }
    }

    /// Returns whether the episode has ended.
    #[must_use]
    pub fn is_done(&self) -> bool {
        W::is_done(self.episode.observation())
    }

    /// Takes an action. Nothing happens after the end.
    pub fn step(&mut self, choice: &Choice) {
        let action = W::Net::action(choice, self.episode.observation());
        if self.episode.step(action).is_ok() {
            self.observer.observe(self.episode.observation());
        }
    }

    /// Returns the features of the current observation.
    #[must_use]
    pub fn features(&self) -> FeaturesOf<W> {
        self.observer.features(self.episode.observation())
    }
}

impl<W: Learn> Decision<W> {
    /// Samples each factor.
    pub fn sample(&self, rng: &mut Rng) -> Choice {
        W::Net::select(|range: Range<usize>| {
            range.start + rng.weighted_index(&self.probabilities[range])
        })
    }

    /// Samples each factor, the first one at a given place in `[0, 1)` of its distribution.
    pub fn sample_at(&self, place: f64, rng: &mut Rng) -> Choice {
        let mut first = Some(place);
        W::Net::select(|range: Range<usize>| {
            let at = first.take().unwrap_or_else(|| rng.uniform());
            range.start + weighted_index(&self.probabilities[range], at)
        })
    }
}

impl<'a, W: Learn> Actor<'a, W> {
    /// An actor with buffers of its own.
    #[must_use]
    pub fn new(weights: &'a Weights<W::Net>) -> Self {
        Self {
            weights,
            inference: Inference::new(weights.config()),
        }
    }

    /// Runs the network on the current observation.
    pub fn decide(&mut self, rollout: &Rollout<W>) -> Decision<W> {
        let features = rollout.features();
        let observation = rollout.episode.observation();
        self.inference.run(self.weights, &features, observation);
        Decision {
            probabilities: self.inference.probabilities(),
            features,
            action_mask: self.inference.mask().to_vec(),
        }
    }

    /// Samples actions to the end; returns the number of steps.
    pub fn finish(&mut self, rollout: &mut Rollout<W>, rng: &mut Rng) -> u64 {
        let mut steps = 0;
        while !rollout.is_done() {
            let choice = self.decide(rollout).sample(rng);
            rollout.step(&choice);
            steps += 1;
        }
        steps
    }

    /// Takes the most probable value of each factor, to the end; returns the number of steps.
    pub fn finish_greedily(&mut self, rollout: &mut Rollout<W>) -> u64 {
        let mut steps = 0;
        while !rollout.is_done() {
            let features = rollout.features();
            let observation = rollout.episode.observation();
            self.inference.run(self.weights, &features, observation);
            rollout.step(&self.inference.greedy());
            steps += 1;
        }
        steps
    }
}
