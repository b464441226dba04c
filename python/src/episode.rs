//! One episode, and players that act in it.

use std::any::Any;
use std::sync::Mutex;

use numpy::{PyReadonlyArray1, PyReadwriteArray1};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use sentinel_env::{EpisodeNames, Seeded, Session, in_world};
use sentinel_policy::nn::{Network, Observe};
use sentinel_policy::replay::{ReplayRow, to_lines};

use crate::follower::Follower;
use crate::policy::PyPolicy;
use crate::space_encoding::{
    ObserverOf, PythonWorld, decode, encode, observation_size, write_mask, wrong_value,
};
use crate::spec::{contiguous, ended, parse_seed, parse_setup, parse_world, value_error};

/// The reward of a step, and whether the episode was terminated or truncated.
type StepResult = (f64, bool, bool);

/// An episode of any world.
trait AnyEpisode: Any + Send + Sync {
    fn as_any(&self) -> &dyn Any;
    fn world(&self) -> &'static str;
    fn step(&mut self, values: &[i64]) -> PyResult<StepResult>;
    fn step_json(&mut self, text: &str) -> PyResult<StepResult>;
    fn done(&self) -> bool;
    fn seed(&self) -> u64;
    fn task(&self) -> &'static str;
    fn step_count(&self) -> u32;
    fn max_steps(&self) -> u32;
    fn action_count(&self) -> usize;
    fn score(&self) -> f64;
    fn digest(&self) -> String;
    fn observation_size(&self) -> usize;
    fn action_sizes(&self) -> &[usize];
    fn write_observation(&self, out: &mut [f32]);
    fn write_mask(&self, out: &mut [bool]);
    fn payload(&self) -> PyResult<String>;
    fn replay(&self, name: &str) -> PyResult<String>;
    fn player(&self, policy: &PyPolicy) -> PyResult<Box<dyn AnyPlayer>>;
    /// Takes the action that a player of this episode chose.
    fn step_player(&mut self, player: &mut dyn AnyPlayer) -> PyResult<StepResult>;
}

/// An episode of one world.
struct EpisodeOf<W: PythonWorld> {
    session: Session<W>,
    observer: ObserverOf<W>,
    actions: Vec<W::Action>,
    sizes: Vec<usize>,
}

impl<W: PythonWorld> EpisodeOf<W> {
    fn new(setup: &W::Setup) -> Self {
        let session = Session::<W>::new(setup);
        let mut observer = W::Net::default().observer();
        observer.observe(session.episode().observation());
        Self {
            sizes: session.episode().action_sizes(),
            session,
            observer,
            actions: Vec::new(),
        }
    }

    fn observation(&self) -> &W::Observation {
        self.session.episode().observation()
    }

    fn check_running(&self) -> PyResult<()> {
        if W::is_done(self.observation()) {
            return Err(ended());
        }
        Ok(())
    }

    fn take(&mut self, action: W::Action) -> PyResult<StepResult> {
        let transition = self.session.act(action).map_err(value_error)?;
        self.observer.observe(self.session.episode().observation());
        self.actions.push(action);
        Ok((
            transition.reward,
            transition.terminated,
            transition.truncated,
        ))
    }
}

impl<W: PythonWorld> AnyEpisode for EpisodeOf<W> {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn world(&self) -> &'static str {
        W::NAME
    }

    fn step(&mut self, values: &[i64]) -> PyResult<StepResult> {
        self.check_running()?;
        let needed = self.sizes.len();
        if values.len() != needed {
            let found = values.len();
            return Err(value_error(format!(
                "an action has {needed} numbers, not {found}"
            )));
        }
        if let Some((factor, size)) = wrong_value(values, &self.sizes) {
            let (value, name, last) = (values[factor], W::action_names()[factor], size - 1);
            return Err(value_error(format!(
                "{name} is {value}, and must be 0 to {last}"
            )));
        }
        let action = decode::<W>(values, self.observation());
        self.take(action)
    }

    fn step_json(&mut self, text: &str) -> PyResult<StepResult> {
        self.check_running()?;
        let message: W::Message = serde_json::from_str(text).map_err(value_error)?;
        let parsed = self.session.episode().parse_message(&message);
        let (action, _) = parsed.map_err(value_error)?;
        self.take(action)
    }

    fn done(&self) -> bool {
        W::is_done(self.observation())
    }

    fn seed(&self) -> u64 {
        self.session.episode().setup().seed()
    }

    fn task(&self) -> &'static str {
        use sentinel_env::TaskName as _;
        W::episode_spec(self.session.episode().setup()).task.name()
    }

    fn step_count(&self) -> u32 {
        W::step_count(self.observation())
    }

    fn max_steps(&self) -> u32 {
        W::max_steps(W::episode_spec(self.session.episode().setup()).task)
    }

    fn action_count(&self) -> usize {
        self.actions.len()
    }

    fn score(&self) -> f64 {
        self.session.episode().score()
    }

    fn digest(&self) -> String {
        self.session.digest().digest().to_string()
    }

    fn observation_size(&self) -> usize {
        observation_size::<W>()
    }

    fn action_sizes(&self) -> &[usize] {
        &self.sizes
    }

    fn write_observation(&self, out: &mut [f32]) {
        W::write_features(&self.observer.features(self.observation()), out);
    }

    fn write_mask(&self, out: &mut [bool]) {
        let mut all = vec![false; <W::Net as Network>::LOGITS];
        write_mask::<W>(self.observation(), &self.sizes, &mut all, out);
    }

    fn payload(&self) -> PyResult<String> {
        serde_json::to_string(&self.session.reply()).map_err(value_error)
    }

    fn replay(&self, name: &str) -> PyResult<String> {
        let mut past = W::reset(self.session.episode().setup());
        let mut rows = Vec::with_capacity(self.actions.len());
        for action in &self.actions {
            rows.push(ReplayRow::<W>::new(&past, *action, name));
            past.step(*action).map_err(value_error)?;
        }
        to_lines(&rows).map_err(value_error)
    }

    fn player(&self, policy: &PyPolicy) -> PyResult<Box<dyn AnyPlayer>> {
        let setup = self.session.episode().setup();
        Ok(Box::new(Follower::<W>::new(policy, setup)?))
    }

    fn step_player(&mut self, player: &mut dyn AnyPlayer) -> PyResult<StepResult> {
        self.check_running()?;
        let follower: &mut Follower<W> =
            player.as_any_mut().downcast_mut().ok_or_else(other_world)?;
        let action = follower.choose(self.session.episode().setup(), &self.actions)?;
        self.take(action)
    }
}

/// A player of any world.
trait AnyPlayer: Send {
    fn as_any_mut(&mut self) -> &mut dyn Any;
    fn choose(&mut self, episode: &dyn AnyEpisode) -> PyResult<(Option<Vec<i64>>, String)>;
    fn probabilities(&self) -> Option<Vec<f64>>;
    fn belief(&self) -> Option<Vec<Vec<f64>>>;
}

impl<W: PythonWorld> AnyPlayer for Follower<W> {
    fn as_any_mut(&mut self) -> &mut dyn Any {
        self
    }

    fn choose(&mut self, episode: &dyn AnyEpisode) -> PyResult<(Option<Vec<i64>>, String)> {
        let episode: &EpisodeOf<W> = episode.as_any().downcast_ref().ok_or_else(other_world)?;
        episode.check_running()?;
        let action = Self::choose(self, episode.session.episode().setup(), &episode.actions)?;
        let values = encode::<W>(action, episode.observation());
        Ok((values, action.to_string()))
    }

    fn probabilities(&self) -> Option<Vec<f64>> {
        self.player().probabilities()
    }

    fn belief(&self) -> Option<Vec<Vec<f64>>> {
        self.player().belief()
    }
}

fn other_world() -> PyErr {
    value_error("the player and the episode are of different worlds")
}

/// An episode of one world, task and seed.
#[pyclass(module = "sentinel_env._native", name = "Episode")]
pub(crate) struct PyEpisode {
    inner: Box<dyn AnyEpisode>,
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
        Ok(Self { inner })
    }

    /// Takes an action, one number for each factor. Returns the reward and two flags: terminated and
    /// truncated.
    fn step(&mut self, py: Python<'_>, action: PyReadonlyArray1<'_, i64>) -> PyResult<StepResult> {
        let values = contiguous(&action)?;
        py.detach(|| self.inner.step(values))
    }

    /// Takes the action of a JSON object.
    fn step_json(&mut self, py: Python<'_>, text: &str) -> PyResult<StepResult> {
        py.detach(|| self.inner.step_json(text))
    }

    /// Takes the action that a player of this episode chooses.
    fn step_player(&mut self, py: Python<'_>, player: &PyPlayer) -> PyResult<StepResult> {
        py.detach(|| self.inner.step_player(player.lock().as_mut()))
    }

    /// Starts a player of a policy, which will have seen every observation of this episode.
    fn player(&self, policy: &PyPolicy) -> PyResult<PyPlayer> {
        Ok(PyPlayer {
            inner: Mutex::new(self.inner.player(policy)?),
        })
    }

    #[getter]
    fn world(&self) -> &'static str {
        self.inner.world()
    }

    #[getter]
    fn task(&self) -> &'static str {
        self.inner.task()
    }

    #[getter]
    fn seed(&self) -> u64 {
        self.inner.seed()
    }

    #[getter]
    fn done(&self) -> bool {
        self.inner.done()
    }

    #[getter]
    fn step_count(&self) -> u32 {
        self.inner.step_count()
    }

    #[getter]
    fn max_steps(&self) -> u32 {
        self.inner.max_steps()
    }

    #[getter]
    fn action_count(&self) -> usize {
        self.inner.action_count()
    }

    #[getter]
    fn score(&self) -> f64 {
        self.inner.score()
    }

    #[getter]
    fn digest(&self) -> String {
        self.inner.digest()
    }

    #[getter]
    fn observation_size(&self) -> usize {
        self.inner.observation_size()
    }

    #[getter]
    fn action_sizes(&self) -> Vec<usize> {
        self.inner.action_sizes().to_vec()
    }

    /// Writes the features of the current observation into an array.
    fn write_observation(&self, mut out: PyReadwriteArray1<'_, f32>) -> PyResult<()> {
        let out = (out.as_slice_mut())
            .map_err(|_| PyTypeError::new_err("the array is not contiguous"))?;
        check_length(out.len(), self.inner.observation_size())?;
        self.inner.write_observation(out);
        Ok(())
    }

    /// Writes the mask of the values that can be chosen into an array.
    fn write_mask(&self, mut out: PyReadwriteArray1<'_, bool>) -> PyResult<()> {
        let out = (out.as_slice_mut())
            .map_err(|_| PyTypeError::new_err("the array is not contiguous"))?;
        check_length(out.len(), self.inner.action_sizes().iter().sum())?;
        self.inner.write_mask(out);
        Ok(())
    }

    /// Returns the reply of the world's protocol to the latest reset or step, as JSON.
    fn payload(&self) -> PyResult<String> {
        self.inner.payload()
    }

    /// Returns the actions so far as the text of a replay file.
    fn replay(&self, name: &str) -> PyResult<String> {
        self.inner.replay(name)
    }
}

fn check_length(found: usize, needed: usize) -> PyResult<()> {
    if found == needed {
        return Ok(());
    }
    Err(value_error(format!(
        "the array has {found} entries, and must have {needed}"
    )))
}

/// A policy that plays one episode and remembers its observations.
#[pyclass(module = "sentinel_env._native", name = "Player", frozen)]
pub(crate) struct PyPlayer {
    inner: Mutex<Box<dyn AnyPlayer>>,
}

impl PyPlayer {
    fn lock(&self) -> std::sync::MutexGuard<'_, Box<dyn AnyPlayer>> {
        match self.inner.lock() {
            Ok(inner) => inner,
            Err(poisoned) => poisoned.into_inner(),
        }
    }
}

#[pymethods]
impl PyPlayer {
    /// Chooses an action for the current observation of the episode. Returns its numbers, `None` if
    /// it leaves out what numbers must name, and its text.
    fn act(
        &self,
        py: Python<'_>,
        episode: PyRef<'_, PyEpisode>,
    ) -> PyResult<(Option<Vec<i64>>, String)> {
        let episode = episode.inner.as_ref();
        py.detach(|| self.lock().choose(episode))
    }

    /// Returns the probability of each kind of action at the latest choice, if the policy is a
    /// distribution.
    fn probabilities(&self, py: Python<'_>) -> Option<Vec<f64>> {
        py.detach(|| self.lock().probabilities())
    }

    /// Returns the posterior over the hidden variables at the latest choice, if the policy has one.
    fn belief(&self, py: Python<'_>) -> Option<Vec<Vec<f64>>> {
        py.detach(|| self.lock().belief())
    }
}
