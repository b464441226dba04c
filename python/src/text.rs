//! Episodes in words: prompts, completions and transcripts.

use std::sync::Mutex;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use sentinel_env::{EpisodeNames, Named, Seeded, TaskName, in_world};
use sentinel_policy::replay::{ReplayRow, to_lines};
use sentinel_policy::text::{
    CompletionStep, InvalidReward, ParserStrictness, PromptState, PromptStyle, RolloutConfig,
    TextEpisode, TextWorld,
};

use crate::follower::Follower;
use crate::policy::PyPolicy;
use crate::space_encoding::PythonWorld;
use crate::spec::{ended, parse_seed, parse_setup, parse_world, value_error};

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
trait AnyTextEpisode: Send + Sync {
    fn prompt(&self) -> String;
    fn step(&mut self, completion: &str) -> Option<TextStep>;
    fn parse(&self, completion: &str) -> Result<String, (&'static str, String)>;
    fn example(&self, policy: &PyPolicy) -> PyResult<Option<String>>;
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
    teacher: Mutex<Option<(u64, Follower<W>)>>,
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

    fn example(&self, policy: &PyPolicy) -> PyResult<Option<String>> {
        if self.episode.is_over() {
            return Ok(None);
        }
        let state = self.episode.state();
        let setup = state.episode().setup();
        let mut teacher = match self.teacher.lock() {
            Ok(teacher) => teacher,
            Err(poisoned) => poisoned.into_inner(),
        };
        if teacher.as_ref().is_none_or(|(id, _)| *id != policy.id) {
            *teacher = Some((policy.id, Follower::new(policy, setup)?));
        }
        let Some((_, follower)) = teacher.as_mut() else {
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
        self.episode.abort();
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

/// An episode that is played by prompts and completions.
#[pyclass(module = "sentinel_env._native", name = "TextEpisode")]
pub(crate) struct PyTextEpisode {
    inner: Box<dyn AnyTextEpisode>,
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
        let inner: Box<dyn AnyTextEpisode> = in_world!(parse_world(world)?, W => {
            let setup = parse_setup::<W>(names, seed)?;
            Box::new(TextEpisodeOf::<W> {
                episode: TextEpisode::new(PromptState::new(&setup)),
                config,
                fallback,
                rows: Vec::new(),
                teacher: Mutex::new(None),
            })
        });
        Ok(Self { inner })
    }

    /// Returns the prompt for the current observation.
    fn prompt(&self) -> String {
        self.inner.prompt()
    }

    /// Applies a completion. Returns a dict: `reward`, `terminal_reward`, `valid`, `repaired`,
    /// `reason`, `detail`, `action` and `aborted`.
    fn step<'py>(&mut self, py: Python<'py>, completion: &str) -> PyResult<Bound<'py, PyDict>> {
        let step = py.detach(|| self.inner.step(completion));
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
    fn parse(&self, completion: &str) -> (Option<String>, Option<&'static str>, Option<String>) {
        match self.inner.parse(completion) {
            Ok(action) => (Some(action), None, None),
            Err((reason, detail)) => (None, Some(reason), Some(detail)),
        }
    }

    /// Returns the completion of a policy that played this episode from its start, `None` after the
    /// end.
    fn example(&self, py: Python<'_>, policy: &PyPolicy) -> PyResult<Option<String>> {
        py.detach(|| self.inner.example(policy))
    }

    /// Ends the episode as a completion that is not an action does; does nothing after the end.
    fn abort(&mut self) {
        self.inner.abort();
    }

    #[getter]
    fn done(&self) -> bool {
        self.inner.is_over()
    }

    #[getter]
    fn aborted(&self) -> bool {
        self.inner.is_aborted()
    }

    #[getter]
    fn score(&self) -> f64 {
        self.inner.score()
    }

    #[getter]
    fn seed(&self) -> u64 {
        self.inner.seed()
    }

    #[getter]
    fn task(&self) -> &'static str {
        self.inner.task()
    }

    #[getter]
    fn step_count(&self) -> u32 {
        self.inner.step_count()
    }

    #[getter]
    fn max_steps(&self) -> u32 {
        self.inner.max_steps()
    }

    /// Returns the completions so far as the text of a replay file.
    fn replay(&self, name: &str) -> PyResult<String> {
        self.inner.replay(name)
    }
}
