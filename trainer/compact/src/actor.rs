//! Acting while training: an episode in progress, and a network that plays it.

use std::ops::Range;

use sentinel_env::Transition;
use sentinel_options::rng::{Rng, weighted_index};
use sentinel_policy::nn::{Choice, Inference, Network, Observe as _, Weights};

use super::learn::{FeaturesOf, Learn, ObserverOf};

/// An episode in progress with the policy's memory. A clone continues from the same point.
#[derive(Clone)]
pub struct Rollout<W: Learn> {
    /// The episode in its current state.
    pub episode: W,
    observer: ObserverOf<W>,
    /// The term that the reward of training leaves out, as an index of `World::REWARD_TERMS`.
    left_out: Option<usize>,
    /// The sum of what the term that is left out added to the reward so far.
    term_total: f64,
}

/// The output of the policy at one observation.
#[derive(Clone, Debug)]
pub struct ActionDistribution<W: Learn> {
    /// The input features of the network.
    pub features: FeaturesOf<W>,
    /// `true` for each column that can be chosen.
    pub action_mask: Vec<bool>,
    /// The probability of each column within its factor, at temperature 1.
    pub probabilities: Vec<f64>,
}

/// A network with its inference buffers.
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
        Self {
            episode,
            observer,
            left_out: None,
            term_total: 0.0,
        }
    }

    /// Returns the same rollout, at its start, with a reward of training that leaves out a term.
    #[must_use]
    pub fn without_term(self, left_out: Option<usize>) -> Self {
        Self { left_out, ..self }
    }

    /// Returns the score that is trained on: that of the episode, or the one without the term that is
    /// left out.
    #[must_use]
    pub fn training_score(&self) -> f64 {
        match self.left_out {
            None => self.episode.score(),
            Some(term) => self.episode.score_without_term(term, self.term_total),
        }
    }

    /// Returns the sum of the rewards so far that are trained on, without the term that is left out.
    #[must_use]
    pub fn training_total(&self) -> f64 {
        self.episode.total_reward() - self.term_total
    }

    /// Returns the number of reward events so far that are trained on.
    #[must_use]
    pub fn training_events(&self) -> f64 {
        match self.left_out {
            None => self.episode.reward_count(),
            Some(term) => self.episode.reward_count_without_term(term),
        }
    }

    /// Returns `true` if the episode has ended.
    #[must_use]
    pub fn is_done(&self) -> bool {
        W::is_done(self.episode.observation())
    }

    /// Applies a choice as the next action; does nothing after the end, and returns `None` then.
    pub fn step(&mut self, choice: &Choice) -> Option<Transition<W::Info>> {
        let action = W::Net::decode_action(choice, self.episode.observation());
        let transition = self.episode.step(action).ok()?;
        if let Some(term) = self.left_out {
            self.term_total += self.episode.term_reward(term, &transition.info);
        }
        self.observer.observe(self.episode.observation());
        Some(transition)
    }

    /// Returns the features of the current observation.
    #[must_use]
    pub fn features(&self) -> FeaturesOf<W> {
        self.observer.features(self.episode.observation())
    }
}

impl<W: Learn> ActionDistribution<W> {
    /// Samples a value for each factor.
    pub fn sample(&self, rng: &mut Rng) -> Choice {
        W::Net::build_choice(|range: Range<usize>| {
            range.start + rng.weighted_index(&self.probabilities[range])
        })
    }

    /// Returns the probability of a choice.
    pub fn probability(&self, choice: &Choice) -> f64 {
        let columns = choice.chosen_columns();
        columns.map(|column| self.probabilities[column]).product()
    }

    /// Samples a value for each factor, the first one at the quantile `place` in `[0, 1)`.
    pub fn sample_at_quantile(&self, place: f64, rng: &mut Rng) -> Choice {
        let mut first = Some(place);
        W::Net::build_choice(|range: Range<usize>| {
            let at = first.take().unwrap_or_else(|| rng.uniform());
            range.start + weighted_index(&self.probabilities[range], at)
        })
    }
}

impl<'a, W: Learn> Actor<'a, W> {
    /// Creates an actor with its own buffers.
    #[must_use]
    pub fn new(weights: &'a Weights<W::Net>) -> Self {
        Self {
            weights,
            inference: Inference::new(weights.config()),
        }
    }

    /// Runs the network on the current observation.
    pub fn action_distribution(&mut self, rollout: &Rollout<W>) -> ActionDistribution<W> {
        let features = rollout.features();
        let observation = rollout.episode.observation();
        self.inference.run(self.weights, &features, observation);
        ActionDistribution {
            probabilities: self.inference.probabilities(),
            features,
            action_mask: self.inference.mask().to_vec(),
        }
    }

    /// Samples actions until the episode ends; returns the number of steps.
    pub fn finish(&mut self, rollout: &mut Rollout<W>, rng: &mut Rng) -> u64 {
        let mut steps = 0;
        while !rollout.is_done() {
            let choice = self.action_distribution(rollout).sample(rng);
            rollout.step(&choice);
            steps += 1;
        }
        steps
    }

    /// Takes the most probable value of each factor until the episode ends; returns the number of
    /// steps.
    pub fn finish_greedily(&mut self, rollout: &mut Rollout<W>) -> u64 {
        let mut steps = 0;
        while !rollout.is_done() {
            let choice = self.greedy(rollout);
            rollout.step(&choice);
            steps += 1;
        }
        steps
    }

    /// Returns the most probable value of each factor at the current observation.
    pub fn greedy(&mut self, rollout: &Rollout<W>) -> Choice {
        let features = rollout.features();
        let observation = rollout.episode.observation();
        self.inference.run(self.weights, &features, observation);
        self.inference.greedy()
    }
}
