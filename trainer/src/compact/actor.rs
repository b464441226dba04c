//! One process that plays: an episode, what was seen of it, and dice of its own.

use std::ops::Range;

use sentinel_env::rng::derive_seed;
use sentinel_policy::learned::{Weights, best_of, masked_softmax};

use super::learn::Learn;

/// Uniform numbers from SplitMix64: as many streams as there are seeds, none with a state to save.
#[derive(Clone, Copy, Debug)]
pub struct Dice {
    seed: u64,
    drawn: u64,
}

impl Dice {
    /// The stream that a path of numbers leads to, such as update, group, member.
    #[must_use]
    pub fn new(seed: u64, path: &[u64]) -> Self {
        let seed = path
            .iter()
            .fold(seed, |seed, part| derive_seed(seed, part + 1));
        Self { seed, drawn: 0 }
    }

    /// The next number, in `[0, 1)`.
    pub fn roll(&mut self) -> f64 {
        self.drawn += 1;
        (derive_seed(self.seed, self.drawn) >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// An index, by weights that sum to 1.
    pub fn pick(&mut self, weights: &[f64]) -> usize {
        pick(weights, self.roll())
    }
}

/// The index at which the running sum of weights passes `at`; the last one with any weight when
/// rounding leaves none.
pub(super) fn pick(weights: &[f64], at: f64) -> usize {
    let (mut sum, mut last) = (0.0, 0);
    for (index, weight) in weights.iter().enumerate() {
        sum += weight;
        if *weight > 0.0 {
            last = index;
            if at < sum {
                return index;
            }
        }
    }
    last
}

/// An episode under way with what its player remembers. A copy plays on from the same point.
#[derive(Clone)]
pub struct Play<W: Learn> {
    /// The world.
    pub episode: W::Episode,
    observer: W::Observer,
}

/// What a policy makes of an observation.
#[derive(Clone, Debug)]
pub struct Decision<W: Learn> {
    /// What it was given.
    pub features: W::Features,
    /// Which columns were legal.
    pub legal: Vec<bool>,
    /// The chance of each column within its factor at temperature 1.
    pub probabilities: Vec<f64>,
}

/// Runs a network on plays.
pub struct Actor<'a, W: Learn> {
    weights: &'a Weights<W::Net>,
    scratch: W::Scratch,
    logits: Vec<f32>,
}

impl<W: Learn> Play<W> {
    /// Starts at the episode's first observation.
    #[must_use]
    pub fn new(episode: W::Episode, net: &W::Net) -> Self {
        let mut observer = W::observer(net);
        W::observe(&mut observer, W::observation(&episode));
        Self { episode, observer }
    }

    /// Whether the episode has ended.
    #[must_use]
    pub fn done(&self) -> bool {
        W::is_done(W::observation(&self.episode))
    }

    /// Takes an action. Nothing happens after the end.
    pub fn step(&mut self, choice: W::Choice) {
        let action = W::action(choice, W::observation(&self.episode));
        if W::step(&mut self.episode, action).is_ok() {
            W::observe(&mut self.observer, W::observation(&self.episode));
        }
    }

    /// The features of the current observation.
    #[must_use]
    pub fn features(&self) -> W::Features {
        W::features(&self.observer, W::observation(&self.episode))
    }

    /// Mean reward per event so far; the episode's score at its end.
    #[must_use]
    pub fn score(&self) -> f64 {
        W::score(&self.episode)
    }
}

impl<W: Learn> Decision<W> {
    /// Samples each factor.
    pub fn choose(&self, dice: &mut Dice) -> W::Choice {
        W::choose(&mut |range: Range<usize>| range.start + dice.pick(&self.probabilities[range]))
    }

    /// The same with a place in `[0, 1)` for the first factor in place of its dice.
    pub fn choose_at(&self, place: f64, dice: &mut Dice) -> W::Choice {
        let mut first = Some(place);
        W::choose(&mut |range: Range<usize>| {
            let at = first.take().unwrap_or_else(|| dice.roll());
            range.start + pick(&self.probabilities[range], at)
        })
    }
}

/// The chance of each column within its factor.
pub(super) fn probabilities<W: Learn>(logits: &[f32], legal: &[bool]) -> Vec<f64> {
    let mut all = vec![0.0; logits.len()];
    for range in W::SEGMENTS {
        let part = range.clone();
        masked_softmax(&logits[part.clone()], &legal[part.clone()], &mut all[part]);
    }
    all
}

impl<'a, W: Learn> Actor<'a, W> {
    /// An actor with room of its own.
    #[must_use]
    pub fn new(weights: &'a Weights<W::Net>) -> Self {
        Self {
            weights,
            scratch: W::scratch(weights),
            logits: Vec::with_capacity(W::LOGITS),
        }
    }

    /// What the policy makes of the current observation.
    pub fn decide(&mut self, play: &Play<W>) -> Decision<W> {
        let features = play.features();
        W::logits(self.weights, &features, &mut self.scratch, &mut self.logits);
        let legal = W::legal(W::observation(&play.episode));
        Decision {
            probabilities: probabilities::<W>(&self.logits, &legal),
            features,
            legal,
        }
    }

    /// Samples actions to the end; how many steps it took.
    pub fn finish(&mut self, play: &mut Play<W>, dice: &mut Dice) -> u64 {
        let mut steps = 0;
        while !play.done() {
            let choice = self.decide(play).choose(dice);
            play.step(choice);
            steps += 1;
        }
        steps
    }

    /// Takes the likeliest value of each factor, to the end; how many steps it took.
    pub fn finish_greedily(&mut self, play: &mut Play<W>) -> u64 {
        let mut steps = 0;
        while !play.done() {
            let features = play.features();
            W::logits(self.weights, &features, &mut self.scratch, &mut self.logits);
            let legal = W::legal(W::observation(&play.episode));
            let logits = &self.logits;
            let choice = W::choose(&mut |range| best_of(logits, &legal, range));
            play.step(choice);
            steps += 1;
        }
        steps
    }
}
