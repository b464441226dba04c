//! The active model for commands that play: where a language model is wanted and none is named, or
//! `--model active` is.

use std::path::Path;

use sentinel_base::Error;
use sentinel_env::WorldName;
use sentinel_evidence::active_model::ActiveModel;
use sentinel_evidence::run_paths::CHECKPOINTS_DIR;
use sentinel_language::agent::GenerationArgs;

/// The name of the active model on the command line.
pub const NAME: &str = "active";

/// Returns `true` if a command line names the active model.
#[must_use]
pub fn is_active(model: &str) -> bool {
    model == NAME && !Path::new(model).is_dir()
}

/// Reads the active model of this folder's checkpoints and checks its files; `None` if no model is
/// active.
///
/// # Errors
/// Returns an error if the manifest is invalid, or a file was deleted or changed.
pub fn find_active_model() -> Result<Option<ActiveModel>, Error> {
    ActiveModel::load(Path::new(CHECKPOINTS_DIR))
}

/// Reads the active model and checks that it plays `world`.
///
/// # Errors
/// Returns an error if no model is active, it was trained in another world, or a file was deleted
/// or changed.
pub fn require_active_model(world: WorldName) -> Result<ActiveModel, Error> {
    let found = find_active_model()?.ok_or_else(|| {
        let reason = "no model is active: name one, or activate one with `sentinel activate`";
        Error::argument("--model", reason.to_owned())
    })?;
    check_trained_world(&found, world)?;
    Ok(found)
}

/// Checks that a model was trained in `world`.
///
/// # Errors
/// Returns an error if it was trained in another one.
pub fn check_trained_world(model: &ActiveModel, world: WorldName) -> Result<(), Error> {
    let trained = &model.world;
    if trained.is_empty() || trained == world.name() {
        return Ok(());
    }
    let label = &model.label;
    let reason = format!(
        "the active model {label} was trained in world {trained}, not {world}: add --world {trained}, or name another \
         model"
    );
    Err(Error::argument("--model", reason))
}

/// Returns the options of generation with the adapter of the active model.
///
/// # Errors
/// Returns an error if another adapter is given.
pub fn generation_args(
    model: &ActiveModel,
    given: &GenerationArgs,
) -> Result<GenerationArgs, Error> {
    if given.adapter.is_some() {
        let reason = "the active model has its own adapter: leave the option out, or name the base with --model";
        return Err(Error::argument("--adapter", reason.to_owned()));
    }
    Ok(GenerationArgs {
        adapter: model.artifact.adapter.clone(),
        ..given.clone()
    })
}
