//! MT19937 with `init_by_array` seeding (Matsumoto & Nishimura 1998; spec trust §1.1).
//!
//! Words are twisted one at a time in place, which equals block generation and costs a short
//! stream only the words that it draws.

const N: usize = 624;
const M: usize = 397;

/// State after `init_genrand(19650218)`, the fixed start of every array seeding.
const BASE: [u32; N] = {
    let mut state = [0u32; N];
    state[0] = 19_650_218;
    let mut i = 1;
    while i < N {
        let previous = state[i - 1];
        state[i] = 1_812_433_253u32.wrapping_mul(previous ^ (previous >> 30)).wrapping_add(i as u32);
        i += 1;
    }
    state
};

/// The generator's whole state.
#[derive(Clone, Debug)]
pub struct Mt19937 {
    state: [u32; N],
    next: u16,
}

impl Mt19937 {
    /// Seeds from 32-bit words, least significant first, as CPython does. An empty key counts as `[0]`.
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

    /// Seeds from an integer of up to 64 bits.
    #[must_use]
    pub fn from_u64(seed: u64) -> Self {
        let [generator] = seed_many([seed]);
        generator
    }

    /// The next tempered word.
    pub fn next_u32(&mut self) -> u32 {
        let i = usize::from(self.next);
        let after = if i + 1 == N { 0 } else { i + 1 };
        let far = if i + M < N { i + M } else { i + M - N };
        let y = (self.state[i] & 0x8000_0000) | (self.state[after] & 0x7fff_ffff);
        let odd = if y & 1 == 1 { 0x9908_B0DF } else { 0 };
        self.state[i] = self.state[far] ^ (y >> 1) ^ odd;
        self.next = after as u16;

        let mut y = self.state[i];
        y ^= y >> 11;
        y ^= (y << 7) & 0x9D2C_5680;
        y ^= (y << 15) & 0xEFC6_0000;
        y ^ (y >> 18)
    }
}

fn mix(current: u32, previous: u32, multiplier: u32) -> u32 {
    current ^ (previous ^ (previous >> 30)).wrapping_mul(multiplier)
}

/// Seeds several generators at once. Each seeding is one long chain of dependent multiplications;
/// running `K` chains side by side costs hardly more than running one.
#[must_use]
pub fn seed_many<const K: usize>(seeds: [u64; K]) -> [Mt19937; K] {
    // A seed below 2^32 is a key of one word, otherwise of two; one word twice is not the same
    // key, since the word's position is added too.
    let two_words = seeds.map(|seed| seed >> 32 != 0);
    let key = |k: usize, round: usize| -> u32 {
        if two_words[k] && round % 2 == 1 {
            ((seeds[k] >> 32) as u32).wrapping_add(1)
        } else {
            seeds[k] as u32
        }
    };
    let mut out = seeds.map(|_| Mt19937 { state: BASE, next: 0 });
    let mut previous = [BASE[0]; K];
    for (round, i) in (1..N).chain(1..2).enumerate() {
        if round == N - 1 {
            // Wrapping around copies the last word to the front.
            for (generator, last) in out.iter_mut().zip(previous) {
                generator.state[0] = last;
            }
        }
        for k in 0..K {
            let word = mix(out[k].state[i], previous[k], 1_664_525).wrapping_add(key(k, round));
            out[k].state[i] = word;
            previous[k] = word;
        }
    }
    for i in (2..N).chain(1..2) {
        for k in 0..K {
            let word = mix(out[k].state[i], previous[k], 1_566_083_941).wrapping_sub(i as u32);
            out[k].state[i] = word;
            previous[k] = word;
        }
    }
    for generator in &mut out {
        generator.state[0] = 0x8000_0000;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeding_side_by_side_equals_the_array_seeding() {
        let seeds = [0, 1, 42, u64::from(u32::MAX), 1 << 32, (1 << 40) + 7, u64::MAX, 7];
        for (seed, mut fast) in seeds.into_iter().zip(seed_many(seeds)) {
            let key = if seed >> 32 == 0 { vec![seed as u32] } else { vec![seed as u32, (seed >> 32) as u32] };
            let mut plain = Mt19937::from_key(&key);
            for _ in 0..2000 {
                assert_eq!(fast.next_u32(), plain.next_u32(), "seed {seed}");
            }
        }
    }
}
