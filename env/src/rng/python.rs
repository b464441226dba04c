//! CPython's `random.Random` on top of MT19937 (spec trust §1.1).

use super::{Mt19937, Words};

/// A stream that draws exactly the same numbers as `random.Random(seed)`.
#[derive(Clone, Debug, PartialEq)]
pub struct PyRandom<W = Mt19937>(W);

impl PyRandom {
    /// Creates the stream of `random.Random(seed)` for `0 <= seed < 2^64`. CPython seeds a negative
    /// number by its absolute value; pass that.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(Mt19937::from_u64(seed))
    }

    /// Creates the stream of `random.Random(seed)` for an integer of any size, given as 32-bit
    /// words of its absolute value, least significant first.
    #[must_use]
    pub fn from_words(words: &[u32]) -> Self {
        Self(Mt19937::from_key(words))
    }
}

impl<W: Words> PyRandom<W> {
    /// Creates a stream over words from any source.
    #[must_use]
    pub const fn over(words: W) -> Self {
        Self(words)
    }

    /// Returns the next 32-bit word, like `getrandbits(32)`.
    pub fn next_u32(&mut self) -> u32 {
        self.0.next_u32()
    }

    /// Draws a uniform number in `[0, 1)` with 53 bits, like `random()`. Consumes two words.
    pub fn random(&mut self) -> f64 {
        let high = self.next_u32() >> 5;
        let low = self.next_u32() >> 6;
        (f64::from(high) * 67_108_864.0 + f64::from(low)) / 9_007_199_254_740_992.0
    }

    /// Draws a uniform integer in `0..n` by rejection. Consumes at least one word, even for `n =
    /// 1`.
    ///
    /// # Panics
    /// Panics if `n` is 0, which no caller in this crate passes.
    pub fn below(&mut self, n: u32) -> u32 {
        assert!(n > 0, "below(0): the range is empty");
        let shift = n.leading_zeros();
        loop {
            let r = self.next_u32() >> shift;
            if r < n {
                return r;
            }
        }
    }

    /// Shuffles a list in place, like `shuffle(list)`.
    pub fn shuffle<T>(&mut self, list: &mut [T]) {
        for i in (1..list.len()).rev() {
            let j = self.below(i as u32 + 1) as usize;
            list.swap(i, j);
        }
    }

    /// Draws a uniform integer in `low..=high`, like `randint(low, high)`.
    pub fn randint(&mut self, low: u32, high: u32) -> u32 {
        low + self.below(high - low + 1)
    }

    /// Draws a uniform number from `low` to `high`, like `uniform(low, high)`. Consumes two words.
    pub fn uniform(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.random()
    }
}
