//! Many episodes at once, for training and tournaments.

use super::{Action, Adversary, Episode, Hidden, Observation, Setup, Task};
use crate::rng::Streams;

/// Episodes seeded ahead in one go, so that their seeding chains run side by side.
const AHEAD: usize = 8;

/// What a batch step writes for each episode.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct BatchStep {
    /// Reward of the step itself.
    pub reward: f64,
    /// Terminal reward when the episode ended, else 0.
    pub terminal: f64,
    /// Score of the episode that ended, else 0.
    pub score: f64,
    /// Whether the episode ended; a new one stands in its place then.
    pub done: bool,
}

/// A fixed number of episodes of one task that reset themselves. Seeds are handed out in order
/// from a range and start over at its end.
#[derive(Clone, Debug)]
pub struct Batch {
    episodes: Vec<Episode>,
    task: Task,
    streams: Streams,
    seeds: std::ops::Range<u64>,
    next_seed: u64,
    ahead: [Episode; AHEAD],
    used: usize,
}

impl Batch {
    /// `size` episodes of `task` with seeds from `seeds` on; an empty range counts as its start.
    #[must_use]
    pub fn new(task: Task, streams: Streams, seeds: std::ops::Range<u64>, size: usize) -> Self {
        let first = Episode::reset(&Setup::new(task, seeds.start, streams));
        let next_seed = seeds.start;
        let ahead = [first; AHEAD];
        let mut batch = Self {
            episodes: Vec::new(),
            task,
            streams,
            seeds,
            next_seed,
            ahead,
            used: AHEAD,
        };
        for _ in 0..size {
            let episode = batch.fresh();
            batch.episodes.push(episode);
        }
        batch
    }

    /// How many episodes there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.episodes.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.episodes.is_empty()
    }

    /// What policies may see, one observation per episode.
    pub fn observations(&self) -> impl ExactSizeIterator<Item = &Observation> {
        self.episodes.iter().map(Episode::observation)
    }

    /// The episodes themselves.
    #[must_use]
    pub fn episodes(&self) -> &[Episode] {
        &self.episodes
    }

    /// Takes one action in each episode and writes the outcomes; ended episodes are replaced.
    ///
    /// `actions` and `out` should have one entry per episode; surplus entries are left alone.
    /// Does not allocate.
    pub fn step(&mut self, actions: &[Action], out: &mut [BatchStep]) {
        for (index, (action, out)) in actions.iter().zip(out).enumerate() {
            let Some(episode) = self.episodes.get_mut(index) else {
                return;
            };
            // Ended episodes are replaced at once, so a step is always possible.
            let Ok(step) = episode.step(*action) else {
                continue;
            };
            *out = BatchStep {
                reward: step.grades.reward,
                ..BatchStep::default()
            };
            if let Some(end) = step.terminal {
                out.terminal = end.reward;
                out.score = episode.tally().score();
                out.done = true;
                let fresh = self.fresh();
                self.episodes[index] = fresh;
            }
        }
    }

    fn fresh(&mut self) -> Episode {
        if self.used == AHEAD {
            self.prepare();
        }
        self.used += 1;
        self.ahead[self.used - 1]
    }

    fn prepare(&mut self) {
        let seeds: [u64; AHEAD] = std::array::from_fn(|_| self.take_seed());
        let hidden = Hidden::from_seeds(seeds, self.streams, Adversary::default());
        for ((slot, seed), (variant, hidden)) in self.ahead.iter_mut().zip(seeds).zip(hidden) {
            *slot = Episode::start(&Setup::new(self.task, seed, self.streams), variant, hidden);
        }
        self.used = 0;
    }

    fn take_seed(&mut self) -> u64 {
        let seed = self.next_seed;
        let next = seed.wrapping_add(1);
        self.next_seed = if self.seeds.contains(&next) {
            next
        } else {
            self.seeds.start
        };
        seed
    }
}
