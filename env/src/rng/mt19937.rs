//! MT19937 with `init_by_array` seeding (Matsumoto & Nishimura 1998; spec trust §1.1).
//!
//! Words are twisted one at a time, in place. The output equals that of block generation, but a
//! short stream computes only the words that it draws.

const N: usize = 624;
const M: usize = 397;

/// The state after `init_genrand(19650218)`, from which every array seeding starts.
const BASE: [u32; N] = {
    let mut state = [0u32; N];
    state[0] = 19_650_218;
    let mut i = 1;
    while i < N {
        let previous = state[i - 1];
        state[i] = 1_812_433_253u32
            .wrapping_mul(previous ^ (previous >> 30))
            .wrapping_add(i as u32);
        i += 1;
    }
    state
};

/// The MT19937 generator with its complete state of 624 words.
#[derive(Clone, PartialEq)]
pub struct Mt19937 {
    state: [u32; N],
    next: u16,
}

/// Shows the next position and one word only, because 624 words would hide everything else.
impl std::fmt::Debug for Mt19937 {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Mt19937")
            .field("next", &self.next)
            .field("word", &self.state[1])
            .finish_non_exhaustive()
    }
}

impl Mt19937 {
    /// Creates a generator seeded with 32-bit words, least significant first, as in CPython. An
    /// empty key is treated as `[0]`.
    #[must_use]
    pub fn from_key(key: &[u32]) -> Self {
        let key = if key.is_empty() { &[0][..] } else { key };
        let mut state = BASE;
        let (mut i, mut j) = (1, 0);
        for _ in 0..N.max(key.len()) {
            state[i] = mix(state[i], state[i - 1], 1_664_525)
                .wrapping_add(key[j])
                .wrapping_add(j as u32);
            (i, j) = (i + 1, if j + 1 == key.len() { 0 } else { j + 1 });
            if i == N {
                state[0] = state[N - 1];
                i = 1;
            }
        }
        for _ in 1..N {
            state[i] = mix(state[i], state[i - 1], 1_566_083_941).wrapping_sub(i as u32);
            i += 1;
            if i == N {
                state[0] = state[N - 1];
                i = 1;
            }
        }
        state[0] = 0x8000_0000;
        Self { state, next: 0 }
    }

    /// Creates a generator seeded with an integer of up to 64 bits.
    #[must_use]
    pub fn from_u64(seed: u64) -> Self {
        let state = seeded_states([seed]).map(|[word]| word);
        Self { state, next: 0 }
    }

    /// Creates several generators whose seedings run in parallel lanes, which takes little longer
    /// than a single one.
    #[must_use]
    pub fn from_seeds<const K: usize>(seeds: [u64; K]) -> [Self; K] {
        let states = seeded_states(seeds);
        std::array::from_fn(|k| Self {
            state: std::array::from_fn(|i| states[i][k]),
            next: 0,
        })
    }

    /// Returns the next tempered word.
    pub fn next_u32(&mut self) -> u32 {
        let i = usize::from(self.next);
        let after = if i + 1 == N { 0 } else { i + 1 };
        let far = if i + M < N { i + M } else { i + M - N };
        self.state[i] = twist(self.state[i], self.state[after], self.state[far]);
        self.next = after as u16;
        temper(self.state[i])
    }
}

fn mix(current: u32, previous: u32, multiplier: u32) -> u32 {
    current ^ (previous ^ (previous >> 30)).wrapping_mul(multiplier)
}

/// Returns the first `W` words (at most 227) of the generators with these seeds.
///
/// Each seeding is one long chain of dependent multiplications; `K` interleaved chains take little
/// longer than one. Words this early need only the seeded state, so nothing is twisted in place.
#[must_use]
pub fn first_words<const K: usize, const W: usize>(seeds: [u64; K]) -> [[u32; W]; K] {
    const { assert!(W <= N - M, "later words depend on twisted ones") };
    let state = seeded_states(seeds);
    let mut words = [[0; W]; K];
    for i in 0..W {
        for k in 0..K {
            words[k][i] = temper(twist(state[i][k], state[i + 1][k], state[i + M][k]));
        }
    }
    words
}

/// Returns the states after `init_by_array`, before the first twist, indexed as
/// `[word][generator]`.
fn seeded_states<const K: usize>(seeds: [u64; K]) -> [[u32; K]; N] {
    // A seed below 2^32 is a key of one word, otherwise of two; the word's position is added too.
    let odd_round = seeds.map(|seed| {
        if seed >> 32 == 0 {
            seed as u32
        } else {
            ((seed >> 32) as u32).wrapping_add(1)
        }
    });
    let even_round = seeds.map(|seed| seed as u32);
    // Plain loops over all lanes for one word after another, which the compiler vectorizes.
    let mut state = [[0; K]; N];
    let mut lanes = [BASE[0]; K];
    let mut i = 1;
    while i + 1 < N {
        for k in 0..K {
            lanes[k] = mix(BASE[i], lanes[k], 1_664_525).wrapping_add(even_round[k]);
        }
        state[i] = lanes;
        for k in 0..K {
            lanes[k] = mix(BASE[i + 1], lanes[k], 1_664_525).wrapping_add(odd_round[k]);
        }
        state[i + 1] = lanes;
        i += 2;
    }
    for k in 0..K {
        lanes[k] = mix(BASE[N - 1], lanes[k], 1_664_525).wrapping_add(even_round[k]);
    }
    state[N - 1] = lanes;
    // The last round wraps around to word 1, after the last word was copied to the front.
    for k in 0..K {
        lanes[k] = mix(state[1][k], lanes[k], 1_664_525).wrapping_add(odd_round[k]);
    }
    state[1] = lanes;
    for (i, words) in state.iter_mut().enumerate().skip(2) {
        let current = *words;
        for k in 0..K {
            lanes[k] = mix(current[k], lanes[k], 1_566_083_941).wrapping_sub(i as u32);
        }
        *words = lanes;
    }
    for k in 0..K {
        lanes[k] = mix(state[1][k], lanes[k], 1_566_083_941).wrapping_sub(1);
    }
    state[1] = lanes;
    state[0] = [0x8000_0000; K];
    state
}

const fn twist(current: u32, next: u32, far: u32) -> u32 {
    let y = (current & 0x8000_0000) | (next & 0x7fff_ffff);
    far ^ (y >> 1) ^ ((y & 1) * 0x9908_B0DF)
}

const fn temper(mut y: u32) -> u32 {
    y ^= y >> 11;
    y ^= (y << 7) & 0x9D2C_5680;
    y ^= (y << 15) & 0xEFC6_0000;
    y ^ (y >> 18)
}

/// A source of random 32-bit words.
pub trait Words {
    /// Returns the next word of the stream.
    fn next_u32(&mut self) -> u32;
}

impl Words for Mt19937 {
    fn next_u32(&mut self) -> u32 {
        Self::next_u32(self)
    }
}

/// A stream that reads precomputed words first; once they are used up, it seeds the generator
/// itself.
#[derive(Clone, Debug)]
pub struct Prefetched<'a> {
    words: &'a [u32],
    seed: u64,
    next: usize,
    beyond: Option<Box<Mt19937>>,
}

impl<'a> Prefetched<'a> {
    /// Creates the stream of `seed`, whose first words are `words`.
    #[must_use]
    pub const fn new(seed: u64, words: &'a [u32]) -> Self {
        Self {
            words,
            seed,
            next: 0,
            beyond: None,
        }
    }

    #[cold]
    fn beyond(&mut self) -> u32 {
        let (seed, skipped) = (self.seed, self.words.len());
        let generator = self.beyond.get_or_insert_with(|| {
            let mut generator = Box::new(Mt19937::from_u64(seed));
            for _ in 0..skipped {
                generator.next_u32();
            }
            generator
        });
        generator.next_u32()
    }
}

impl Words for Prefetched<'_> {
    #[inline]
    fn next_u32(&mut self) -> u32 {
        let Some(word) = self.words.get(self.next) else {
            return self.beyond();
        };
        self.next += 1;
        *word
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parallel_seeding_matches_array_seeding() {
        let seeds = [
            0,
            1,
            42,
            u64::from(u32::MAX),
            1 << 32,
            (1 << 40) + 7,
            u64::MAX,
            7,
        ];
        let ahead: [[u32; 100]; 8] = first_words(seeds);
        let many = Mt19937::from_seeds(seeds).map(|mut generator| generator.next_u32());
        assert_eq!(many, ahead.map(|words| words[0]));
        for (seed, words) in seeds.into_iter().zip(&ahead) {
            let high = (seed >> 32) as u32;
            let key = if high == 0 {
                vec![seed as u32]
            } else {
                vec![seed as u32, high]
            };
            let (mut plain, mut fast) = (Mt19937::from_key(&key), Mt19937::from_u64(seed));
            let mut prefetched = Prefetched::new(seed, words);
            for _ in 0..2000 {
                let word = plain.next_u32();
                assert_eq!(fast.next_u32(), word, "seed {seed}");
                assert_eq!(prefetched.next_u32(), word, "seed {seed}");
            }
        }
    }
}
