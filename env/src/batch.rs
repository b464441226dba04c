//! Batches of episodes for callers that step many of them in lockstep.

use std::collections::TryReserveError;
use std::ops::Range;

use crate::environment::{Environment, RESET_LANES, Seeded, Transition};

/// A fixed number of episodes of one setup that restart automatically when they end. Seeds are
/// taken in order from a range, which starts over at its end.
///
/// ```
/// use sentinel_env::rng::Streams;
/// use sentinel_env::trust::{Action, Setup, Task, TrustEnv};
/// use sentinel_env::{Batch, Environment};
///
/// let setup = Setup::new(Task::Task1, 0, Streams::Independent);
/// let mut batch = Batch::<TrustEnv>::new(&setup, 0..100, 8);
/// let mut out = Vec::new();
/// for _ in 0..30 {
///     let careful = |stakes| if stakes > 0.3 { Action::SolveIndependently } else { Action::Skip };
///     let actions: Vec<Action> = batch.observations().map(|o| careful(o.stakes)).collect();
///     batch.step(&actions, &mut out).map_err(|(_, error)| error)?;
/// }
/// assert!(batch.last_ended(0).is_some_and(|episode| episode.score() > 0.0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Batch<E: Environment> {
    episodes: Vec<E>,
    /// The most recently ended episode at each index; `None` before the first one ends.
    ended: Vec<Option<E>>,
    setup: E::Setup,
    seeds: Range<u64>,
    next_seed: u64,
    /// Prefetched episodes, reset together so that their random generators are seeded in parallel
    /// lanes.
    fresh: Vec<E>,
    used: usize,
}

impl<E: Environment> Batch<E> {
    /// Starts `size` episodes of `setup`, replacing its seed with consecutive seeds from `seeds`.
    /// An empty range is treated as the single seed `seeds.start`.
    #[must_use]
    pub fn new(setup: &E::Setup, seeds: Range<u64>, size: usize) -> Self {
        let (episodes, ended) = (Vec::with_capacity(size), Vec::with_capacity(size));
        Self::fill(setup, seeds, size, episodes, ended)
    }

    /// Starts episodes like [`Batch::new`], for a size that a user states.
    ///
    /// # Errors
    /// Returns an error if there is no memory for so many episodes.
    pub fn try_new(
        setup: &E::Setup,
        seeds: Range<u64>,
        size: usize,
    ) -> Result<Self, TryReserveError> {
        let (mut episodes, mut ended) = (Vec::new(), Vec::new());
        episodes.try_reserve_exact(size)?;
        ended.try_reserve_exact(size)?;
        Ok(Self::fill(setup, seeds, size, episodes, ended))
    }

    /// Starts `size` episodes in two empty vectors.
    fn fill(
        setup: &E::Setup,
        seeds: Range<u64>,
        size: usize,
        episodes: Vec<E>,
        mut ended: Vec<Option<E>>,
    ) -> Self {
        let setup = setup.with_seed(seeds.start);
        ended.resize_with(size, || None);
        let mut batch = Self {
            episodes,
            ended,
            setup,
            next_seed: seeds.start,
            seeds,
            fresh: vec![E::reset(&setup); RESET_LANES],
            used: RESET_LANES,
        };
        for _ in 0..size {
            let episode = batch.next_fresh().clone();
            batch.episodes.push(episode);
        }
        batch
    }

    /// Returns the number of episodes in the batch.
    #[must_use]
    pub fn len(&self) -> usize {
        self.episodes.len()
    }

    /// Returns `true` if the batch contains no episodes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.episodes.is_empty()
    }

    /// Returns the current observations, one per episode, in batch order.
    pub fn observations(&self) -> impl ExactSizeIterator<Item = &E::Observation> {
        self.episodes.iter().map(E::observation)
    }

    /// Returns the running episodes in batch order.
    #[must_use]
    pub fn episodes(&self) -> &[E] {
        &self.episodes
    }

    /// Returns the most recently ended episode at `index`, with its final observation and score, or
    /// `None` if none has ended there yet.
    #[must_use]
    pub fn last_ended(&self, index: usize) -> Option<&E> {
        self.ended.get(index)?.as_ref()
    }

    /// Applies one action per episode and writes the rewards and flags to `out`. An episode that
    /// ends is replaced by a new one immediately; the ended one is available from
    /// [`Batch::last_ended`].
    ///
    /// `actions` should have one entry per episode; surplus entries are ignored, and episodes
    /// without an entry are not stepped. `out` is cleared first and is not reallocated once it has
    /// capacity for all episodes.
    ///
    /// # Errors
    /// Returns the index and error of the first refused action. The episodes before that index have
    /// been stepped, and `out` holds their transitions; the remaining episodes have not been
    /// stepped.
    pub fn step(
        &mut self,
        actions: &[E::Action],
        out: &mut Vec<Transition<()>>,
    ) -> Result<(), (usize, E::StepError)> {
        out.clear();
        self.step_with(actions, |_, _, transition| {
            out.push(Transition {
                reward: transition.reward,
                terminated: transition.terminated,
                truncated: transition.truncated,
                info: (),
            });
        })
    }

    /// Applies one action per episode like [`Batch::step`], but calls `visit` with each index, the
    /// episode just after its step, and the complete transition.
    ///
    /// # Errors
    /// As [`Batch::step`].
    pub fn step_with(
        &mut self,
        actions: &[E::Action],
        mut visit: impl FnMut(usize, &E, &Transition<E::Info>),
    ) -> Result<(), (usize, E::StepError)> {
        for (index, action) in actions.iter().take(self.episodes.len()).enumerate() {
            let visit = |episode: &E, transition: &_| visit(index, episode, transition);
            (self.step_at(index, *action, visit)).map_err(|error| (index, error))?;
        }
        Ok(())
    }

    /// Applies an action to the episode at `index` alone, like [`Batch::step_with`].
    ///
    /// # Errors
    /// Returns the error of a refused action; the episode is then unchanged.
    ///
    /// # Panics
    /// If the batch has no such index.
    #[inline]
    pub fn step_at(
        &mut self,
        index: usize,
        action: E::Action,
        visit: impl FnOnce(&E, &Transition<E::Info>),
    ) -> Result<(), E::StepError> {
        let episode = &mut self.episodes[index];
        let transition = episode.step(action)?;
        visit(episode, &transition);
        if transition.is_last() {
            self.restart(index);
        }
        Ok(())
    }

    /// Replaces the episode at `index` by the episode `seed`, which need not belong to the range of
    /// the batch. The episodes that follow it come from the range again. Does nothing if the batch
    /// has no such index.
    pub fn reset_at(&mut self, index: usize, seed: u64) {
        if let Some(episode) = self.episodes.get_mut(index) {
            *episode = E::reset(&self.setup.with_seed(seed));
        }
    }

    /// Replaces the episode at `index` by the next one of the range. Does nothing if the batch has no
    /// such index.
    pub fn reset_next(&mut self, index: usize) {
        if index < self.episodes.len() {
            self.episodes[index] = self.next_fresh().clone();
        }
    }

    /// Returns the seed of the next episode that is taken from the range. [`Batch::seek`] to it lets
    /// another batch of the same range go on as this one does.
    #[must_use]
    pub fn next_seed(&self) -> u64 {
        let fresh = self.fresh.get(self.used);
        fresh.map_or(self.next_seed, |episode| episode.setup().seed())
    }

    /// Takes the seeds of further episodes in order from `seed` on, which is clamped to the range.
    pub fn seek(&mut self, seed: u64) {
        let last = self.seeds.end.max(self.seeds.start + 1) - 1;
        self.next_seed = seed.clamp(self.seeds.start, last);
        self.used = RESET_LANES;
    }

    fn restart(&mut self, index: usize) {
        let fresh = self.next_fresh().clone();
        let ended = std::mem::replace(&mut self.episodes[index], fresh);
        self.ended[index] = Some(ended);
    }

    fn next_fresh(&mut self) -> &E {
        if self.used == RESET_LANES {
            let seeds: [u64; RESET_LANES] = std::array::from_fn(|_| self.take_seed());
            E::reset_many(&self.setup, &seeds, &mut self.fresh);
            self.used = 0;
        }
        self.used += 1;
        &self.fresh[self.used - 1]
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
