//! The folder of a run: the checks before the run begins, and the lock while it runs.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use sentinel_base::{Error, files};

use super::error::RunDirError;

/// The name of the file that is locked while the run writes to its folder.
pub const LOCK_FILE: &str = ".lock";

/// The folder of a run, and the handling of a run that it already holds.
#[derive(Clone, Debug)]
pub struct RunDir {
    /// The path of the folder, which is created if missing.
    pub path: PathBuf,
    /// `true` to resume from the checkpoint in the folder.
    pub resume: bool,
    /// `true` to overwrite the run in the folder.
    pub force: bool,
    /// The folder `checkpoint-N` of the run from which it is resumed; `None` for its last checkpoint.
    pub from: Option<PathBuf>,
}

/// The lock on a run's folder, which the system releases when the program ends for any reason.
/// Dropping it removes its file, and the folder if it was created for a run that wrote nothing.
#[derive(Debug)]
pub struct RunLock {
    path: PathBuf,
    /// The folder, if it was created with the lock.
    made: Option<PathBuf>,
    file: File,
}

impl Drop for RunLock {
    fn drop(&mut self) {
        // A lock file that stays behind is harmless.
        let _ = std::fs::remove_file(&self.path);
        let _ = self.file.unlock();
        // Only an empty folder is removed.
        if let Some(folder) = &self.made {
            let _ = std::fs::remove_dir(folder);
        }
    }
}

impl RunDir {
    /// Returns the folder of a new run.
    #[must_use]
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            resume: false,
            force: false,
            from: None,
        }
    }

    /// Returns the folder with the checkpoint from which the run is resumed.
    #[must_use]
    pub fn checkpoint_folder(&self) -> &Path {
        self.from.as_deref().unwrap_or(&self.path)
    }

    /// Checks that a run may write here without destroying other files. `marker` is the file that
    /// identifies a run; `own` are files that a run writes before it.
    ///
    /// # Errors
    /// Returns [`RunDirError::RunExists`] or [`Error::DirNotEmpty`].
    pub fn check_free(&self, marker: &str, own: &[&str]) -> Result<(), Error> {
        if self.resume || self.force {
            return Ok(());
        }
        let mut own = own.to_vec();
        own.push(LOCK_FILE);
        if self.path.join(marker).exists() {
            Err(RunDirError::RunExists(self.path.clone()).into())
        } else if files::is_occupied(&self.path, &own) {
            Err(Error::DirNotEmpty(self.path.clone()))
        } else {
            Ok(())
        }
    }

    /// Removes files and folders of an earlier run that a new one would not overwrite, such as its
    /// checkpoint, from which a resumed run would continue.
    ///
    /// # Errors
    /// Returns an error if one exists and cannot be removed.
    pub fn remove<'n>(&self, names: impl IntoIterator<Item = &'n str>) -> Result<(), Error> {
        for name in names {
            let path = self.path.join(name);
            let removed = if path.is_dir() {
                std::fs::remove_dir_all(&path)
            } else {
                std::fs::remove_file(&path)
            };
            match removed {
                Err(source) if source.kind() != ErrorKind::NotFound => {
                    return Err(Error::Write { path, source });
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Creates the folder and locks it, so that no second run writes into it.
    ///
    /// # Errors
    /// Returns [`RunDirError::RunLocked`] while another run holds the lock, or an error if the folder
    /// cannot be written.
    pub fn lock(&self) -> Result<RunLock, Error> {
        let failed = |path: &PathBuf, source| Error::Write {
            path: path.clone(),
            source,
        };
        let made = (!self.path.exists()).then(|| self.path.clone());
        std::fs::create_dir_all(&self.path).map_err(|source| failed(&self.path, source))?;
        let path = self.path.join(LOCK_FILE);
        loop {
            let mut options = OpenOptions::new();
            let file = options.create(true).truncate(false).write(true).open(&path);
            let file = file.map_err(|source| failed(&path, source))?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => {
                    return Err(RunDirError::RunLocked(self.path.clone()).into());
                }
                // Some network file systems have no locks; the user must then avoid a second run.
                Err(TryLockError::Error(error)) if error.kind() == ErrorKind::Unsupported => {}
                Err(TryLockError::Error(source)) => return Err(failed(&path, source)),
            }
            // A run that ended in between may have removed the file that was opened.
            if is_at(&file, &path) {
                return Ok(RunLock { path, made, file });
            }
        }
    }
}

/// Returns `true` if an open file is the one at `path`.
fn is_at(file: &File, path: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        let same = |(open, there): (std::fs::Metadata, std::fs::Metadata)| {
            (open.dev(), open.ino()) == (there.dev(), there.ino())
        };
        file.metadata()
            .ok()
            .zip(path.metadata().ok())
            .is_some_and(same)
    }
    #[cfg(not(unix))]
    {
        let _ = file;
        path.exists()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn run_folder_lock_is_exclusive() -> Result<(), Error> {
        let folder = tempfile::tempdir().expect("a folder");
        let dir = RunDir::new(folder.path().join("run"));
        let lock = dir.lock()?;
        let refused = |error: &Error| match error {
            Error::Other(error) => matches!(error.downcast_ref(), Some(RunDirError::RunLocked(_))),
            _ => false,
        };
        assert!(dir.lock().is_err_and(|error| refused(&error)));
        drop(lock);
        assert!(
            !dir.path.exists(),
            "nothing is left of a run that wrote nothing"
        );
        let lock = dir.lock()?;
        std::fs::write(dir.path.join("model"), "a model").expect("a file");
        drop(lock);
        assert!(dir.path.join("model").exists() && !dir.path.join(LOCK_FILE).exists());
        let occupied = dir.check_free("checkpoint", &[]);
        assert!(matches!(occupied, Err(Error::DirNotEmpty(_))));
        dir.check_free("checkpoint", &["model"])
    }
}
