//! Many episodes at once, for training and tournaments.

use super::{Action, Episode, Observation, Setup, StepError, Task};
use crate::rng::Streams;
use crate::trust::BatchStep;

/// A fixed number of episodes of one task that reset themselves. Seeds are handed out in order
/// from a range and start over at its end.
#[derive(Clone, Debug)]
pub struct Batch {
    episodes: Vec<Episode>,
    task: Task,
    streams: Streams,
    seeds: std::ops::Range<u64>,
    next_seed: u64,
}

impl Batch {
    /// `size` episodes of `task` with seeds from `seeds` on; an empty range counts as its start.
    #[must_use]
    pub fn new(task: Task, streams: Streams, seeds: std::ops::Range<u64>, size: usize) -> Self {
        let next_seed = seeds.start;
        let mut batch = Self {
            episodes: Vec::with_capacity(size),
            task,
            streams,
            seeds,
            next_seed,
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
    ///
    /// # Errors
    /// The first action that names a job or GPU which the task lacks, with its position. The
    /// episodes before it have stepped, the others have not.
    pub fn step(
        &mut self,
        actions: &[Action],
        out: &mut [BatchStep],
    ) -> Result<(), (usize, StepError)> {
        let count = self.episodes.len();
        for (index, (action, out)) in actions.iter().zip(out).take(count).enumerate() {
            let episode = &mut self.episodes[index];
            let step = episode.step(*action).map_err(|error| (index, error))?;
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
        Ok(())
    }

    fn fresh(&mut self) -> Episode {
        let seed = self.next_seed;
        let next = seed.wrapping_add(1);
        self.next_seed = if self.seeds.contains(&next) {
            next
        } else {
            self.seeds.start
        };
        Episode::reset(&Setup::new(self.task, seed, self.streams))
    }
}
