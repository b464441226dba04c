//! The folders `checkpoint-N` of a run: the model after step `N` as its users load it, the
//! trainer's state, and the checkpoint that a run can be resumed from.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::dir::{CHECKPOINT_FILE, RunDir, TRAINER_STATE_FILE};
use crate::{Error, files, provenance};

/// The prefix of the folders' names, as in Hugging Face's trainer.
const PREFIX: &str = "checkpoint-";
/// The name of a folder that is being written.
const PARTIAL: &str = ".partial-checkpoint";

/// Returns the name of a step's folder in the run's folder.
#[must_use]
pub fn dir_name(step: usize) -> String {
    format!("{PREFIX}{step}")
}

/// Returns the path of a step's folder.
#[must_use]
pub fn dir_path(run: &Path, step: usize) -> PathBuf {
    run.join(dir_name(step))
}

/// Returns the steps that have a snapshot in the run's folder, in ascending order.
///
/// # Errors
/// Returns an error if the folder cannot be read.
pub fn steps(run: &Path) -> Result<Vec<usize>, Error> {
    let failed = |source| Error::Read {
        path: run.to_owned(),
        source,
    };
    let mut found = Vec::new();
    for entry in fs::read_dir(run).map_err(failed)? {
        let name = entry.map_err(failed)?.file_name();
        let step = name.to_str().and_then(|name| name.strip_prefix(PREFIX));
        let step = step.and_then(|step| step.parse::<usize>().ok());
        // A folder with such a name but no checkpoint belongs to the user.
        found.extend(step.filter(|step| dir_path(run, *step).join(CHECKPOINT_FILE).is_file()));
    }
    found.sort_unstable();
    Ok(found)
}

/// Files of the run's folder that a snapshot holds unchanged, if they exist.
const SHARED: [&str; 3] = [
    CHECKPOINT_FILE,
    TRAINER_STATE_FILE,
    provenance::PROVENANCE_FILE,
];

/// Writes the snapshot of a step atomically: `fill` writes the model, and the checkpoint in the
/// run's folder is added with the files that describe it.
///
/// # Errors
/// Returns the errors of `fill`, or an error if a file cannot be written.
pub fn create<E: From<Error>>(
    run: &Path,
    step: usize,
    fill: impl FnOnce(&Path) -> Result<(), E>,
) -> Result<(), E> {
    let (partial, target) = (run.join(PARTIAL), dir_path(run, step));
    remove(&partial)?;
    let failed = |path: &Path, source| Error::Write {
        path: path.to_owned(),
        source,
    };
    fs::create_dir_all(&partial).map_err(|source| failed(&partial, source))?;
    fill(&partial)?;
    for name in SHARED {
        let (from, to) = (run.join(name), partial.join(name));
        // Files are never changed in place, so both names can share one; some file systems cannot.
        if from.is_file() && fs::hard_link(&from, &to).is_err() {
            fs::copy(&from, &to).map_err(|source| failed(&to, source))?;
        }
    }
    remove(&target)?;
    fs::rename(&partial, &target).map_err(|source| failed(&target, source))?;
    Ok(())
}

/// Removes all snapshots but the `limit` latest ones and that of the step `best`.
///
/// # Errors
/// Returns an error if one cannot be removed.
pub fn keep_latest(run: &Path, limit: usize, best: Option<usize>) -> Result<(), Error> {
    let steps = steps(run)?;
    let surplus = steps.len().saturating_sub(limit);
    for step in steps.into_iter().take(surplus) {
        if Some(step) != best {
            remove(&dir_path(run, step))?;
        }
    }
    Ok(())
}

/// Rewinds a run to a snapshot in its folder, so that it is resumed from there: the snapshot's
/// checkpoint becomes that of the run, and later snapshots are removed.
///
/// # Errors
/// Returns an error if the folder is not a snapshot of this run, another run holds the lock, or a file
/// cannot be written.
pub fn rewind(dir: &RunDir, snapshot: &Path) -> Result<(), Error> {
    let _lock = dir.lock()?;
    let known = steps(&dir.path)?.into_iter().find(|step| {
        let own = dir_path(&dir.path, *step).canonicalize().ok();
        own.is_some() && own == snapshot.canonicalize().ok()
    });
    let Some(step) = known else {
        let reason = format!("no {PREFIX}N of the run in {}", dir.path.display());
        return Err(Error::checkpoint(snapshot, reason));
    };
    let from = snapshot.join(CHECKPOINT_FILE);
    let bytes = fs::read(&from).map_err(|source| Error::Read { path: from, source })?;
    files::write_atomic(&dir.path.join(CHECKPOINT_FILE), &bytes)?;
    for later in steps(&dir.path)?.into_iter().filter(|later| *later > step) {
        remove(&dir_path(&dir.path, later))?;
    }
    Ok(())
}

/// Removes the snapshots of an earlier run.
///
/// # Errors
/// Returns an error if one cannot be removed.
pub fn remove_all(run: &Path) -> Result<(), Error> {
    remove(&run.join(PARTIAL))?;
    steps(run)?
        .into_iter()
        .try_for_each(|step| remove(&dir_path(run, step)))
}

fn remove(folder: &Path) -> Result<(), Error> {
    match fs::remove_dir_all(folder) {
        Err(source) if source.kind() != ErrorKind::NotFound => Err(Error::Write {
            path: folder.to_owned(),
            source,
        }),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keep_latest_keeps_latest_and_best_checkpoints() -> Result<(), Error> {
        let run = tempfile::tempdir().expect("a folder");
        fs::write(run.path().join(CHECKPOINT_FILE), "state").expect("a file");
        fs::create_dir(run.path().join("checkpoint-9")).expect("somebody's own folder");
        for step in [1, 2, 3, 10] {
            create::<Error>(run.path(), step, |folder| {
                fs::write(folder.join("model"), step.to_string()).expect("a file");
                Ok(())
            })?;
            keep_latest(run.path(), 2, Some(1))?;
        }
        assert_eq!(steps(run.path())?, [1, 3, 10]);
        let state = dir_path(run.path(), 10).join(CHECKPOINT_FILE);
        assert_eq!(fs::read_to_string(state).ok().as_deref(), Some("state"));
        let dir = RunDir::new(run.path());
        files::write_atomic(&run.path().join(CHECKPOINT_FILE), b"later")?;
        assert!(rewind(&dir, &dir_path(run.path(), 2)).is_err());
        rewind(&dir, &dir_path(run.path(), 3))?;
        assert_eq!(steps(run.path())?, [1, 3]);
        let state = fs::read_to_string(run.path().join(CHECKPOINT_FILE));
        assert_eq!(state.ok().as_deref(), Some("state"));
        remove_all(run.path())?;
        assert!(steps(run.path())?.is_empty());
        assert!(run.path().join("checkpoint-9").exists());
        Ok(())
    }
}
