//! Random numbers of training, the same on every machine: streams that are derived from a seed and
//! from what they are used for, so that no state must be saved.

use sentinel_env::rng::{SPLITMIX64_INCREMENT, derive_seed};

/// The SplitMix64 generator (Steele, Lea, Flood 2014).
///
/// Any seed is valid. The quality is sufficient for sampling actions and tokens, dropout masks and
/// initial weights.
#[derive(Clone, Copy, Debug)]
pub struct Rng(u64);

impl Rng {
    /// Returns the stream of a seed and a path of numbers, such as update, group, member.
    #[must_use]
    pub fn new(seed: u64, path: &[u64]) -> Self {
        let derive = |seed, part: &u64| derive_seed(seed, part + 1);
        Self(path.iter().fold(seed, derive))
    }

    /// Returns a stream for each pair of seed and index.
    pub const fn indexed(seed: u64, index: u64) -> Self {
        // The seed is scrambled before the index is mixed in: a plain XOR of both would give seed 5
        // with index 0 the stream of seed 0 with index 5.
        let mixed = Self(seed).next() ^ index;
        Self(Self(mixed).next())
    }

    /// Returns a stream for each pair of seed and name.
    pub fn named(seed: u64, name: &str) -> Self {
        // FNV-1a hash of the name.
        let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        Self::indexed(seed, hash)
    }

    /// Draws 64 random bits.
    pub const fn next(&mut self) -> u64 {
        let mixed = derive_seed(self.0, 1);
        self.0 = self.0.wrapping_add(SPLITMIX64_INCREMENT);
        mixed
    }

    /// Draws a number from `[0, 1)`.
    pub const fn uniform(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Draws a normally distributed number with mean 0 (Box-Muller).
    pub fn normal(&mut self, deviation: f64) -> f32 {
        let radius = (-2.0 * (1.0 - self.uniform()).ln()).sqrt();
        let angle = std::f64::consts::TAU * self.uniform();
        (deviation * radius * angle.cos()) as f32
    }

    /// Draws an index by weights that sum to 1.
    pub fn weighted_index(&mut self, weights: &[f64]) -> usize {
        weighted_index(weights, self.uniform())
    }

    /// Draws a number below `count`, which is not 0, with equal probabilities.
    pub fn below(&mut self, count: usize) -> usize {
        (self.uniform() * count as f64) as usize
    }

    /// Shuffles values with equal probability for each order (Fisher-Yates).
    pub fn shuffle<T>(&mut self, values: &mut [T]) {
        for last in (1..values.len()).rev() {
            values.swap(last, self.below(last + 1));
        }
    }
}

/// Returns the index at which the running sum of weights exceeds `at`; if rounding leaves none, the
/// last index with a positive weight.
pub fn weighted_index(weights: &[f64], at: f64) -> usize {
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

#[cfg(test)]
mod tests {
    use super::Rng;
    use std::collections::BTreeSet;

    #[test]
    fn indexed_rng_streams_differ() {
        let pairs = (0..20).flat_map(|seed| (0..20).map(move |index| (seed, index)));
        let first = |(seed, index)| Rng::indexed(seed, index).next();
        assert_eq!(pairs.map(first).collect::<BTreeSet<_>>().len(), 400);
    }
}
