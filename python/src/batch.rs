//! Many episodes that are stepped together and write into NumPy arrays.

mod any_batch;
mod episodes;

use std::sync::Mutex;

use numpy::PyReadonlyArrayDyn;
use pyo3::prelude::*;
use sentinel_env::{EpisodeNames, EpisodeSpec, WorldName, in_world};
use sentinel_policy::SEED_MAX;

use self::any_batch::{AnyBatch, BatchState, StepArrays};
use self::episodes::BatchOf;
use crate::arrays::{OutArray, copy_actions, optional_slice, out_slice};
use crate::spec::{
    NamesState, OwnedNames, lock, native_function, not_a_seed, parse_seed, parse_world, value_error,
};

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
