//! The folders `checkpoint-N` of a run: the model after step `N` as its users load it, the
//! trainer's state, and the checkpoint that a run can be resumed from.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use sentinel_base::{Error, files, provenance};

use super::checkpoint;
use super::dir::RunDir;
use super::names::{
    CHECKPOINT_FILE, EVENTS_FILE, SNAPSHOT_PREFIX as PREFIX, TRAINER_STATE_FILE, dir_name,
};

/// The name of a folder that is being written.
const PARTIAL: &str = ".partial-checkpoint";

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

/// The latest whole checkpoint in a run's folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LastWhole {
    /// There is no checkpoint at all.
    None,
    /// The run's own file.
    Run,
    /// That of a snapshot, because the run's own file is missing or cut off.
    Snapshot(usize),
}

/// Finds the latest whole checkpoint in a run's folder.
///
/// # Errors
/// Returns an error if there are checkpoints, but none is whole.
pub fn last_whole(run: &Path) -> Result<LastWhole, Error> {
    if !run.is_dir() {
        return Ok(LastWhole::None);
    }
    let own = run.join(CHECKPOINT_FILE);
    if checkpoint::is_whole(&own) {
        return Ok(LastWhole::Run);
    }
    let steps = steps(run)?;
    let is_whole =
        |step: &&usize| checkpoint::is_whole(&dir_path(run, **step).join(CHECKPOINT_FILE));
    match steps.iter().rev().find(is_whole) {
        Some(step) => Ok(LastWhole::Snapshot(*step)),
        None if !own.exists() && steps.is_empty() => Ok(LastWhole::None),
        None => Err(Error::invalid(
            &own,
            "neither it nor a checkpoint-N beside it is whole: start another run, or this one again with \
             --overwrite-output-dir"
                .to_owned(),
        )),
    }
}

impl RunDir {
    /// Finds the checkpoint from which the run is resumed: its last one, else the latest whole `checkpoint-N`.
    /// Without any, the run begins. Changes nothing.
    ///
    /// # Errors
    /// Returns an error if there are checkpoints, but none is whole.
    pub fn find_checkpoint(&mut self) -> Result<(), Error> {
        match last_whole(&self.path)? {
            LastWhole::None => self.resume = false,
            LastWhole::Run => {}
            LastWhole::Snapshot(step) => self.from = Some(dir_path(&self.path, step)),
        }
        Ok(())
    }
}

/// Returns the step of a snapshot that is named by its folder.
///
/// # Errors
/// Returns an error if the folder is not a snapshot of the run.
pub fn step_of(run: &Path, snapshot: &Path) -> Result<usize, Error> {
    let steps = if run.is_dir() {
        steps(run)?
    } else {
        Vec::new()
    };
    let known = steps.into_iter().find(|step| {
        let own = dir_path(run, *step).canonicalize().ok();
        own.is_some() && own == snapshot.canonicalize().ok()
    });
    known.ok_or_else(|| {
        let reason = format!("no {PREFIX}N of the run in {}", run.display());
        Error::invalid(snapshot, reason)
    })
}

/// The folder that keeps what a rewound run had after its checkpoint, until it has a new one.
const REWOUND: &str = ".rewound";
/// Names of the files that a rewind changes, and `.rewound` keeps.
const KEPT: [&str; 2] = [CHECKPOINT_FILE, EVENTS_FILE];

/// Makes the snapshot from which a run is resumed the run's last checkpoint. Call this under the run's
/// lock, after all checks, before the log is opened. What comes after it is kept until [`forget_rewound`].
///
/// # Errors
/// Returns an error if a file cannot be read or written; nothing is lost then.
pub fn rewind(dir: &RunDir) -> Result<(), Error> {
    let Some(from) = &dir.from else { return Ok(()) };
    let kept = dir.path.join(REWOUND);
    if kept.is_dir() {
        // The run was rewound before, and made no checkpoint since: what it had comes back first.
        for name in KEPT {
            copy(&kept.join(name), &dir.path.join(name))?;
        }
    } else {
        let partial = dir.path.join(PARTIAL);
        remove(&partial)?;
        files::create_folder(&partial)?;
        for name in KEPT {
            copy(&dir.path.join(name), &partial.join(name))?;
        }
        fs::rename(&partial, &kept).map_err(|source| Error::Write { path: kept, source })?;
    }
    copy(&from.join(CHECKPOINT_FILE), &dir.path.join(CHECKPOINT_FILE))
}

/// Removes what a rewound run had after the step from which it was resumed: call this once a new checkpoint
/// stands.
///
/// # Errors
/// Returns an error if something cannot be removed.
pub fn forget_rewound(dir: &RunDir, resumed: usize) -> Result<(), Error> {
    let kept = dir.path.join(REWOUND);
    if !kept.is_dir() {
        return Ok(());
    }
    for later in steps(&dir.path)?.into_iter().filter(|step| *step > resumed) {
        remove(&dir_path(&dir.path, later))?;
    }
    remove(&kept)
}

/// Copies a file, atomically; does nothing if it does not exist.
fn copy(from: &Path, to: &Path) -> Result<(), Error> {
    match fs::read(from) {
        Ok(bytes) => files::write_atomic(to, &bytes),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(source) => Err(Error::Read {
            path: from.to_owned(),
            source,
        }),
    }
}

/// Removes the snapshots of an earlier run.
///
/// # Errors
/// Returns an error if one cannot be removed.
pub fn remove_all(run: &Path) -> Result<(), Error> {
    remove(&run.join(PARTIAL))?;
    remove(&run.join(REWOUND))?;
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
        let mut dir = RunDir::new(run.path());
        let own = |name: &str| fs::read_to_string(run.path().join(name)).ok();
        files::write_atomic(&run.path().join(CHECKPOINT_FILE), b"later")?;
        files::write_atomic(&run.path().join(EVENTS_FILE), b"1\n2\n3\n")?;
        assert!(step_of(run.path(), &dir_path(run.path(), 2)).is_err());
        assert_eq!(step_of(run.path(), &dir_path(run.path(), 3))?, 3);
        // Until there is a new checkpoint, all can come back.
        for step in [3, 10] {
            dir.from = Some(dir_path(run.path(), step));
            rewind(&dir)?;
            assert_eq!(own(CHECKPOINT_FILE).as_deref(), Some("state"));
            assert_eq!(own(EVENTS_FILE).as_deref(), Some("1\n2\n3\n"));
            files::write_atomic(&run.path().join(EVENTS_FILE), b"1\n")?;
            assert_eq!(steps(run.path())?, [1, 3, 10]);
        }
        assert_eq!(
            own(".rewound/checkpoint.safetensors").as_deref(),
            Some("later")
        );
        forget_rewound(&dir, 3)?;
        assert_eq!(steps(run.path())?, [1, 3]);
        assert!(!run.path().join(REWOUND).exists());
        remove_all(run.path())?;
        assert!(steps(run.path())?.is_empty());
        assert!(run.path().join("checkpoint-9").exists());
        Ok(())
    }
}
