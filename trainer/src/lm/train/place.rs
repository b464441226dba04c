//! The folder of a run: what may be in it before the run begins, and what of it has to go.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::checkpoint;
use super::error::RunError;
use super::options::RunOptions;
use super::outputs;
use crate::files;
use crate::lm::LmError;
use crate::lm::lora::{ADAPTER_FILES, COMPANIONS};
use crate::lm::model::MODEL_FILES;

/// The folder, in that of a run, of a tiny new model in place of one that could not be found.
pub(super) const STAND_IN: &str = "fallback-model";

/// Where a run lives, and what may be there already.
#[derive(Clone, Debug)]
pub struct Place {
    /// Its folder; made when it is missing.
    pub folder: PathBuf,
    /// Go on from the checkpoint that is there.
    pub resume: bool,
    /// Start anew over the run that is there.
    pub force: bool,
}

impl Place {
    /// Sees whether a run with these options may write here: over nothing that it was not told to
    /// write over, and over nothing that it reads. For before a model is loaded, which takes long.
    ///
    /// # Errors
    /// If it may not.
    pub fn check(&self, options: &RunOptions) -> Result<(), RunError> {
        self.check_apart(Path::new(&options.model), options.adapter.as_deref())?;
        self.check_free(&[])
    }

    /// The same for a run whose model is in the folder `model`, and that may have made a stand-in.
    pub(super) fn check_again(&self, model: &Path, adapter: Option<&Path>) -> Result<(), RunError> {
        self.check_apart(model, adapter)?;
        self.check_free(&[STAND_IN])
    }

    /// A run that goes on has begun here, whatever it read.
    fn check_apart(&self, model: &Path, adapter: Option<&Path>) -> Result<(), RunError> {
        let Ok(output) = self.folder.canonicalize() else {
            return Ok(());
        };
        for (option, input) in [("--model", Some(model)), ("--adapter", adapter)] {
            let input = input.and_then(|input| input.canonicalize().ok());
            if !self.resume && input.is_some_and(|input| input == output) {
                let folder = self.folder.clone();
                return Err(RunError::Input { folder, option });
            }
        }
        Ok(())
    }

    fn check_free(&self, except: &[&str]) -> Result<(), RunError> {
        if self.resume || self.force || !files::is_occupied(&self.folder, except) {
            return Ok(());
        }
        let folder = self.folder.clone();
        Err(if folder.join(checkpoint::NAME).exists() {
            RunError::Taken(folder)
        } else {
            RunError::Occupied(folder)
        })
    }

    /// Takes away what an earlier run left and a new one over it does not write at once: its checkpoint,
    /// which --resume would take for the new one's; the other of model and adapter, which transformers would follow, and companions that the model in `source` does
    /// not have. Where no run was, nothing is touched.
    pub(super) fn clear(&self, adapter: bool, source: &Path) -> Result<(), RunError> {
        let marks = [checkpoint::NAME, outputs::STATE];
        let was_run = marks.iter().any(|name| self.folder.join(name).is_file());
        if self.resume || !self.force || !was_run {
            return Ok(());
        }
        let other = if adapter { MODEL_FILES } else { ADAPTER_FILES };
        let foreign = COMPANIONS.into_iter();
        let foreign = foreign.filter(|name| !source.join(name).is_file());
        for name in [checkpoint::NAME].into_iter().chain(other).chain(foreign) {
            let path = self.folder.join(name);
            match std::fs::remove_file(&path) {
                Err(error) if error.kind() != ErrorKind::NotFound => {
                    return Err(LmError::write(&path, error).into());
                }
                _ => {}
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A run that was started anew and killed at once must not go on as the one before it.
    #[test]
    fn the_checkpoint_of_the_run_before_is_gone() -> Result<(), Box<dyn std::error::Error>> {
        let folder = tempfile::tempdir()?;
        let checkpoint = folder.path().join(checkpoint::NAME);
        for (force, resume, left) in [(false, true, true), (true, false, false)] {
            std::fs::write(&checkpoint, "a run")?;
            let place = Place {
                folder: folder.path().to_owned(),
                resume,
                force,
            };
            place.clear(false, folder.path())?;
            assert_eq!(checkpoint.exists(), left);
        }
        Ok(())
    }
}
