//! One episode, and players that act in it.

mod any_episode;

use std::sync::{Mutex, MutexGuard};

use numpy::PyReadonlyArrayDyn;
use pyo3::prelude::*;
use sentinel_env::{EpisodeNames, in_world};

use self::any_episode::{AnyEpisode, AnyPlayer, EpisodeOf, StepResult, StepState};
use crate::arrays::{OutArray, copy_actions, out_slice};
use crate::policy::PyPolicy;
use crate::spec::{
    NamesState, OwnedNames, lock, native_function, parse_seed, parse_setup, parse_world,
    value_error,
};

/// An episode of one world, task and seed. Threads that share it take turns.
#[pyclass(module = "sentinel_env._native", name = "Episode", frozen)]
pub(crate) struct PyEpisode {
    inner: Mutex<Box<dyn AnyEpisode>>,
    names: OwnedNames,
}

impl PyEpisode {
    fn lock(&self, py: Python<'_>) -> MutexGuard<'_, Box<dyn AnyEpisode>> {
        lock(&self.inner, py)
    }
}

#[pymethods]
impl PyEpisode {
    #[new]
    #[pyo3(signature = (world, seed, *, task=None, streams=None, rules=None))]
    fn new(
        world: &str,
        seed: &Bound<'_, PyAny>,
        task: Option<&str>,
        streams: Option<&str>,
        rules: Option<&str>,
    ) -> PyResult<Self> {
        let names = EpisodeNames {
            task,
            streams,
            rules,
        };
        let seed = parse_seed(seed)?;
        let inner: Box<dyn AnyEpisode> = in_world!(parse_world(world)?, W => {
            Box::new(EpisodeOf::<W>::new(&parse_setup::<W>(names, seed)?))
        });
        Ok(Self {
            inner: Mutex::new(inner),
            names: names.into(),
        })
    }

    /// Takes an action, one number for each factor. Returns the reward and two flags: terminated and
    /// truncated.
    fn step(&self, py: Python<'_>, action: PyReadonlyArrayDyn<'_, i64>) -> PyResult<StepResult> {
        let mut inner = self.lock(py);
        let inner = inner.as_mut();
        let values = copy_actions(&action, &[inner.action_sizes().len()])?;
        py.detach(|| inner.step(&values))
    }

    /// Takes the action of a JSON object.
    fn step_json(&self, py: Python<'_>, text: &str) -> PyResult<StepResult> {
        let mut inner = self.lock(py);
        let inner = inner.as_mut();
        py.detach(|| inner.step_json(text))
    }

    /// Takes the action that a player of this episode chooses.
    fn step_player(&self, py: Python<'_>, player: &PyPlayer) -> PyResult<StepResult> {
        let (mut inner, mut player) = (self.lock(py), player.lock(py));
        let (inner, player) = (inner.as_mut(), player.as_mut());
        py.detach(|| inner.step_player(player))
    }

    /// Starts a player of a policy, which will have seen every observation of this episode. `choices`
    /// are the numbers of actions after which it has chosen already.
    #[pyo3(signature = (policy, choices=Vec::new()))]
    fn player(&self, py: Python<'_>, policy: &PyPolicy, choices: Vec<usize>) -> PyResult<PyPlayer> {
        let mut inner = self.lock(py);
        let inner = inner.as_mut();
        let player = py.detach(|| inner.player(policy, &choices))?;
        Ok(PyPlayer {
            inner: Mutex::new(player),
        })
    }

    #[getter]
    fn world(&self, py: Python<'_>) -> &'static str {
        self.lock(py).world()
    }

    #[getter]
    fn task(&self, py: Python<'_>) -> &'static str {
        self.lock(py).task()
    }

    #[getter]
    fn seed(&self, py: Python<'_>) -> u64 {
        self.lock(py).seed()
    }

    #[getter]
    fn done(&self, py: Python<'_>) -> bool {
        self.lock(py).done()
    }

    #[getter]
    fn step_count(&self, py: Python<'_>) -> u32 {
        self.lock(py).step_count()
    }

    #[getter]
    fn max_steps(&self, py: Python<'_>) -> u32 {
        self.lock(py).max_steps()
    }

    #[getter]
    fn action_count(&self, py: Python<'_>) -> usize {
        self.lock(py).action_count()
    }

    #[getter]
    fn score(&self, py: Python<'_>) -> f64 {
        self.lock(py).score()
    }

    #[getter]
    fn digest(&self, py: Python<'_>) -> String {
        self.lock(py).digest()
    }

    #[getter]
    fn observation_size(&self, py: Python<'_>) -> usize {
        self.lock(py).observation_size()
    }

    #[getter]
    fn action_sizes(&self, py: Python<'_>) -> Vec<usize> {
        self.lock(py).action_sizes().to_vec()
    }

    /// Writes the features of the current observation into an array.
    fn write_observation(&self, py: Python<'_>, mut out: OutArray<'_, f32>) -> PyResult<()> {
        let inner = self.lock(py);
        let out = out_slice(&mut out, "out", &[inner.observation_size()])?;
        inner.write_observation(out);
        Ok(())
    }

    /// Writes the mask of the values that can be chosen into an array.
    fn write_mask(&self, py: Python<'_>, mut out: OutArray<'_, bool>) -> PyResult<()> {
        let inner = self.lock(py);
        let out = out_slice(&mut out, "out", &[inner.action_sizes().iter().sum()])?;
        inner.write_mask(out);
        Ok(())
    }

    /// Returns the reply of the world's protocol to the latest reset or step, as JSON.
    fn payload(&self, py: Python<'_>) -> PyResult<String> {
        self.lock(py).payload()
    }

    /// Returns the actions so far as the text of a replay file.
    fn replay(&self, py: Python<'_>, name: &str) -> PyResult<String> {
        self.lock(py).replay(name)
    }

    fn __deepcopy__(&self, py: Python<'_>, _memo: &Bound<'_, PyAny>) -> Self {
        Self {
            inner: Mutex::new(self.lock(py).boxed_clone()),
            names: self.names.clone(),
        }
    }

    /// Returns the function [`restore_episode`] and its arguments.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
        let inner = self.lock(py);
        let names = &self.names;
        let arguments = (
            inner.world(),
            inner.seed(),
            (&names.task, &names.streams, &names.rules),
            inner.state()?,
            inner.digest(),
        );
        let arguments = arguments.into_pyobject(py)?.into_any();
        Ok((native_function(py, "restore_episode")?, arguments))
    }
}

/// A policy that plays one episode and remembers its observations.
#[pyclass(module = "sentinel_env._native", name = "Player", frozen)]
pub(crate) struct PyPlayer {
    inner: Mutex<Box<dyn AnyPlayer>>,
}

impl PyPlayer {
    fn lock(&self, py: Python<'_>) -> MutexGuard<'_, Box<dyn AnyPlayer>> {
        lock(&self.inner, py)
    }
}

#[pymethods]
impl PyPlayer {
    /// Chooses an action for the current observation of the episode. Returns its numbers, `None` if
    /// it leaves out what numbers must name, and its text.
    fn act(&self, py: Python<'_>, episode: &PyEpisode) -> PyResult<(Option<Vec<i64>>, String)> {
        // The episode is always locked before its player, so that two threads cannot wait for each other.
        let (mut episode, mut player) = (episode.lock(py), self.lock(py));
        let (episode, player) = (episode.as_mut(), player.as_mut());
        py.detach(|| player.choose(episode))
    }

    /// Returns the probability of each kind of action at the latest choice, if the policy is a
    /// distribution.
    fn probabilities(&self, py: Python<'_>) -> Option<Vec<f64>> {
        self.lock(py).probabilities()
    }

    /// Returns the posterior over the hidden variables at the latest choice, if the policy has one.
    fn belief(&self, py: Python<'_>) -> Option<Vec<Vec<f64>>> {
        self.lock(py).belief()
    }

    /// Returns the numbers of actions after which the player has chosen, for a copy of it.
    fn choices(&self, py: Python<'_>) -> Vec<usize> {
        self.lock(py).choices()
    }
}

/// Makes the episode of a pickle by taking its steps again, which must lead to the same digest.
#[pyfunction]
pub(crate) fn restore_episode(
    py: Python<'_>,
    world: &str,
    seed: &Bound<'_, PyAny>,
    names: NamesState,
    steps: Vec<StepState>,
    digest: &str,
) -> PyResult<PyEpisode> {
    let (task, streams, rules) = (names.0.as_deref(), names.1.as_deref(), names.2.as_deref());
    let episode = PyEpisode::new(world, seed, task, streams, rules)?;
    {
        let mut inner = episode.lock(py);
        inner.restore(&steps)?;
        if inner.digest() != digest {
            return Err(value_error(
                "the episode of the pickle was played by another version of the rules",
            ));
        }
    }
    Ok(episode)
}
