//! The folder of a run: what may be in it before the run begins, and what of it has to go.

use std::path::Path;

use super::error::RunError;
use super::options::RunOptions;
use crate::lm::lora::{ADAPTER_FILES, COMPANIONS};
use crate::lm::model::MODEL_FILES;
use crate::run::{CHECKPOINT, EVENTS, RUNS, RunDir, TRAINER_STATE};

/// The folder, in that of a run, of a tiny new model in place of one that could not be found.
pub(super) const STAND_IN: &str = "fallback-model";
/// What a run writes before its first checkpoint.
const OWN: [&str; 3] = [STAND_IN, EVENTS, RUNS];

/// Checks that a run with these options may write to its folder: over nothing that it was not told to
/// write over, and over nothing that it reads. For before a model is loaded, which takes long.
///
/// # Errors
/// If it may not.
pub(super) fn check(dir: &RunDir, options: &RunOptions) -> Result<(), RunError> {
    check_apart(dir, Path::new(&options.model), options.adapter.as_deref())?;
    Ok(dir.check_free(CHECKPOINT, &OWN[1..])?)
}

/// The same for a run whose model is in the folder `model`, and that may have made a stand-in.
pub(super) fn check_again(
    dir: &RunDir,
    model: &Path,
    adapter: Option<&Path>,
) -> Result<(), RunError> {
    check_apart(dir, model, adapter)?;
    Ok(dir.check_free(CHECKPOINT, &OWN)?)
}

/// A run that is resumed has begun here, whatever it read.
fn check_apart(dir: &RunDir, model: &Path, adapter: Option<&Path>) -> Result<(), RunError> {
    let Ok(output) = dir.path.canonicalize() else {
        return Ok(());
    };
    for (option, input) in [("--model", Some(model)), ("--adapter", adapter)] {
        let input = input.and_then(|input| input.canonicalize().ok());
        if !dir.resume && input.is_some_and(|input| input == output) {
            let folder = dir.path.clone();
            return Err(RunError::Input { folder, option });
        }
    }
    Ok(())
}

/// Removes what an earlier run left and a new one over it does not write at once: its checkpoint, the
/// other of model and adapter, which transformers would follow, and companions that the model in
/// `source` does not have. Where no run was, nothing is touched.
pub(super) fn clear(dir: &RunDir, adapter: bool, source: &Path) -> Result<(), RunError> {
    let marks = [CHECKPOINT, TRAINER_STATE];
    let was_run = marks.iter().any(|name| dir.path.join(name).is_file());
    if dir.resume || !dir.force || !was_run {
        return Ok(());
    }
    let other = if adapter { MODEL_FILES } else { ADAPTER_FILES };
    let foreign = COMPANIONS.into_iter();
    let foreign = foreign.filter(|name| !source.join(name).is_file());
    let names = [CHECKPOINT].into_iter().chain(other).chain(foreign);
    Ok(dir.remove(names)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A run that was started anew and killed at once must not go on as the one before it.
    #[test]
    fn the_checkpoint_of_the_run_before_is_gone() -> Result<(), Box<dyn std::error::Error>> {
        let folder = tempfile::tempdir()?;
        let checkpoint = folder.path().join(CHECKPOINT);
        for (force, resume, left) in [(false, true, true), (true, false, false)] {
            std::fs::write(&checkpoint, "a run")?;
            let dir = RunDir {
                path: folder.path().to_owned(),
                resume,
                force,
            };
            clear(&dir, false, folder.path())?;
            assert_eq!(checkpoint.exists(), left);
        }
        Ok(())
    }
}
