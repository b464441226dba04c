//! A permuted congruential generator with tagged seeds (O'Neill 2014; spec polyguard §1).

use rand_core::RngCore;
use rand_pcg::Pcg64Mcg;

use super::derive_seed;

/// Mixes the bits of a word: returns the first output of SplitMix64 started at `z`.
const fn mix(z: u64) -> u64 {
    derive_seed(z, 1)
}

/// A small, fast random stream in which every draw consumes one 64-bit word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PcgRandom(Pcg64Mcg);

impl PcgRandom {
    /// Creates the stream of a seed; different tags give different streams of the same seed.
    #[must_use]
    pub fn new(seed: u64, tags: &[u64]) -> Self {
        let hash = tags.iter().fold(mix(seed), |hash, tag| mix(hash ^ tag));
        let state = u128::from(mix(hash ^ 1)) << 64 | u128::from(mix(hash ^ 2));
        Self(Pcg64Mcg::new(state | 1))
    }

    /// Draws a uniform number in `[0, 1)`.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Draws a uniform integer in `0..n`.
    #[inline]
    pub fn below(&mut self, n: usize) -> usize {
        ((u128::from(self.0.next_u64()) * n as u128) >> 64) as usize
    }

    /// Draws a uniform number in `[-scale, scale)`, computed as `scale * (2u - 1)`.
    #[inline]
    pub fn uniform_symmetric(&mut self, scale: f64) -> f64 {
        scale * (2.0 * self.unit() - 1.0)
    }

    /// Draws the position of one of the set bits. Returns `None` and draws nothing if no bit is
    /// set.
    pub fn pick(&mut self, bits: u64) -> Option<u8> {
        if bits == 0 {
            return None;
        }
        let mut rest = bits;
        for _ in 0..self.below(bits.count_ones() as usize) {
            rest &= rest - 1;
        }
        Some(rest.trailing_zeros() as u8)
    }

    /// Shuffles in place with the Fisher-Yates algorithm, from the end.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.below(i + 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pcg_outputs_match_spec() {
        let mut plain = Pcg64Mcg::new(42);
        let words = [plain.next_u64(), plain.next_u64(), plain.next_u64()];
        assert_eq!(
            words,
            [
                0x63b4_a3a8_13ce_700a,
                0x3829_5420_0617_ab24,
                0xa7fd_85ae_3fe9_50ce
            ]
        );
        let mut stream = PcgRandom::new(42, &[0, 1, 0]);
        assert_eq!(stream.0.next_u64(), 0xaa05_75ed_e696_5b1d);
        assert_eq!(stream.0.next_u64(), 0x6147_c20a_2244_a443);
    }

    #[test]
    fn pick_returns_only_set_bits() {
        let mut stream = PcgRandom::new(1, &[]);
        let mut seen = 0u64;
        for _ in 0..200 {
            seen |= 1 << stream.pick(0b1010_0100).expect("not empty");
        }
        assert_eq!(seen, 0b1010_0100);
        assert_eq!(stream.pick(0), None);
    }
}
