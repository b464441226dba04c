//! Uniform random numbers for training: a stream for each (seed, update, group, member), without a
//! state that must be saved.

pub(crate) use sentinel_env::rng::{SPLITMIX64_INCREMENT, derive_seed};

/// A stream of uniform numbers from SplitMix64.
#[derive(Clone, Copy, Debug)]
pub struct Rng {
    seed: u64,
    drawn: u64,
}

impl Rng {
    /// Returns the stream of a seed and a path of numbers, such as update, group, member.
    #[must_use]
    pub fn new(seed: u64, path: &[u64]) -> Self {
        let seed = path
            .iter()
            .fold(seed, |seed, part| derive_seed(seed, part + 1));
        Self { seed, drawn: 0 }
    }

    /// Draws a number from `[0, 1)`.
    pub fn uniform(&mut self) -> f64 {
        self.drawn += 1;
        (derive_seed(self.seed, self.drawn) >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Draws an index by weights that sum to 1.
    pub fn weighted_index(&mut self, weights: &[f64]) -> usize {
        weighted_index(weights, self.uniform())
    }

    /// Shuffles values (Fisher and Yates).
    pub(super) fn shuffle(mut self, values: &mut [usize]) {
        for last in (1..values.len()).rev() {
            values.swap(last, (self.uniform() * (last + 1) as f64) as usize);
        }
    }
}

/// Returns the index at which the running sum of weights exceeds `at`; if rounding leaves none, the
/// last index with a positive weight.
pub(super) fn weighted_index(weights: &[f64], at: f64) -> usize {
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
