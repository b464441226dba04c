//! Many episodes at once, for training and tournaments.

use std::ops::Range;

use crate::rng::Streams;
use crate::rules::Rules;
use crate::world::{AHEAD, World};

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

/// A fixed number of episodes of one setup that reset themselves. Seeds are handed out in order
/// from a range and start over at its end.
#[derive(Clone, Debug)]
pub struct Batch<W: World> {
    episodes: Vec<W::Episode>,
    setup: W::Setup,
    seeds: Range<u64>,
    next_seed: u64,
    /// Episodes that were started in one go, so that their seeding chains run side by side.
    ahead: Vec<W::Episode>,
    used: usize,
}

impl<W: World> Batch<W> {
    /// `size` episodes of `task` under the reference's rules with seeds from `seeds` on; an empty
    /// range counts as its start.
    #[must_use]
    pub fn new(task: W::Task, streams: Streams, seeds: Range<u64>, size: usize) -> Self {
        let setup = W::setup(task, seeds.start, streams, Rules::REFERENCE);
        Self::of(&setup, seeds, size)
    }

    /// The same with the rules and the difficulty of a setup; its seed does not matter.
    #[must_use]
    pub fn of(setup: &W::Setup, seeds: Range<u64>, size: usize) -> Self {
        let setup = W::seeded(setup, seeds.start);
        let mut batch = Self {
            episodes: Vec::with_capacity(size),
            setup,
            next_seed: seeds.start,
            seeds,
            ahead: vec![W::reset(&setup); AHEAD],
            used: AHEAD,
        };
        for _ in 0..size {
            let episode = batch.fresh().clone();
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
    pub fn observations(&self) -> impl ExactSizeIterator<Item = &W::Observation> {
        self.episodes.iter().map(W::observation)
    }

    /// The episodes themselves.
    #[must_use]
    pub fn episodes(&self) -> &[W::Episode] {
        &self.episodes
    }

    /// Takes one action in each episode and writes the outcomes; ended episodes are replaced.
    ///
    /// `actions` and `out` should have one entry per episode; surplus entries are left alone.
    /// Does not allocate.
    ///
    /// # Errors
    /// The first action that names what the task lacks, with its position; a world whose actions
    /// name nothing has none. The episodes before it have stepped, the others have not.
    pub fn step(
        &mut self,
        actions: &[W::Action],
        out: &mut [BatchStep],
    ) -> Result<(), (usize, W::StepError)> {
        let count = self.episodes.len();
        for (index, (action, out)) in actions.iter().zip(out).take(count).enumerate() {
            let episode = &mut self.episodes[index];
            // Ended episodes are replaced at once, so none has ended.
            let step = W::step(episode, *action).map_err(|error| (index, error))?;
            *out = BatchStep {
                reward: W::reward(&step),
                ..BatchStep::default()
            };
            if let Some(reward) = W::terminal(&step) {
                out.terminal = reward;
                out.score = W::score(episode);
                out.done = true;
                let fresh = self.fresh().clone();
                self.episodes[index] = fresh;
            }
        }
        Ok(())
    }

    fn fresh(&mut self) -> &W::Episode {
        if self.used == AHEAD {
            let seeds: [u64; AHEAD] = std::array::from_fn(|_| self.take_seed());
            W::reset_all(&self.setup, &seeds, &mut self.ahead);
            self.used = 0;
        }
        self.used += 1;
        &self.ahead[self.used - 1]
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
