//! Episodes in words: prompts, completions and transcripts.

use std::sync::{Mutex, MutexGuard};

use pyo3::prelude::*;
use pyo3::types::PyDict;
use sentinel_env::{EpisodeNames, Named, Seeded, TaskName, WorldName, in_world};
use sentinel_policy::replay::{ReplayRow, to_lines};
use sentinel_policy::text::{
    CompletionStep, InvalidReward, ParserStrictness, PromptState, PromptStyle, RolloutConfig,
    TextEpisode, TextWorld,
};

use crate::follower::Follower;
use crate::policy::PyPolicy;
use crate::space_encoding::PythonWorld;
use crate::spec::{
    NamesState, OwnedNames, ended, lock, native_function, parse_seed, parse_setup, parse_world,
    value_error,
};

/// The parts of a step that do not depend on the world.
struct TextStep {
    reward: f64,
    terminal: Option<f64>,
    valid: bool,
    repaired: bool,
    reason: Option<&'static str>,
    detail: Option<String>,
    action: Option<String>,
    aborted: bool,
}

impl TextStep {
    fn new<W: TextWorld>(step: CompletionStep<W>) -> Self {
        let (reason, detail, repaired) = match &step.parsed {
            Ok(parsed) => (None, None, parsed.repaired),
            Err(error) => (Some(error.reason.name()), Some(error.detail.clone()), false),
        };
        Self {
            reward: step.reward,
            terminal: step.terminal,
            valid: step.parsed.is_ok(),
            repaired,
            reason,
            detail,
            action: step.action.map(|action| action.to_string()),
            aborted: step.action.is_none(),
        }
    }
}

/// A text episode of any world.
trait AnyTextEpisode: Send {
    fn prompt(&self) -> String;
    fn step(&mut self, completion: &str) -> Option<TextStep>;
    fn parse(&self, completion: &str) -> Result<String, (&'static str, String)>;
    fn example(&mut self, policy: &PyPolicy) -> PyResult<Option<String>>;
    fn boxed_clone(&self) -> Box<dyn AnyTextEpisode>;
    /// Returns the completions so far, and `None` for a call of [`AnyTextEpisode::abort`].
    fn inputs(&self) -> Vec<Option<String>>;
    fn is_over(&self) -> bool;
    fn is_aborted(&self) -> bool;
    fn abort(&mut self);
    fn score(&self) -> f64;
    fn seed(&self) -> u64;
    fn task(&self) -> &'static str;
    fn step_count(&self) -> u32;
    fn max_steps(&self) -> u32;
    fn replay(&self, name: &str) -> PyResult<String>;
}

/// A text episode of one world, with its transcript.
struct TextEpisodeOf<W: PythonWorld> {
    episode: TextEpisode<W>,
    config: RolloutConfig,
    fallback: bool,
    rows: Vec<ReplayRow<W>>,
    /// The id of the policy of the latest example, and its player.
    teacher: Option<(u64, Follower<W>)>,
    /// The completions so far, and `None` for a call of [`AnyTextEpisode::abort`].
    inputs: Vec<Option<String>>,
}

impl<W: PythonWorld> AnyTextEpisode for TextEpisodeOf<W> {
    fn prompt(&self) -> String {
        self.episode.state().prompt(self.config.style)
    }

    fn step(&mut self, completion: &str) -> Option<TextStep> {
        if self.episode.is_over() {
            return None;
        }
        let (prompt, reader) = (self.prompt(), self.config.reader);
        let said = completion.to_owned();
        let row = ReplayRow::from_completion(self.episode.state(), reader, "", prompt, said);
        let step = if self.fallback {
            self.episode.step_with_fallback(self.config, completion)
        } else {
            self.episode.step(self.config, completion)
        };
        self.rows.push(row);
        self.inputs.push(Some(completion.to_owned()));
        step.map(TextStep::new)
    }

    fn parse(&self, completion: &str) -> Result<String, (&'static str, String)> {
        let observation = self.episode.state().observation();
        let parsed = W::parse_action(self.config.reader, completion, observation);
        match parsed {
            Ok(parsed) => Ok(parsed.action.to_string()),
            Err(error) => Err((error.reason.name(), error.detail)),
        }
    }

    fn example(&mut self, policy: &PyPolicy) -> PyResult<Option<String>> {
        if self.episode.is_over() {
            return Ok(None);
        }
        let state = self.episode.state();
        let setup = state.episode().setup();
        if self.teacher.as_ref().is_none_or(|(id, _)| *id != policy.id) {
            self.teacher = Some((policy.id, Follower::new(policy, setup)?));
        }
        let Some((_, follower)) = self.teacher.as_mut() else {
            return Ok(None);
        };
        let action = follower.choose(setup, state.actions())?;
        Ok(Some(W::format_action(
            self.config.style,
            state.observation(),
            action,
        )))
    }

    fn is_over(&self) -> bool {
        self.episode.is_over()
    }

    fn is_aborted(&self) -> bool {
        self.episode.is_aborted()
    }

    fn abort(&mut self) {
        if !self.episode.is_over() {
            self.episode.abort();
            self.inputs.push(None);
        }
    }

    fn boxed_clone(&self) -> Box<dyn AnyTextEpisode> {
        Box::new(Self {
            episode: self.episode.clone(),
            config: self.config,
            fallback: self.fallback,
            rows: self.rows.clone(),
            // A player cannot be copied: the next example makes another one, which sees the same.
            teacher: None,
            inputs: self.inputs.clone(),
        })
    }

    fn inputs(&self) -> Vec<Option<String>> {
        self.inputs.clone()
    }

    fn score(&self) -> f64 {
        self.episode.score(self.config)
    }

    fn seed(&self) -> u64 {
        self.episode.state().episode().setup().seed()
    }

    fn task(&self) -> &'static str {
        W::episode_spec(self.episode.state().episode().setup())
            .task
            .name()
    }

    fn step_count(&self) -> u32 {
        W::step_count(self.episode.state().observation())
    }

    fn max_steps(&self) -> u32 {
        W::max_steps(W::episode_spec(self.episode.state().episode().setup()).task)
    }

    fn replay(&self, name: &str) -> PyResult<String> {
        let mut rows = self.rows.clone();
        for row in &mut rows {
            name.clone_into(&mut row.model_source);
        }
        to_lines(&rows).map_err(value_error)
    }
}

fn named<T: Named>(name: &str, what: &str) -> PyResult<T> {
    T::parse(name).ok_or_else(|| {
        let known = T::joined_names();
        value_error(format!("unknown {what} {name:?}: use one of {known}"))
    })
}

/// The arguments of a text episode besides its names.
#[derive(Clone)]
struct TextOptions {
    style: String,
    reader: String,
    invalid_reward: f64,
    fallback: bool,
}

/// An episode that is played by prompts and completions. Threads that share it take turns.
#[pyclass(module = "sentinel_env._native", name = "TextEpisode", frozen)]
pub(crate) struct PyTextEpisode {
    inner: Mutex<Box<dyn AnyTextEpisode>>,
    world: WorldName,
    names: OwnedNames,
    options: TextOptions,
}

impl PyTextEpisode {
    fn lock(&self, py: Python<'_>) -> MutexGuard<'_, Box<dyn AnyTextEpisode>> {
        lock(&self.inner, py)
    }
}

#[pymethods]
impl PyTextEpisode {
    #[new]
    #[pyo3(signature = (world, seed, *, task=None, streams=None, rules=None, style="compact", reader="strict", invalid_reward=0.0, fallback=false))]
    #[allow(clippy::too_many_arguments, reason = "keyword arguments of Python")]
    fn new(
        world: &str,
        seed: &Bound<'_, PyAny>,
        task: Option<&str>,
        streams: Option<&str>,
        rules: Option<&str>,
        style: &str,
        reader: &str,
        invalid_reward: f64,
        fallback: bool,
    ) -> PyResult<Self> {
        let names = EpisodeNames {
            task,
            streams,
            rules,
        };
        let seed = parse_seed(seed)?;
        let config = RolloutConfig {
            style: named::<PromptStyle>(style, "prompt style")?,
            reader: named::<ParserStrictness>(reader, "reader")?,
            invalid: InvalidReward::new(invalid_reward).map_err(value_error)?,
        };
        let world = parse_world(world)?;
        let inner: Box<dyn AnyTextEpisode> = in_world!(world, W => {
            let setup = parse_setup::<W>(names, seed)?;
            Box::new(TextEpisodeOf::<W> {
                episode: TextEpisode::new(PromptState::new(&setup)),
                config,
                fallback,
                rows: Vec::new(),
                teacher: None,
                inputs: Vec::new(),
            })
        });
        Ok(Self {
            inner: Mutex::new(inner),
            world,
            names: names.into(),
            options: TextOptions {
                style: style.to_owned(),
                reader: reader.to_owned(),
                invalid_reward,
                fallback,
            },
        })
    }

    /// Returns the prompt for the current observation.
    fn prompt(&self, py: Python<'_>) -> String {
        self.lock(py).prompt()
    }

    /// Applies a completion. Returns a dict: `reward`, `terminal_reward`, `valid`, `repaired`,
    /// `reason`, `detail`, `action` and `aborted`.
    fn step<'py>(&self, py: Python<'py>, completion: &str) -> PyResult<Bound<'py, PyDict>> {
        let step = {
            let mut inner = self.lock(py);
            let inner = inner.as_mut();
            py.detach(|| inner.step(completion))
        };
        let step = step.ok_or_else(ended)?;
        let out = PyDict::new(py);
        out.set_item("reward", step.reward)?;
        out.set_item("terminal_reward", step.terminal)?;
        out.set_item("valid", step.valid)?;
        out.set_item("repaired", step.repaired)?;
        out.set_item("reason", step.reason)?;
        out.set_item("detail", step.detail)?;
        out.set_item("action", step.action)?;
        out.set_item("aborted", step.aborted)?;
        Ok(out)
    }

    /// Parses a completion without a step. Returns the action as text, or `None` with the reason and
    /// its description.
    #[allow(clippy::type_complexity, reason = "a tuple for Python")]
    fn parse(
        &self,
        py: Python<'_>,
        completion: &str,
    ) -> (Option<String>, Option<&'static str>, Option<String>) {
        match self.lock(py).parse(completion) {
            Ok(action) => (Some(action), None, None),
            Err((reason, detail)) => (None, Some(reason), Some(detail)),
        }
    }

    /// Returns the completion of a policy that played this episode from its start, `None` after the
    /// end.
    fn example(&self, py: Python<'_>, policy: &PyPolicy) -> PyResult<Option<String>> {
        let mut inner = self.lock(py);
        let inner = inner.as_mut();
        py.detach(|| inner.example(policy))
    }

    /// Ends the episode as a completion that is not an action does; does nothing after the end.
    fn abort(&self, py: Python<'_>) {
        self.lock(py).abort();
    }

    #[getter]
    fn done(&self, py: Python<'_>) -> bool {
        self.lock(py).is_over()
    }

    #[getter]
    fn aborted(&self, py: Python<'_>) -> bool {
        self.lock(py).is_aborted()
    }

    #[getter]
    fn score(&self, py: Python<'_>) -> f64 {
        self.lock(py).score()
    }

    #[getter]
    fn seed(&self, py: Python<'_>) -> u64 {
        self.lock(py).seed()
    }

    #[getter]
    fn task(&self, py: Python<'_>) -> &'static str {
        self.lock(py).task()
    }

    #[getter]
    fn step_count(&self, py: Python<'_>) -> u32 {
        self.lock(py).step_count()
    }

    #[getter]
    fn max_steps(&self, py: Python<'_>) -> u32 {
        self.lock(py).max_steps()
    }

    /// Returns the completions so far as the text of a replay file.
    fn replay(&self, py: Python<'_>, name: &str) -> PyResult<String> {
        self.lock(py).replay(name)
    }

    fn __deepcopy__(&self, py: Python<'_>, _memo: &Bound<'_, PyAny>) -> Self {
        Self {
            inner: Mutex::new(self.lock(py).boxed_clone()),
            world: self.world,
            names: self.names.clone(),
            options: self.options.clone(),
        }
    }

    /// Returns the function [`restore_text_episode`] and its arguments.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
        let inner = self.lock(py);
        let (names, options) = (&self.names, &self.options);
        let arguments = (
            self.world.name(),
            inner.seed(),
            (&names.task, &names.streams, &names.rules),
            (&options.style, &options.reader),
            (options.invalid_reward, options.fallback),
            inner.inputs(),
        );
        let arguments = arguments.into_pyobject(py)?.into_any();
        Ok((native_function(py, "restore_text_episode")?, arguments))
    }
}

/// Makes the text episode of a pickle by taking its completions again.
#[pyfunction]
pub(crate) fn restore_text_episode(
    py: Python<'_>,
    world: &str,
    seed: &Bound<'_, PyAny>,
    names: NamesState,
    texts: (String, String),
    options: (f64, bool),
    inputs: Vec<Option<String>>,
) -> PyResult<PyTextEpisode> {
    let episode = PyTextEpisode::new(
        world,
        seed,
        names.0.as_deref(),
        names.1.as_deref(),
        names.2.as_deref(),
        &texts.0,
        &texts.1,
        options.0,
        options.1,
    )?;
    {
        let mut inner = episode.lock(py);
        for input in &inputs {
            match input {
                Some(completion) => {
                    inner.step(completion).ok_or_else(ended)?;
                }
                None => inner.abort(),
            }
        }
    }
    Ok(episode)
}
