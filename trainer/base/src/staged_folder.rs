//! A folder that takes its place as a whole, once everything in it is written.

use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::{Error, files};

/// A new folder beside the place that it will take. It is removed if it is dropped before that.
#[derive(Debug)]
pub struct StagedFolder {
    folder: TempDir,
    target: PathBuf,
}

impl StagedFolder {
    /// Checks that nothing is lost by a folder at `target` that is made from `inputs`.
    ///
    /// # Errors
    /// Returns an error if an input is `target` or lies in it, or if it is not empty and `force` is not set.
    pub fn check(target: &Path, force: bool, inputs: &[&Path]) -> Result<(), Error> {
        let whole = target.canonicalize().ok();
        for input in inputs {
            let path = input.canonicalize().ok();
            if let (Some(path), Some(whole)) = (path, &whole)
                && path.starts_with(whole)
            {
                return Err(Error::InputInside {
                    folder: target.to_owned(),
                    input: (*input).to_owned(),
                });
            }
        }
        if !force && files::is_occupied(target, &[]) {
            return Err(Error::DirNotEmpty(target.to_owned()));
        }
        Ok(())
    }

    /// Creates an empty folder that can take the place of `target`, whose folder must exist.
    ///
    /// # Errors
    /// As [`Self::check`], or if it cannot be created.
    pub fn new(target: &Path, force: bool, inputs: &[&Path]) -> Result<Self, Error> {
        Self::check(target, force, inputs)?;
        let mut builder = tempfile::Builder::new();
        builder.prefix(".sentinel-new-");
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o777));
        let folder = builder.tempdir_in(files::parent_folder(target));
        Ok(Self {
            folder: folder.map_err(|error| failed(target, error))?,
            target: target.to_owned(),
        })
    }

    /// Returns the folder to write to.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Moves the finished folder to its place, and restores what was there if that fails.
    ///
    /// # Errors
    /// Returns an error if it cannot be moved.
    pub fn commit(self) -> Result<(), Error> {
        let Self { folder, target } = self;
        swap(folder, &target).map_err(|error| failed(&target, error))
    }
}

fn failed(target: &Path, source: std::io::Error) -> Error {
    Error::Write {
        path: target.to_owned(),
        source,
    }
}

/// Moves a finished folder to `target`, and restores the previous one if that fails.
fn swap(new: TempDir, target: &Path) -> std::io::Result<()> {
    let old = target.exists().then(|| {
        let mut aside = new.path().as_os_str().to_owned();
        aside.push(".old");
        PathBuf::from(aside)
    });
    if let Some(aside) = &old {
        std::fs::rename(target, aside)?;
    }
    let path = new.keep();
    if let Err(error) = std::fs::rename(&path, target) {
        if let Some(aside) = &old {
            std::fs::rename(aside, target)?;
        }
        let _ = std::fs::remove_dir_all(&path);
        return Err(error);
    }
    match old {
        Some(aside) if aside.is_dir() => std::fs::remove_dir_all(aside),
        Some(aside) => std::fs::remove_file(aside),
        None => Ok(()),
    }
}
