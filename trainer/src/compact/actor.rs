//! One process that plays: an episode, what was seen of it, and dice of its own.

use sentinel_env::rng::derive_seed;
use sentinel_env::trust::{Action, Episode};
use sentinel_policy::learned::{
    Features, Observer, Output, Scratch, Weights, best, legal, softmax,
};

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
#[derive(Clone, Copy)]
pub struct Play {
    /// The world.
    pub episode: Episode,
    observer: Observer,
}

/// What a policy makes of an observation.
#[derive(Clone, Copy, Debug)]
pub struct Decision {
    /// What it was given.
    pub features: Features,
    /// What the network said.
    pub output: Output,
    /// Which actions were legal.
    pub legal: [bool; 12],
    /// The chance of each action at temperature 1.
    pub probabilities: [f64; 12],
}

/// Runs a network on plays.
pub struct Actor<'a> {
    weights: &'a Weights,
    scratch: Scratch,
}

impl Play {
    /// Starts at the episode's first observation.
    #[must_use]
    pub fn new(episode: Episode, weights: &Weights) -> Self {
        let mut observer = Observer::new(weights.config().features);
        observer.observe(episode.observation());
        Self { episode, observer }
    }

    /// Whether the episode has ended.
    #[must_use]
    pub fn done(&self) -> bool {
        self.episode.observation().done()
    }

    /// Takes an action. Nothing happens after the end.
    pub fn step(&mut self, action: usize) {
        if self.episode.step(Action::ALL[action]).is_ok() {
            self.observer.observe(self.episode.observation());
        }
    }

    /// The features of the current observation.
    #[must_use]
    pub fn features(&self) -> Features {
        self.observer.features(self.episode.observation())
    }

    /// Mean reward per event so far; the episode's score at its end.
    #[must_use]
    pub fn score(&self) -> f64 {
        self.episode.tally().score()
    }
}

impl<'a> Actor<'a> {
    /// An actor with room of its own.
    #[must_use]
    pub fn new(weights: &'a Weights) -> Self {
        Self {
            weights,
            scratch: Scratch::new(weights),
        }
    }

    /// What the policy makes of the current observation.
    pub fn decide(&mut self, play: &Play) -> Decision {
        let features = play.features();
        let output = self.weights.forward(&features, &mut self.scratch);
        let legal = legal(play.episode.observation());
        Decision {
            features,
            output,
            legal,
            probabilities: softmax(&output.actions, &legal),
        }
    }

    /// Samples actions to the end; how many steps it took.
    pub fn finish(&mut self, play: &mut Play, dice: &mut Dice) -> u64 {
        let mut steps = 0;
        while !play.done() {
            let decision = self.decide(play);
            play.step(dice.pick(&decision.probabilities));
            steps += 1;
        }
        steps
    }

    /// Takes the likeliest action, to the end.
    pub fn finish_greedily(&mut self, play: &mut Play) {
        while !play.done() {
            let features = play.features();
            let output = self.weights.forward(&features, &mut self.scratch);
            let mask = legal(play.episode.observation());
            let Some(action) = best(&output.actions, &mask) else {
                return;
            };
            play.step(action);
        }
    }
}
