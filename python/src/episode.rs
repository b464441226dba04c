//! One episode, and players that act in it.

mod player;

use std::any::Any;
use std::sync::{Mutex, MutexGuard};

use numpy::PyReadonlyArrayDyn;
use pyo3::prelude::*;
use sentinel_env::{EpisodeNames, Seeded, Session, Transition, in_world};
use sentinel_policy::nn::{Network, Observe};
use sentinel_policy::replay::{Replay, ReplayRow, to_lines};

pub(crate) use self::player::PyPlayer;

use self::player::{AnyPlayer, other_episode, other_world};
use crate::arrays::{OutArray, copy_actions, out_slice};
use crate::follower::Follower;
use crate::policy::PyPolicy;
use crate::space_encoding::{
    ObserverOf, PythonWorld, check_values, decode, observation_size, write_mask,
};
use crate::spec::{
    NamesState, OwnedNames, ended, lock, native_function, parse_seed, parse_setup, parse_world,
    value_error,
};

/// The reward of a step, and whether the episode was terminated or truncated.
type StepResult = (f64, bool, bool);

/// A step as it was asked for, from which it can be taken again.
#[derive(Clone)]
enum Step {
    /// The numbers of an action.
    Values(Vec<u16>),
    /// The text of a JSON message.
    Message(String),
    /// The choice of a player. The session has the action.
    Player,
}

/// A step in a pickle: its numbers, or a text with `true` if the text is a row of a replay, which a
/// step of a player becomes.
type StepState = (Vec<u16>, Option<String>, bool);

/// An episode of any world.
trait AnyEpisode: Any + Send + Sync {
    fn boxed_clone(&self) -> Box<dyn AnyEpisode>;
    fn state(&self) -> PyResult<Vec<StepState>>;
    /// Takes the steps of a state again.
    fn restore(&mut self, steps: &[StepState]) -> PyResult<()>;
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
    /// Starts a player that has chosen after each of the given numbers of actions.
    fn player(&self, policy: &PyPolicy, choices: &[usize]) -> PyResult<Box<dyn AnyPlayer>>;
    /// Takes the action that a player of this episode chose.
    fn step_player(&mut self, player: &mut dyn AnyPlayer) -> PyResult<StepResult>;
}

/// An episode of one world.
struct EpisodeOf<W: PythonWorld> {
    session: Session<W>,
    observer: ObserverOf<W>,
    /// One entry for each action of the session.
    steps: Vec<Step>,
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
            steps: Vec::new(),
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

    fn act(&mut self, action: W::Action, step: Step) -> PyResult<StepResult> {
        let transition = self.session.act(action).map_err(value_error)?;
        Ok(self.after(&transition, step))
    }

    /// Notes a step that the session has taken.
    fn after(&mut self, transition: &Transition<W::Info>, step: Step) -> StepResult {
        self.observer.observe(self.session.episode().observation());
        self.steps.push(step);
        (
            transition.reward,
            transition.terminated,
            transition.truncated,
        )
    }

    fn step_values(&mut self, values: Vec<u16>) -> PyResult<StepResult> {
        let action = decode::<W>(&values, self.observation());
        self.act(action, Step::Values(values))
    }

    /// Returns the rows of a replay, one for each action.
    fn rows(&self, name: &str) -> PyResult<Vec<ReplayRow<W>>> {
        let mut past = W::reset(self.session.episode().setup());
        let mut rows = Vec::with_capacity(self.steps.len());
        for action in self.session.actions() {
            rows.push(ReplayRow::new(&past, *action, name));
            past.step(*action).map_err(value_error)?;
        }
        Ok(rows)
    }
}

impl<W: PythonWorld> AnyEpisode for EpisodeOf<W> {
    fn boxed_clone(&self) -> Box<dyn AnyEpisode> {
        Box::new(Self {
            session: self.session.clone(),
            observer: self.observer.clone(),
            steps: self.steps.clone(),
            sizes: self.sizes.clone(),
        })
    }

    fn state(&self) -> PyResult<Vec<StepState>> {
        let rows = self.rows("")?;
        let pairs = self.steps.iter().zip(&rows);
        let state = pairs.map(|(step, row)| match step {
            Step::Values(values) => Ok((values.clone(), None, false)),
            Step::Message(text) => Ok((Vec::new(), Some(text.clone()), false)),
            Step::Player => to_lines([row])
                .map(|line| (Vec::new(), Some(line), true))
                .map_err(value_error),
        });
        state.collect()
    }

    fn restore(&mut self, steps: &[StepState]) -> PyResult<()> {
        for (values, text, is_row) in steps {
            match text {
                None => {
                    let values: Vec<i64> = values.iter().map(|value| i64::from(*value)).collect();
                    self.step(&values)?;
                }
                Some(text) if *is_row => {
                    self.check_running()?;
                    let replay = Replay::<W>::parse(text);
                    let row = replay.iter().next();
                    let row = row.ok_or_else(|| value_error("the state has an unreadable row"))?;
                    self.act(row.row.action.action, Step::Player)?;
                }
                Some(text) => {
                    self.step_json(text)?;
                }
            }
        }
        Ok(())
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn world(&self) -> &'static str {
        W::NAME
    }

    fn step(&mut self, values: &[i64]) -> PyResult<StepResult> {
        self.check_running()?;
        let mut checked = vec![0; self.sizes.len()];
        if values.len() != checked.len() {
            let (needed, found) = (checked.len(), values.len());
            return Err(value_error(format!(
                "an action has {needed} numbers, not {found}"
            )));
        }
        check_values::<W>(values, &self.sizes, &mut checked).map_err(value_error)?;
        self.step_values(checked)
    }

    fn step_json(&mut self, text: &str) -> PyResult<StepResult> {
        self.check_running()?;
        let transition = (self.session)
            .apply_json(text, &mut W::Curriculum::default())
            .map_err(value_error)?;
        Ok(self.after(&transition, Step::Message(text.to_owned())))
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
        self.steps.len()
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
        to_lines(&self.rows(name)?).map_err(value_error)
    }

    fn player(&self, policy: &PyPolicy, choices: &[usize]) -> PyResult<Box<dyn AnyPlayer>> {
        let (setup, actions) = (self.session.episode().setup(), self.session.actions());
        let mut follower = Follower::<W>::new(policy, setup)?;
        for at in choices {
            let before = actions.get(..*at).ok_or_else(other_episode)?;
            follower.choose(setup, before)?;
        }
        Ok(Box::new(follower))
    }

    fn step_player(&mut self, player: &mut dyn AnyPlayer) -> PyResult<StepResult> {
        self.check_running()?;
        let follower: &mut Follower<W> =
            player.as_any_mut().downcast_mut().ok_or_else(other_world)?;
        let setup = self.session.episode().setup();
        let action = follower.choose(setup, self.session.actions())?;
        self.act(action, Step::Player)
    }
}

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
