//! Many episodes that are stepped together and write into NumPy arrays.

use numpy::{PyReadonlyArray1, PyReadwriteArray1, PyReadwriteArray2};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use sentinel_env::{Batch, EpisodeNames, EpisodeSpec, Seeded, in_world};
use sentinel_policy::nn::{Network, Observe};

use crate::space_encoding::{
    ObserverOf, PythonWorld, decode, observation_size, write_mask, wrong_value,
};
use crate::spec::{contiguous, parse_seed, parse_world, value_error};

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

/// A batch of any world.
trait AnyBatch: Send + Sync {
    fn len(&self) -> usize;
    fn observation_size(&self) -> usize;
    fn action_sizes(&self) -> &[usize];
    fn check_actions(&self, actions: &[i64]) -> PyResult<()>;
    /// Takes checked actions; returns the number of episodes that ended.
    fn step(&mut self, actions: &[i64], arrays: StepArrays<'_>) -> Result<usize, String>;
    fn seek(&mut self, seed: u64);
    fn reset_at(&mut self, index: usize, seed: Option<u64>);
    fn write_observations(&mut self, out: &mut [f32]);
    fn write_masks(&mut self, out: &mut [bool]);
    fn write_seeds(&self, out: &mut [u64]);
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
    scratch: Vec<f32>,
}

impl<W: PythonWorld> BatchOf<W> {
    fn new(
        spec: EpisodeSpec<W>,
        seeds: std::ops::Range<u64>,
        count: usize,
        next_step: bool,
        features: bool,
    ) -> Self {
        let batch = Batch::<W>::new(&spec.setup(), seeds, count);
        let sizes = W::reset(&spec.setup()).action_sizes();
        let net = W::Net::default();
        let mut new = Self {
            observers: vec![net.observer(); if features { count } else { 0 }],
            net,
            sizes,
            next_step,
            pending: vec![false; count],
            mask: vec![false; <W::Net as Network>::LOGITS],
            scratch: vec![0.0; observation_size::<W>()],
            batch,
        };
        (0..count).for_each(|index| new.observe_first(index));
        new
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
        values: &[i64],
        arrays: &mut StepArrays<'_>,
    ) -> Result<bool, String> {
        let action = decode::<W>(values, self.batch.episodes()[index].observation());
        let observer = self.observers.get_mut(index);
        let size = self.scratch.len();
        let mut ended = false;
        let next_step = self.next_step;
        let visit = |episode: &W, transition: &sentinel_env::Transition<W::Info>| {
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
}

impl<W: PythonWorld> AnyBatch for BatchOf<W> {
    fn len(&self) -> usize {
        self.batch.len()
    }

    fn observation_size(&self) -> usize {
        self.scratch.len()
    }

    fn action_sizes(&self) -> &[usize] {
        &self.sizes
    }

    fn check_actions(&self, actions: &[i64]) -> PyResult<()> {
        let width = self.sizes.len();
        for (index, values) in actions.chunks_exact(width).enumerate() {
            if let Some((factor, size)) = wrong_value(values, &self.sizes) {
                let (value, name) = (values[factor], W::action_names()[factor]);
                let last = size - 1;
                return Err(value_error(format!(
                    "episode {index}: {name} is {value}, and must be 0 to {last}"
                )));
            }
        }
        Ok(())
    }

    fn step(&mut self, actions: &[i64], mut arrays: StepArrays<'_>) -> Result<usize, String> {
        let (width, size) = (self.sizes.len(), self.scratch.len());
        let mut ends = 0;
        for (index, values) in actions.chunks_exact(width).enumerate() {
            if self.pending[index] {
                self.pending[index] = false;
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
                    self.observe_first(index);
                }
            }
            if let Some(rows) = &mut arrays.observations {
                self.write_row(index, &mut rows[index * size..(index + 1) * size]);
            }
        }
        Ok(ends)
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
        self.observe_first(index);
    }

    fn write_observations(&mut self, out: &mut [f32]) {
        let size = self.scratch.len();
        for (index, row) in out.chunks_exact_mut(size).enumerate() {
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
}

/// A batch of episodes of one task that restart when they end.
#[pyclass(module = "sentinel_env._native", name = "Batch", frozen)]
pub(crate) struct PyBatch {
    inner: std::sync::Mutex<Box<dyn AnyBatch>>,
    count: usize,
    observation_size: usize,
    sizes: Vec<usize>,
    features: bool,
}

impl PyBatch {
    /// Runs `work` on the batch without the interpreter's lock. Another thread that uses the same
    /// batch waits.
    fn detached<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut dyn AnyBatch) -> T + Send,
    ) -> T {
        py.detach(|| {
            let mut inner = match self.inner.lock() {
                Ok(inner) => inner,
                Err(poisoned) => poisoned.into_inner(),
            };
            work(inner.as_mut())
        })
    }

    fn need_features(&self) -> PyResult<()> {
        if self.features {
            return Ok(());
        }
        Err(value_error(
            "the batch computes no features: make it with features=True",
        ))
    }
}

/// Checks the length of an array that is written.
fn sized<'a, T>(slice: &'a mut [T], name: &str, length: usize) -> PyResult<&'a mut [T]> {
    if slice.len() == length {
        return Ok(slice);
    }
    let found = slice.len();
    Err(value_error(format!(
        "{name} has {found} entries, and must have {length}"
    )))
}

/// Returns the content of an array that is written.
macro_rules! slice_mut {
    ($array:expr, $name:literal, $length:expr) => {
        sized(
            $array
                .as_slice_mut()
                .map_err(|_| PyTypeError::new_err(concat!($name, " is not contiguous")))?,
            $name,
            $length,
        )?
    };
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
        let names = EpisodeNames {
            task,
            streams,
            rules,
        };
        let seeds = first_seed..end_seed;
        let inner: Box<dyn AnyBatch> = in_world!(parse_world(world)?, W => {
            let spec = EpisodeSpec::<W>::from_names(names, first_seed).map_err(value_error)?;
            py.detach(|| Box::new(BatchOf::<W>::new(spec, seeds, count, next_step, features)))
        });
        Ok(Self {
            count: inner.len(),
            observation_size: inner.observation_size(),
            sizes: inner.action_sizes().to_vec(),
            inner: std::sync::Mutex::new(inner),
            features,
        })
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
        actions: PyReadonlyArray1<'_, i64>,
        mut rewards: PyReadwriteArray1<'_, f64>,
        mut terminated: PyReadwriteArray1<'_, bool>,
        mut truncated: PyReadwriteArray1<'_, bool>,
        mut observations: Option<PyReadwriteArray2<'_, f32>>,
        mut masks: Option<PyReadwriteArray2<'_, bool>>,
        mut final_observations: Option<PyReadwriteArray2<'_, f32>>,
        mut scores: Option<PyReadwriteArray1<'_, f64>>,
        every_score: bool,
    ) -> PyResult<usize> {
        let (count, size) = (self.count, self.observation_size);
        let actions = contiguous(&actions)?;
        let needed = count * self.sizes.len();
        if actions.len() != needed {
            let found = actions.len();
            return Err(value_error(format!(
                "{found} numbers of actions, and {count} episodes need {needed}"
            )));
        }
        if observations.is_some() || final_observations.is_some() {
            self.need_features()?;
        }
        let observations = match &mut observations {
            None => None,
            Some(array) => Some(slice_mut!(array, "observations", count * size)),
        };
        let final_observations = match &mut final_observations {
            None => None,
            Some(array) => Some(slice_mut!(array, "final_observations", count * size)),
        };
        let scores = match &mut scores {
            None => None,
            Some(array) => Some(slice_mut!(array, "scores", count)),
        };
        let columns: usize = self.sizes.iter().sum();
        let masks = match &mut masks {
            None => None,
            Some(array) => Some(slice_mut!(array, "masks", count * columns)),
        };
        let arrays = StepArrays {
            rewards: slice_mut!(rewards, "rewards", count),
            terminated: slice_mut!(terminated, "terminated", count),
            truncated: slice_mut!(truncated, "truncated", count),
            observations,
            final_observations,
            scores,
            every_score,
        };
        self.detached(py, |batch| {
            batch.check_actions(actions)?;
            let ends = batch.step(actions, arrays).map_err(value_error)?;
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
    fn write_observations(
        &self,
        py: Python<'_>,
        mut out: PyReadwriteArray2<'_, f32>,
    ) -> PyResult<()> {
        self.need_features()?;
        let out = slice_mut!(out, "out", self.count * self.observation_size);
        self.detached(py, |batch| batch.write_observations(out));
        Ok(())
    }

    /// Writes the mask of the values that can be chosen, `[episodes, values]`.
    fn write_masks(&self, py: Python<'_>, mut out: PyReadwriteArray2<'_, bool>) -> PyResult<()> {
        let columns: usize = self.sizes.iter().sum();
        let out = slice_mut!(out, "out", self.count * columns);
        self.detached(py, |batch| batch.write_masks(out));
        Ok(())
    }

    /// Writes the seed of every episode.
    fn write_seeds(&self, py: Python<'_>, mut out: PyReadwriteArray1<'_, u64>) -> PyResult<()> {
        let out = slice_mut!(out, "out", self.count);
        self.detached(py, |batch| batch.write_seeds(out));
        Ok(())
    }
}
