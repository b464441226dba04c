//! The episodes of a batch, in one world.

use std::collections::TryReserveError;

use pyo3::exceptions::PyMemoryError;
use pyo3::prelude::*;
use sentinel_env::{Batch, EpisodeSpec, Seeded, Transition};
use sentinel_policy::nn::{Network, Observe};

use super::any_batch::{AnyBatch, BatchState, StepArrays};
use crate::space_encoding::{
    ObserverOf, PythonWorld, VALUES_MAX, check_values, decode, observation_size, write_mask,
};

/// The values of the actions of the latest steps, from which the current episodes can be played again.
#[derive(Clone)]
struct History {
    /// `[depth, episodes, factors]`; step `n` is in row `n % depth`.
    values: Vec<u16>,
    /// The number of values of a row.
    width: usize,
    /// One more than the largest number of actions of an episode.
    depth: usize,
    /// The number of steps of the batch.
    steps: usize,
    /// The step at which each episode that is shown took its first action.
    starts: Vec<usize>,
}

impl History {
    fn new(count: usize, factors: usize, depth: usize) -> Result<Self, TryReserveError> {
        let width = count.saturating_mul(factors);
        Ok(Self {
            values: filled(0, width.saturating_mul(depth))?,
            width,
            depth,
            steps: 0,
            starts: filled(0, count)?,
        })
    }

    /// The place of the values of a step.
    const fn row(&self, step: usize) -> std::ops::Range<usize> {
        let start = step % self.depth * self.width;
        start..start + self.width
    }

    /// Returns the values of the actions of the episode that is shown at `index`.
    ///
    /// # Errors
    /// Returns an error if there are more than the history holds.
    fn actions(&self, index: usize, factors: usize) -> Result<Vec<u16>, String> {
        let taken = self.steps - self.starts[index];
        if taken >= self.depth {
            return Err(format!("episode {index} has {taken} actions, too many"));
        }
        let steps = self.starts[index]..self.steps;
        let values = steps.flat_map(|step| {
            let row = &self.values[self.row(step)];
            &row[index * factors..(index + 1) * factors]
        });
        Ok(values.copied().collect())
    }

    /// Overwrites the actions of the episode at `index`, which end with the latest step.
    fn set_actions(&mut self, index: usize, factors: usize, values: &[u16]) {
        self.starts[index] = self.steps - values.len() / factors;
        for (step, values) in (self.starts[index]..).zip(values.chunks_exact(factors)) {
            let row = self.row(step);
            let row = &mut self.values[row];
            row[index * factors..(index + 1) * factors].copy_from_slice(values);
        }
    }
}

/// Returns a vector with `count` times the value.
fn filled<T: Clone>(value: T, count: usize) -> Result<Vec<T>, TryReserveError> {
    let mut vec = Vec::new();
    vec.try_reserve_exact(count)?;
    vec.resize(count, value);
    Ok(vec)
}

/// Episodes of one world with the memory of their features.
pub(super) struct BatchOf<W: PythonWorld> {
    batch: Batch<W>,
    net: W::Net,
    /// Empty if no features are computed.
    observers: Vec<ObserverOf<W>>,
    sizes: Vec<usize>,
    /// `true` if the first observation of an episode comes with the step after the end of the one
    /// before.
    next_step: bool,
    /// `true` for each episode that has ended and whose successor is not shown yet.
    pending: Vec<bool>,
    mask: Vec<bool>,
    size: usize,
    history: History,
}

impl<W: PythonWorld> BatchOf<W> {
    pub(super) fn new(
        spec: EpisodeSpec<W>,
        seeds: std::ops::Range<u64>,
        count: usize,
        next_step: bool,
        features: bool,
    ) -> Result<Self, NoMemory> {
        let sizes = W::reset(&spec.setup()).action_sizes();
        // Every action uses at least one step of the budget. The step being taken needs a row, too.
        let depth = W::max_steps(spec.task) as usize + 1;
        let size = observation_size::<W>();
        let mut each = 2 * size_of::<W>() + sizes.len() * depth * size_of::<u16>();
        if features {
            // The bounds of the space, and the observations of a step and of the one before.
            each += size_of::<ObserverOf<W>>() + 4 * size * size_of::<f32>();
        }
        let total = count.saturating_mul(each);
        let no_memory = |_| NoMemory {
            count,
            world: W::NAME,
            bytes: count as f64 * each as f64,
        };
        // The parts may fit one by one where the whole does not.
        let mut whole = Vec::<u8>::new();
        whole.try_reserve_exact(total).map_err(no_memory)?;
        drop(std::hint::black_box(whole));
        let net = W::Net::default();
        let new = || -> Result<Self, TryReserveError> {
            Ok(Self {
                batch: Batch::<W>::try_new(&spec.setup(), seeds, count)?,
                observers: filled(net.observer(), if features { count } else { 0 })?,
                pending: filled(false, count)?,
                history: History::new(count, sizes.len(), depth)?,
                net,
                sizes,
                next_step,
                mask: vec![false; <W::Net as Network>::LOGITS],
                size,
            })
        };
        let mut new = new().map_err(no_memory)?;
        (0..count).for_each(|index| new.observe_first(index));
        Ok(new)
    }

    /// Starts the memory of an episode over with its first observation.
    fn observe_first(&mut self, index: usize) {
        if let Some(observer) = self.observers.get_mut(index) {
            *observer = self.net.observer();
            observer.observe(self.batch.episodes()[index].observation());
        }
    }

    /// Returns the episode whose observation is shown.
    fn shown(&self, index: usize) -> &W {
        match self.batch.last_ended(index) {
            Some(ended) if self.pending[index] => ended,
            _ => &self.batch.episodes()[index],
        }
    }

    fn write_row(&self, index: usize, out: &mut [f32]) {
        let features = self.observers[index].features(self.shown(index).observation());
        W::write_features(&features, out);
    }

    /// Applies one action and updates the memory. Returns `true` if the episode ended.
    fn step_one(
        &mut self,
        index: usize,
        values: &[u16],
        arrays: &mut StepArrays<'_>,
    ) -> Result<bool, String> {
        let action = decode::<W>(values, self.batch.episodes()[index].observation());
        let observer = self.observers.get_mut(index);
        let size = self.size;
        let mut ended = false;
        let next_step = self.next_step;
        let visit = |episode: &W, transition: &Transition<W::Info>| {
            arrays.rewards[index] = transition.reward;
            arrays.terminated[index] = transition.terminated;
            arrays.truncated[index] = transition.truncated;
            ended = transition.is_last();
            if let Some(scores) = &mut arrays.scores
                && (ended || arrays.every_score)
            {
                scores[index] = episode.score();
            }
            let Some(observer) = observer else { return };
            observer.observe(episode.observation());
            if ended
                && !next_step
                && let Some(rows) = &mut arrays.final_observations
            {
                let row = &mut rows[index * size..(index + 1) * size];
                W::write_features(&observer.features(episode.observation()), row);
            }
        };
        (self.batch.step_at(index, action, visit))
            .map_err(|error| format!("episode {index}: {error}"))?;
        Ok(ended)
    }

    /// Converts the actions of all episodes into `out`.
    ///
    /// # Errors
    /// Returns the error text of the first action that does not exist.
    fn check(&self, actions: &[i64], out: &mut [u16]) -> Result<(), String> {
        let width = self.sizes.len();
        let mut is_wrong = false;
        // Without an exit in between, so that the loop is fast.
        for (values, out) in actions.chunks_exact(width).zip(out.chunks_exact_mut(width)) {
            for ((value, out), size) in values.iter().zip(out).zip(&self.sizes) {
                is_wrong |= *value as u64 >= (*size).min(VALUES_MAX) as u64;
                *out = *value as u16;
            }
        }
        if !is_wrong {
            return Ok(());
        }
        let mut pairs = actions
            .chunks_exact(width)
            .zip(out.chunks_exact_mut(width))
            .enumerate();
        pairs.try_for_each(|(index, (values, out))| {
            let checked = check_values::<W>(values, &self.sizes, out);
            checked.map_err(|reason| format!("episode {index}: {reason}"))
        })
    }

    /// Takes checked actions, one for each episode.
    fn take(&mut self, actions: &[u16], mut arrays: StepArrays<'_>) -> Result<usize, String> {
        let (width, size) = (self.sizes.len(), self.size);
        let next = self.history.steps + 1;
        let mut ends = 0;
        for (index, values) in actions.chunks_exact(width).enumerate() {
            if self.pending[index] {
                self.pending[index] = false;
                self.history.starts[index] = next;
                arrays.rewards[index] = 0.0;
                arrays.terminated[index] = false;
                arrays.truncated[index] = false;
                if let Some(scores) = &mut arrays.scores {
                    scores[index] = 0.0;
                }
                self.observe_first(index);
            } else if self.step_one(index, values, &mut arrays)? {
                ends += 1;
                if self.next_step {
                    self.pending[index] = true;
                } else {
                    self.history.starts[index] = next;
                    self.observe_first(index);
                }
            }
            if let Some(rows) = &mut arrays.observations {
                self.write_row(index, &mut rows[index * size..(index + 1) * size]);
            }
        }
        self.history.steps = next;
        Ok(ends)
    }
}

impl<W: PythonWorld> AnyBatch for BatchOf<W> {
    fn observation_size(&self) -> usize {
        self.size
    }

    fn action_sizes(&self) -> &[usize] {
        &self.sizes
    }

    fn step(&mut self, actions: &[i64], arrays: StepArrays<'_>) -> Result<usize, String> {
        let row = self.history.row(self.history.steps);
        let mut all = std::mem::take(&mut self.history.values);
        let checked = self.check(actions, &mut all[row.clone()]);
        let taken = checked.and_then(|()| self.take(&all[row], arrays));
        self.history.values = all;
        taken
    }

    fn seek(&mut self, seed: u64) {
        self.batch.seek(seed);
    }

    fn reset_at(&mut self, index: usize, seed: Option<u64>) {
        match seed {
            Some(seed) => self.batch.reset_at(index, seed),
            None => self.batch.reset_next(index),
        }
        self.pending[index] = false;
        self.history.starts[index] = self.history.steps;
        self.observe_first(index);
    }

    fn write_observations(&mut self, out: &mut [f32]) {
        for (index, row) in out.chunks_exact_mut(self.size).enumerate() {
            self.write_row(index, row);
        }
    }

    fn write_masks(&mut self, out: &mut [bool]) {
        let mut all = std::mem::take(&mut self.mask);
        let size: usize = self.sizes.iter().sum();
        for (index, row) in out.chunks_exact_mut(size).enumerate() {
            let observation = self.shown(index).observation();
            write_mask::<W>(observation, &self.sizes, &mut all, row);
        }
        self.mask = all;
    }

    fn write_seeds(&self, out: &mut [u64]) {
        for (index, seed) in out.iter_mut().enumerate() {
            *seed = self.shown(index).setup().seed();
        }
    }

    fn boxed_clone(&self) -> Box<dyn AnyBatch> {
        Box::new(Self {
            batch: self.batch.clone(),
            net: W::Net::default(),
            observers: self.observers.clone(),
            sizes: self.sizes.clone(),
            next_step: self.next_step,
            pending: self.pending.clone(),
            mask: self.mask.clone(),
            size: self.size,
            history: self.history.clone(),
        })
    }

    fn state(&self) -> Result<BatchState, String> {
        let episodes = (0..self.batch.len()).map(|index| {
            let seed = self.batch.episodes()[index].setup().seed();
            let ended = self.pending[index].then(|| self.shown(index).setup().seed());
            let actions = self.history.actions(index, self.sizes.len())?;
            Ok((seed, ended, actions))
        });
        Ok((
            self.batch.next_seed(),
            episodes.collect::<Result<_, String>>()?,
        ))
    }

    fn restore(&mut self, (next_seed, episodes): &BatchState) -> Result<(), String> {
        let (count, width) = (self.batch.len(), self.sizes.len());
        let other = |index: usize| format!("episode {index} of the state is of another batch");
        if episodes.len() != count {
            return Err(other(episodes.len()));
        }
        self.history.steps = self.history.depth;
        for (index, (seed, ended, actions)) in episodes.iter().enumerate() {
            if !actions.len().is_multiple_of(width) || actions.len() / width >= self.history.depth {
                return Err(other(index));
            }
            self.reset_at(index, Some(ended.unwrap_or(*seed)));
            let mut is_over = false;
            for values in actions.chunks_exact(width) {
                let mut pairs = values.iter().zip(&self.sizes);
                if is_over || pairs.any(|(value, size)| usize::from(*value) >= *size) {
                    return Err(other(index));
                }
                let action = decode::<W>(values, self.batch.episodes()[index].observation());
                let observer = self.observers.get_mut(index);
                let visit = |episode: &W, transition: &Transition<W::Info>| {
                    is_over = transition.is_last();
                    if let Some(observer) = observer {
                        observer.observe(episode.observation());
                    }
                };
                let stepped = self.batch.step_at(index, action, visit);
                stepped.map_err(|error| error.to_string())?;
            }
            if is_over != ended.is_some() || (is_over && !self.next_step) {
                return Err(other(index));
            }
            if is_over {
                self.batch.reset_at(index, *seed);
                self.pending[index] = true;
            }
            self.history.set_actions(index, width, actions);
        }
        self.batch.seek(*next_seed);
        Ok(())
    }
}

/// The reason why a batch cannot be made.
pub(super) struct NoMemory {
    count: usize,
    world: &'static str,
    bytes: f64,
}

impl From<NoMemory> for PyErr {
    fn from(found: NoMemory) -> Self {
        let (count, world) = (found.count, found.world);
        let size = found.bytes / f64::from(1 << 30);
        PyMemoryError::new_err(format!(
            "{count} environments of world {world} need about {size:.1} GiB, and there is no memory for them: \
             make fewer"
        ))
    }
}
