//! Many episodes that are stepped together and write into NumPy arrays.

use std::collections::TryReserveError;
use std::sync::Mutex;

use numpy::PyReadonlyArrayDyn;
use pyo3::exceptions::PyMemoryError;
use pyo3::prelude::*;
use sentinel_env::{Batch, EpisodeNames, EpisodeSpec, Seeded, Transition, WorldName, in_world};
use sentinel_policy::SEED_MAX;
use sentinel_policy::nn::{Network, Observe};

use crate::arrays::{OutArray, copy_actions, optional_slice, out_slice};
use crate::space_encoding::{
    ObserverOf, PythonWorld, VALUES_MAX, check_values, decode, observation_size, write_mask,
};
use crate::spec::{
    NamesState, OwnedNames, lock, native_function, not_a_seed, parse_seed, parse_world, value_error,
};

/// The arrays that a step writes, one entry or row per episode.
struct StepArrays<'a> {
    rewards: &'a mut [f64],
    terminated: &'a mut [bool],
    truncated: &'a mut [bool],
    observations: Option<&'a mut [f32]>,
    final_observations: Option<&'a mut [f32]>,
    /// The score after the step, also of an episode that ended.
    scores: Option<&'a mut [f64]>,
    /// `true` to write the scores of running episodes too.
    every_score: bool,
}

/// What an episode of a batch needs to be played again: its seed; the seed of the ended episode that
/// is still shown, if there is one; and the values of the actions of the episode that is shown.
type EpisodeState = (u64, Option<u64>, Vec<u16>);

/// The seed of the next episode of the range, and the state of every episode.
type BatchState = (u64, Vec<EpisodeState>);

/// A batch of any world.
trait AnyBatch: Send + Sync {
    fn observation_size(&self) -> usize;
    fn action_sizes(&self) -> &[usize];
    /// Checks the actions and takes them; returns the number of episodes that ended. Wrong actions
    /// change nothing.
    fn step(&mut self, actions: &[i64], arrays: StepArrays<'_>) -> Result<usize, String>;
    fn seek(&mut self, seed: u64);
    fn reset_at(&mut self, index: usize, seed: Option<u64>);
    fn write_observations(&mut self, out: &mut [f32]);
    fn write_masks(&mut self, out: &mut [bool]);
    fn write_seeds(&self, out: &mut [u64]);
    fn boxed_clone(&self) -> Box<dyn AnyBatch>;
    fn state(&self) -> Result<BatchState, String>;
    /// Plays the episodes of a state in a new batch.
    fn restore(&mut self, state: &BatchState) -> Result<(), String>;
}

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
struct BatchOf<W: PythonWorld> {
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
    fn new(
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
struct NoMemory {
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

/// The arguments from which a batch was made.
#[derive(Clone)]
struct BatchConfig {
    world: WorldName,
    seeds: std::ops::Range<u64>,
    names: OwnedNames,
    next_step: bool,
    features: bool,
}

impl BatchConfig {
    /// Starts the first episodes.
    fn start(self, py: Python<'_>, count: usize) -> PyResult<PyBatch> {
        let (next_step, features) = (self.next_step, self.features);
        let (seeds, names) = (self.seeds.clone(), self.names.as_names());
        let inner: Box<dyn AnyBatch> = in_world!(self.world, W => {
            let spec = EpisodeSpec::<W>::from_names(names, seeds.start).map_err(value_error)?;
            Box::new(py.detach(|| BatchOf::<W>::new(spec, seeds, count, next_step, features))?)
        });
        Ok(PyBatch {
            count,
            observation_size: inner.observation_size(),
            sizes: inner.action_sizes().to_vec(),
            inner: Mutex::new(inner),
            config: self,
        })
    }
}

/// A batch of episodes of one task that restart when they end.
#[pyclass(module = "sentinel_env._native", name = "Batch", frozen)]
pub(crate) struct PyBatch {
    inner: Mutex<Box<dyn AnyBatch>>,
    count: usize,
    observation_size: usize,
    sizes: Vec<usize>,
    config: BatchConfig,
}

impl PyBatch {
    /// Runs `work` on the batch without the interpreter's lock. Another thread that uses the same
    /// batch waits.
    fn detached<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut dyn AnyBatch) -> T + Send,
    ) -> T {
        let mut inner = lock(&self.inner, py);
        let inner = inner.as_mut();
        py.detach(|| work(inner))
    }

    /// The shape of arrays with one entry for each value of an action.
    fn mask_shape(&self) -> [usize; 2] {
        [self.count, self.sizes.iter().sum()]
    }

    fn need_features(&self) -> PyResult<()> {
        if self.config.features {
            return Ok(());
        }
        Err(value_error(
            "the batch computes no features: make it with features=True",
        ))
    }
}

#[pymethods]
impl PyBatch {
    #[new]
    #[pyo3(signature = (world, count, first_seed, end_seed, *, task=None, streams=None, rules=None, next_step=false, features=true))]
    #[allow(clippy::too_many_arguments, reason = "keyword arguments of Python")]
    fn new(
        py: Python<'_>,
        world: &str,
        count: usize,
        first_seed: u64,
        end_seed: u64,
        task: Option<&str>,
        streams: Option<&str>,
        rules: Option<&str>,
        next_step: bool,
        features: bool,
    ) -> PyResult<Self> {
        if count == 0 {
            return Err(value_error("a batch needs at least 1 episode"));
        }
        if first_seed >= end_seed {
            let reason = format!("the range of seeds {first_seed}..{end_seed} is empty");
            return Err(value_error(reason));
        }
        if end_seed > SEED_MAX + 1 {
            return Err(not_a_seed(&(end_seed - 1).to_string()));
        }
        let names = EpisodeNames {
            task,
            streams,
            rules,
        };
        let config = BatchConfig {
            world: parse_world(world)?,
            seeds: first_seed..end_seed,
            names: names.into(),
            next_step,
            features,
        };
        config.start(py, count)
    }

    fn __len__(&self) -> usize {
        self.count
    }

    /// The number of features of an observation.
    #[getter]
    fn observation_size(&self) -> usize {
        self.observation_size
    }

    /// The number of values of each factor of an action.
    #[getter]
    fn action_sizes(&self) -> Vec<usize> {
        self.sizes.clone()
    }

    /// Takes one action per episode and writes the results into the given arrays. Returns the number
    /// of episodes that ended. `scores` has the scores of these, and with `every_score` those of all.
    #[pyo3(signature = (actions, rewards, terminated, truncated, observations=None, masks=None, final_observations=None, scores=None, every_score=false))]
    #[allow(clippy::too_many_arguments, reason = "one array each")]
    fn step(
        &self,
        py: Python<'_>,
        actions: PyReadonlyArrayDyn<'_, i64>,
        mut rewards: OutArray<'_, f64>,
        mut terminated: OutArray<'_, bool>,
        mut truncated: OutArray<'_, bool>,
        mut observations: Option<OutArray<'_, f32>>,
        mut masks: Option<OutArray<'_, bool>>,
        mut final_observations: Option<OutArray<'_, f32>>,
        mut scores: Option<OutArray<'_, f64>>,
        every_score: bool,
    ) -> PyResult<usize> {
        let (count, factors) = (self.count, self.sizes.len());
        let rows = [count, self.observation_size];
        let actions = match factors {
            1 => copy_actions(&actions, &[count]),
            _ => copy_actions(&actions, &[count, factors]),
        }?;
        if observations.is_some() || final_observations.is_some() {
            self.need_features()?;
        }
        let masks = optional_slice(&mut masks, "masks", &self.mask_shape())?;
        let arrays = StepArrays {
            rewards: out_slice(&mut rewards, "rewards", &[count])?,
            terminated: out_slice(&mut terminated, "terminated", &[count])?,
            truncated: out_slice(&mut truncated, "truncated", &[count])?,
            observations: optional_slice(&mut observations, "observations", &rows)?,
            final_observations: optional_slice(
                &mut final_observations,
                "final_observations",
                &rows,
            )?,
            scores: optional_slice(&mut scores, "scores", &[count])?,
            every_score,
        };
        self.detached(py, |batch| {
            let ends = batch.step(&actions, arrays).map_err(value_error)?;
            if let Some(masks) = masks {
                batch.write_masks(masks);
            }
            Ok(ends)
        })
    }

    /// Takes the seeds of further episodes in order from `seed` on.
    fn seek(&self, py: Python<'_>, seed: &Bound<'_, PyAny>) -> PyResult<()> {
        let seed = parse_seed(seed)?;
        self.detached(py, |batch| batch.seek(seed));
        Ok(())
    }

    /// Replaces the episode at `index` by the episode `seed`; without a seed by the next one of the
    /// range.
    #[pyo3(signature = (index, seed=None))]
    fn reset_at(
        &self,
        py: Python<'_>,
        index: usize,
        seed: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        if index >= self.count {
            let count = self.count;
            return Err(value_error(format!(
                "no episode {index}: the batch has {count}"
            )));
        }
        let seed = seed.map(parse_seed).transpose()?;
        self.detached(py, |batch| batch.reset_at(index, seed));
        Ok(())
    }

    /// Writes the current observation of every episode, `[episodes, features]`.
    fn write_observations(&self, py: Python<'_>, mut out: OutArray<'_, f32>) -> PyResult<()> {
        self.need_features()?;
        let out = out_slice(&mut out, "out", &[self.count, self.observation_size])?;
        self.detached(py, |batch| batch.write_observations(out));
        Ok(())
    }

    /// Writes the mask of the values that can be chosen, `[episodes, values]`.
    fn write_masks(&self, py: Python<'_>, mut out: OutArray<'_, bool>) -> PyResult<()> {
        let out = out_slice(&mut out, "out", &self.mask_shape())?;
        self.detached(py, |batch| batch.write_masks(out));
        Ok(())
    }

    /// Writes the seed of every episode.
    fn write_seeds(&self, py: Python<'_>, mut out: OutArray<'_, u64>) -> PyResult<()> {
        let out = out_slice(&mut out, "out", &[self.count])?;
        self.detached(py, |batch| batch.write_seeds(out));
        Ok(())
    }

    fn __deepcopy__(&self, py: Python<'_>, _memo: &Bound<'_, PyAny>) -> Self {
        Self {
            inner: Mutex::new(self.detached(py, |batch| batch.boxed_clone())),
            count: self.count,
            observation_size: self.observation_size,
            sizes: self.sizes.clone(),
            config: self.config.clone(),
        }
    }

    /// Returns the function [`restore_batch`] and its arguments.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
        let state = self
            .detached(py, |batch| batch.state())
            .map_err(value_error)?;
        let (config, names) = (&self.config, &self.config.names);
        let (seeds, flags) = (&config.seeds, (config.next_step, config.features));
        let arguments = (
            (config.world.name(), self.count, seeds.start, seeds.end),
            (&names.task, &names.streams, &names.rules),
            flags,
            state,
        );
        let arguments = arguments.into_pyobject(py)?.into_any();
        Ok((native_function(py, "restore_batch")?, arguments))
    }
}

/// Makes the batch of a pickle: starts it and plays its episodes up to the moment of the pickle.
#[pyfunction]
pub(crate) fn restore_batch(
    py: Python<'_>,
    batch: (String, usize, u64, u64),
    names: NamesState,
    flags: (bool, bool),
    state: BatchState,
) -> PyResult<PyBatch> {
    let ((world, count, first_seed, end_seed), (next_step, features)) = (batch, flags);
    let (task, streams, rules) = (names.0.as_deref(), names.1.as_deref(), names.2.as_deref());
    let batch = PyBatch::new(
        py, &world, count, first_seed, end_seed, task, streams, rules, next_step, features,
    )?;
    (batch.detached(py, |batch| batch.restore(&state))).map_err(value_error)?;
    Ok(batch)
}
