//! Random numbers that are the same on every machine.

use crate::rng::{SPLITMIX64_INCREMENT, derive_seed};

/// The SplitMix64 generator (Steele, Lea, Flood 2014).
///
/// Any seed is valid; the quality is sufficient for sampling tokens, dropout masks and initial
/// weights.
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    /// Returns a generator with the given seed.
    pub(crate) const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Returns a generator with a separate stream for each pair of seed and index.
    pub(crate) const fn indexed(seed: u64, index: u64) -> Self {
        // The seed is scrambled before the index is mixed in: a plain XOR of both would give seed 5
        // with index 0 the stream of seed 0 with index 5.
        let mixed = Self(seed).next() ^ index;
        Self(Self(mixed).next())
    }

    /// Returns a generator with a separate stream for each pair of seed and name.
    pub(crate) fn named(seed: u64, name: &str) -> Self {
        // FNV-1a hash of the name.
        let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        Self::indexed(seed, hash)
    }

    pub(crate) const fn next(&mut self) -> u64 {
        let mixed = derive_seed(self.0, 1);
        self.0 = self.0.wrapping_add(SPLITMIX64_INCREMENT);
        mixed
    }

    /// Returns a uniform number in `[0, 1)`.
    pub(crate) const fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Shuffles `values` with equal probability for each order (Fisher-Yates).
    pub(crate) fn shuffle<T>(&mut self, values: &mut [T]) {
        for last in (1..values.len()).rev() {
            values.swap(last, (self.unit() * (last + 1) as f64) as usize);
        }
    }

    /// Returns a normally distributed number with mean 0 (Box-Muller).
    pub(crate) fn normal(&mut self, deviation: f64) -> f32 {
        let radius = (-2.0 * (1.0 - self.unit()).ln()).sqrt();
        let angle = std::f64::consts::TAU * self.unit();
        (deviation * radius * angle.cos()) as f32
    }
}

#[cfg(test)]
mod tests {
    use super::Random;
    use std::collections::BTreeSet;

    #[test]
    fn streams_differ() {
        let pairs = (0..20).flat_map(|seed| (0..20).map(move |index| (seed, index)));
        let first = |(seed, index)| Random::indexed(seed, index).next();
        assert_eq!(pairs.map(first).collect::<BTreeSet<_>>().len(), 400);
    }
}
