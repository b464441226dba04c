//! The native part of the Python package `sentinel-env`: worlds, policies, prompts and replays of
//! `sentinel-env` and `sentinel-policy`, with names and NumPy arrays in place of their types.
//!
//! The functions here are the smallest that the package needs. Defaults, Gymnasium's interfaces and
//! documentation for users are in `python/python/sentinel_env`.

mod arrays;
mod batch;
mod episode;
mod follower;
mod policy;
mod published;
mod replay;
mod space_encoding;
mod spec;
mod text;

use pyo3::prelude::*;

/// The module `sentinel_env._native`.
#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    module.add("EpisodeEnded", py.get_type::<spec::EpisodeEnded>())?;
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("SEED_MAX", sentinel_policy::SEED_MAX)?;
    module.add_class::<batch::PyBatch>()?;
    module.add_class::<episode::PyEpisode>()?;
    module.add_class::<episode::PyPlayer>()?;
    module.add_class::<policy::PyPolicy>()?;
    module.add_class::<replay::PyReplayFile>()?;
    module.add_class::<text::PyTextEpisode>()?;
    module.add_function(wrap_pyfunction!(spec::world_names, module)?)?;
    module.add_function(wrap_pyfunction!(spec::describe_world, module)?)?;
    module.add_function(wrap_pyfunction!(spec::action_sizes, module)?)?;
    module.add_function(wrap_pyfunction!(spec::parse_seed, module)?)?;
    module.add_function(wrap_pyfunction!(batch::restore_batch, module)?)?;
    module.add_function(wrap_pyfunction!(episode::restore_episode, module)?)?;
    module.add_function(wrap_pyfunction!(policy::restore_policy, module)?)?;
    module.add_function(wrap_pyfunction!(text::restore_text_episode, module)?)?;
    Ok(())
}
