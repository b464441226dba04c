//! Values from Python, such as names and seeds, as the types of a world.

use std::sync::{Mutex, MutexGuard};

use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use sentinel_env::rules::RuleChange;
use sentinel_env::{EpisodeNames, EpisodeSpec, TaskName, WorldName, in_world};
use sentinel_policy::SEED_MAX;
use sentinel_policy::nn::Network;

use crate::space_encoding::{PythonWorld, observation_size};

pyo3::create_exception!(
    sentinel_env,
    EpisodeEnded,
    PyRuntimeError,
    "A step after the end of an episode: reset first."
);

/// Returns a `ValueError`.
pub(crate) fn value_error(reason: impl std::fmt::Display) -> PyErr {
    PyValueError::new_err(reason.to_string())
}

/// Returns the error of a step after the end of an episode.
pub(crate) fn ended() -> PyErr {
    EpisodeEnded::new_err("the episode has ended: reset before the next step")
}

/// Returns the world of a name.
pub(crate) fn parse_world(name: &str) -> PyResult<WorldName> {
    let unknown = || {
        let known = WorldName::joined_names(" or ");
        value_error(format!("unknown world {name:?}: use {known}"))
    };
    WorldName::parse(name).ok_or_else(unknown)
}

/// Returns the setup of the episode with these names and this seed.
pub(crate) fn parse_setup<W: PythonWorld>(
    names: EpisodeNames<'_>,
    seed: u64,
) -> PyResult<W::Setup> {
    let spec = EpisodeSpec::<W>::from_names(names, seed).map_err(value_error)?;
    Ok(spec.setup())
}

/// Returns a seed from any Python or NumPy integer.
#[pyfunction]
pub(crate) fn parse_seed(seed: &Bound<'_, PyAny>) -> PyResult<u64> {
    let known = seed.extract::<u64>().ok().filter(|seed| *seed <= SEED_MAX);
    known.ok_or_else(|| {
        let found = seed.repr().map(|text| text.to_string());
        not_a_seed(&found.unwrap_or_else(|_| "this".to_owned()))
    })
}

/// Returns the error of a value that is not a seed.
pub(crate) fn not_a_seed(found: &str) -> PyErr {
    const { assert!(SEED_MAX == (1 << 63) - 1, "the text names another limit") };
    value_error(format!(
        "seed {found} is not an integer from 0 to 2**63 - 1"
    ))
}

/// The names of an episode, kept so that it can be started again.
#[derive(Clone)]
pub(crate) struct OwnedNames {
    pub(crate) task: Option<String>,
    pub(crate) streams: Option<String>,
    pub(crate) rules: Option<String>,
}

/// The task, streams and rules of a pickle.
pub(crate) type NamesState = (Option<String>, Option<String>, Option<String>);

impl From<EpisodeNames<'_>> for OwnedNames {
    fn from(names: EpisodeNames<'_>) -> Self {
        Self {
            task: names.task.map(str::to_owned),
            streams: names.streams.map(str::to_owned),
            rules: names.rules.map(str::to_owned),
        }
    }
}

impl OwnedNames {
    /// Returns the names as a borrowed value.
    pub(crate) fn as_names(&self) -> EpisodeNames<'_> {
        EpisodeNames {
            task: self.task.as_deref(),
            streams: self.streams.as_deref(),
            rules: self.rules.as_deref(),
        }
    }
}

/// Returns a function of the native module, for `__reduce__`.
pub(crate) fn native_function<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    py.import("sentinel_env._native")?.getattr(name)
}

/// Locks a value that several threads may use. A thread that waits lets others use the interpreter.
pub(crate) fn lock<'a, T>(mutex: &'a Mutex<T>, py: Python<'_>) -> MutexGuard<'a, T> {
    match mutex.lock_py_attached(py) {
        Ok(guard) => guard,
        Err(poisoned) => poisoned.into_inner(),
    }
}

/// Returns the names of all worlds.
#[pyfunction]
pub(crate) fn world_names() -> Vec<&'static str> {
    WorldName::ALL.iter().map(|world| world.name()).collect()
}

/// Describes a world: its tasks, stream modes, changes of rules, policies, and the parts of its
/// observation and action.
#[pyfunction]
pub(crate) fn describe_world(py: Python<'_>, world: &str) -> PyResult<Py<PyAny>> {
    in_world!(parse_world(world)?, W => describe::<W>(py))
}

fn describe<W: PythonWorld>(py: Python<'_>) -> PyResult<Py<PyAny>> {
    use sentinel_env::Named as _;
    use sentinel_policy::Scripted as _;

    let out = pyo3::types::PyDict::new(py);
    let tasks: Vec<&str> = W::Task::ALL.iter().map(|task| task.name()).collect();
    let streams: Vec<&str> = W::STREAMS.iter().map(|mode| mode.name()).collect();
    let changes: Vec<(&str, &str)> = (W::Change::ALL.iter())
        .map(|change| (change.name(), change.describe()))
        .collect();
    let policies: Vec<(&str, bool)> = (W::PolicyName::ALL.iter())
        .map(|policy| (policy.name(), policy.is_privileged()))
        .collect();
    let schemas = <W::Net as Network>::FEATURE_SCHEMAS.iter().zip(W::ROWS);
    let sections: Vec<(&str, usize, &[&str])> = schemas
        .map(|(schema, rows)| (schema.row, *rows, schema.names))
        .collect();
    out.set_item("name", W::NAME)?;
    out.set_item("tasks", tasks)?;
    out.set_item("streams", streams)?;
    out.set_item("changes", changes)?;
    out.set_item("policies", policies)?;
    let roles = W::ROLES;
    out.set_item("heuristic", roles.heuristic)?;
    out.set_item("planner", roles.planner)?;
    out.set_item("sections", sections)?;
    out.set_item("observation_size", observation_size::<W>())?;
    out.set_item("action_names", W::action_names())?;
    Ok(out.into_any().unbind())
}

/// Returns the number of values of each factor of an action in a task.
#[pyfunction]
#[pyo3(signature = (world, task=None))]
pub(crate) fn action_sizes(world: &str, task: Option<&str>) -> PyResult<Vec<usize>> {
    let names = EpisodeNames {
        task,
        ..EpisodeNames::default()
    };
    in_world!(parse_world(world)?, W => {
        let setup = parse_setup::<W>(names, 0)?;
        Ok(<W as sentinel_env::Environment>::reset(&setup).action_sizes())
    })
}
