//! Which episode: names from Python as the types of a world.

use numpy::PyReadonlyArray1;
use pyo3::exceptions::{PyRuntimeError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use sentinel_env::rng::Streams;
use sentinel_env::rules::{RuleChange, Rules};
use sentinel_env::task::joined_task_names;
use sentinel_env::{EpisodeSpec, TaskName, World, WorldName, in_world};
use sentinel_policy::nn::Network;

use crate::world::{PythonWorld, observation_size};

pyo3::create_exception!(
    sentinel_env,
    EpisodeEnded,
    PyRuntimeError,
    "A step after the end of an episode: reset first."
);

/// Names that identify an episode apart from its seed.
#[derive(Clone, Debug)]
pub(crate) struct Names<'a> {
    pub(crate) task: Option<&'a str>,
    pub(crate) streams: Option<&'a str>,
    pub(crate) rules: Option<&'a str>,
}

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

/// Returns the spec of the episode that the names identify. Without a task it is the first one of the
/// world, without streams the independent ones, and without rules those of the reference.
pub(crate) fn parse_spec<W: World>(names: &Names<'_>, seed: u64) -> PyResult<EpisodeSpec<W>> {
    let task = match names.task {
        None => W::Task::ALL[0],
        Some(name) => W::Task::parse(name).ok_or_else(|| {
            let known = joined_task_names::<W::Task>(" or ");
            value_error(format!(
                "unknown task {name:?} of world {}: use {known}",
                W::NAME
            ))
        })?,
    };
    let streams = match names.streams {
        None => W::streams_or_default(Streams::Independent),
        Some(name) => parse_streams::<W>(name)?,
    };
    let rules = match names.rules {
        None => Rules::REFERENCE,
        Some(text) => Rules::parse(text).map_err(value_error)?,
    };
    Ok(EpisodeSpec {
        task,
        seed,
        streams,
        rules,
    })
}

fn parse_streams<W: World>(name: &str) -> PyResult<Streams> {
    let known = || {
        let names: Vec<&str> = W::STREAMS.iter().map(|mode| mode.name()).collect();
        names.join(" or ")
    };
    let found = Streams::parse(name).filter(|streams| W::STREAMS.contains(streams));
    found.ok_or_else(|| {
        let world = W::NAME;
        value_error(format!(
            "unknown streams {name:?} of world {world}: use {}",
            known()
        ))
    })
}

/// Returns a seed from any Python or NumPy integer.
pub(crate) fn parse_seed(seed: &Bound<'_, PyAny>) -> PyResult<u64> {
    seed.extract::<u64>().map_err(|_| {
        let found = seed
            .repr()
            .map_or_else(|_| "this".to_owned(), |text| text.to_string());
        value_error(format!("seed {found} is no integer from 0 to 2**64 - 1"))
    })
}

/// Returns actions as a slice.
pub(crate) fn contiguous<'a>(values: &'a PyReadonlyArray1<'_, i64>) -> PyResult<&'a [i64]> {
    (values.as_slice()).map_err(|_| PyTypeError::new_err("the array of actions is not contiguous"))
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
    let names = Names {
        task,
        streams: None,
        rules: None,
    };
    in_world!(parse_world(world)?, W => {
        let setup = parse_spec::<W>(&names, 0)?.setup();
        Ok(<W as sentinel_env::Environment>::reset(&setup).action_sizes())
    })
}
