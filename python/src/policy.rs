//! Policies: scripted ones by name, and trained ones from a model file.

use std::any::Any;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use sentinel_env::{EpisodeNames, Named, WorldName, in_world};
use sentinel_policy::nn::{Model, ModelError, TrainedPolicy};
use sentinel_policy::replay::{record_episode, to_lines};
use sentinel_policy::rollout::run_episode;
use sentinel_policy::{Player, Scripted};

use crate::published::published_models;
use crate::space_encoding::PythonWorld;
use crate::spec::{native_function, parse_seed, parse_setup, parse_world, value_error};

/// A policy of one world, from which players are started.
pub(crate) struct PolicyOf<W: PythonWorld> {
    kind: Kind<W>,
}

enum Kind<W: PythonWorld> {
    Scripted(W::PolicyName),
    /// The models of [`Published::MODELS`](sentinel_policy::nn::Published::MODELS).
    Published([Arc<Model<W::Net>>; 2]),
    Trained(Arc<Model<W::Net>>),
}

impl<W: PythonWorld> PolicyOf<W> {
    /// Creates a player for one episode of `setup`.
    pub(crate) fn start(&self, setup: &W::Setup) -> Player<W> {
        let model = match &self.kind {
            Kind::Scripted(name) => return name.start(setup),
            Kind::Published(models) => {
                let rules = W::episode_spec(setup).rules;
                &models[W::model_index(rules)]
            }
            Kind::Trained(model) => model,
        };
        Player::Public(Box::new(TrainedPolicy::new(model.clone())))
    }
}

/// A scripted policy, or a trained one.
#[pyclass(module = "sentinel_env._native", name = "Policy", frozen)]
pub(crate) struct PyPolicy {
    /// A number that no other policy of the process has.
    pub(crate) id: u64,
    world: WorldName,
    #[pyo3(get)]
    name: String,
    /// The rules that the model was trained under, if it was read from a file.
    #[pyo3(get)]
    rules: Option<String>,
    #[pyo3(get)]
    is_privileged: bool,
    /// The bytes of the model's file, if it was read from one.
    file: Option<Arc<[u8]>>,
    /// A [`PolicyOf`] the world.
    policy: Box<dyn Any + Send + Sync>,
}

impl PyPolicy {
    /// Returns the policy of the world `W`.
    pub(crate) fn of<W: PythonWorld>(&self) -> PyResult<&PolicyOf<W>> {
        self.policy.downcast_ref().ok_or_else(|| {
            let (name, world) = (&self.name, self.world);
            value_error(format!(
                "policy {name} is of world {world}, and this is {}",
                W::NAME
            ))
        })
    }
}

fn next_id() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// The name of the published trained policy, as on the command line.
const TRAINED: &str = "trained";

/// Returns a scripted policy, or the published trained one.
fn named<W: PythonWorld>(world: WorldName, name: &str) -> PyResult<PyPolicy> {
    let scripted = <W::PolicyName as Named>::parse(name);
    let kind = match scripted {
        Some(found) => Kind::Scripted(found),
        None if name == TRAINED => Kind::Published(published_models::<W>().map_err(value_error)?),
        None => {
            let known = <W::PolicyName as Named>::joined_names();
            return Err(value_error(format!(
                "unknown policy {name:?} of world {world}: use {TRAINED}, or one of {known}"
            )));
        }
    };
    Ok(PyPolicy {
        id: next_id(),
        world,
        name: name.to_owned(),
        rules: None,
        is_privileged: scripted.is_some_and(|found| found.is_privileged()),
        file: None,
        policy: Box::new(PolicyOf::<W> { kind }),
    })
}

fn trained<W: PythonWorld>(world: WorldName, bytes: &[u8]) -> Result<PyPolicy, ModelError> {
    let model = Model::<W::Net>::from_bytes(bytes)?;
    Ok(PyPolicy {
        id: next_id(),
        world,
        name: model.config.name.clone(),
        rules: Some(model.config.rules_name().to_owned()),
        is_privileged: false,
        file: Some(bytes.into()),
        policy: Box::new(PolicyOf::<W> {
            kind: Kind::Trained(Arc::new(model)),
        }),
    })
}

/// Reads a model of whichever world it was trained for.
fn read_model(bytes: &[u8]) -> Result<PyPolicy, ModelError> {
    let mut last = ModelError::Format;
    for world in WorldName::ALL {
        match in_world!(*world, W => trained::<W>(*world, bytes)) {
            Err(error @ ModelError::World { .. }) => last = error,
            found => return found,
        }
    }
    Err(last)
}

/// Arrays with one entry for each episode.
struct Results {
    scores: Vec<f64>,
    actions: Vec<u64>,
    digests: Vec<String>,
}

fn run_all<W: PythonWorld>(
    policy: &PolicyOf<W>,
    names: &EpisodeNames<'_>,
    seeds: &[u64],
) -> PyResult<Results> {
    let mut results = Results {
        scores: Vec::with_capacity(seeds.len()),
        actions: Vec::with_capacity(seeds.len()),
        digests: Vec::with_capacity(seeds.len()),
    };
    for seed in seeds {
        let setup = parse_setup::<W>(*names, *seed)?;
        let run = run_episode(&setup, &mut policy.start(&setup));
        results.scores.push(run.episode().score());
        results.actions.push(run.rewards().len() as u64);
        results.digests.push(run.digest().digest().to_string());
    }
    Ok(results)
}

#[pymethods]
impl PyPolicy {
    #[new]
    fn new(world: &str, name: &str) -> PyResult<Self> {
        let world = parse_world(world)?;
        in_world!(world, W => named::<W>(world, name))
    }

    /// Reads a trained policy from the bytes of a `model.safetensors`.
    #[staticmethod]
    fn from_bytes(py: Python<'_>, bytes: &[u8]) -> PyResult<Self> {
        py.detach(|| read_model(bytes)).map_err(value_error)
    }

    /// Reads a trained policy from a `model.safetensors`, or from its folder.
    #[staticmethod]
    fn from_file(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        let path = if path.is_dir() {
            path.join("model.safetensors")
        } else {
            path
        };
        let bytes = py.detach(|| std::fs::read(&path));
        let bytes = bytes.map_err(|error| {
            let (kind, text) = (error.kind(), error.to_string());
            std::io::Error::new(kind, format!("{}: {text}", path.display()))
        })?;
        let found = py.detach(|| read_model(&bytes));
        found.map_err(|error| value_error(format!("{}: {error}", path.display())))
    }

    /// The world that the policy acts in.
    #[getter]
    fn world(&self) -> &'static str {
        self.world.name()
    }

    /// Plays one episode for each seed. Returns a dict of lists and arrays: `seed`, `score`,
    /// `actions` and `digest`. The seeds are checked by the caller: lists of recorded digests have some
    /// beyond the largest one of files.
    #[pyo3(signature = (seeds, *, task=None, streams=None, rules=None))]
    fn run<'py>(
        &self,
        py: Python<'py>,
        seeds: PyReadonlyArray1<'py, u64>,
        task: Option<&str>,
        streams: Option<&str>,
        rules: Option<&str>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let names = EpisodeNames {
            task,
            streams,
            rules,
        };
        let seeds = seeds.as_array().to_vec();
        let results = in_world!(self.world, W => {
            let policy = self.of::<W>()?;
            py.detach(|| run_all::<W>(policy, &names, &seeds))?
        });
        let out = PyDict::new(py);
        out.set_item("seed", PyArray1::from_vec(py, seeds))?;
        out.set_item("score", PyArray1::from_vec(py, results.scores))?;
        out.set_item("actions", PyArray1::from_vec(py, results.actions))?;
        out.set_item("digest", results.digests)?;
        Ok(out)
    }

    /// Plays an episode and returns it as the text of a replay file.
    #[pyo3(signature = (seed, *, task=None, streams=None, rules=None, name=None))]
    fn record(
        &self,
        py: Python<'_>,
        seed: &Bound<'_, PyAny>,
        task: Option<&str>,
        streams: Option<&str>,
        rules: Option<&str>,
        name: Option<&str>,
    ) -> PyResult<String> {
        let (names, seed) = (
            EpisodeNames {
                task,
                streams,
                rules,
            },
            parse_seed(seed)?,
        );
        let name = name.unwrap_or(&self.name);
        in_world!(self.world, W => {
            let policy = self.of::<W>()?;
            let setup = parse_setup::<W>(names, seed)?;
            let (_, rows) = py.detach(|| {
                record_episode(&setup, &mut policy.start(&setup), name)
            });
            to_lines(&rows).map_err(value_error)
        })
    }

    /// Returns the function that makes the policy, and its arguments.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
        let (function, arguments) = match &self.file {
            Some(file) => (
                "restore_policy",
                (PyBytes::new(py, file),).into_pyobject(py)?.into_any(),
            ),
            None => {
                let names = (self.world.name(), &self.name);
                ("Policy", names.into_pyobject(py)?.into_any())
            }
        };
        Ok((native_function(py, function)?, arguments))
    }

    fn __repr__(&self) -> String {
        format!(
            "Policy(world={:?}, name={:?})",
            self.world.name(),
            self.name
        )
    }
}

/// Makes the trained policy of a pickle.
#[pyfunction]
pub(crate) fn restore_policy(py: Python<'_>, bytes: &[u8]) -> PyResult<PyPolicy> {
    PyPolicy::from_bytes(py, bytes)
}
