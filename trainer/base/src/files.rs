//! Functions that read replays, and that write files atomically.

use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::Path;

use sentinel_policy::foreign_format::ForeignFormat;
use sentinel_policy::replay::{Recordable, Replay, ReplayFile};
use tempfile::{Builder, NamedTempFile};

use crate::Error;

/// Reads a replay line by line; faults of single lines are in the replay's problems.
///
/// # Errors
/// Returns an error if the file cannot be read.
pub fn read_replay(path: &Path) -> Result<ReplayFile, Error> {
    let failed = |source| Error::Read {
        path: path.to_owned(),
        source,
    };
    let mut reader = BufReader::with_capacity(1 << 16, File::open(path).map_err(failed)?);
    let (mut file, mut line) = (ReplayFile::default(), Vec::new());
    while reader.read_until(b'\n', &mut line).map_err(failed)? > 0 {
        file.push_bytes(&line);
        line.clear();
    }
    Ok(file)
}

/// Names a file that is a git-lfs pointer or a web page by its first bytes, as a sentence with a
/// remedy; `None` for anything else.
pub fn placeholder(start: &[u8]) -> Option<String> {
    ForeignFormat::placeholder(start).map(|format| format!("it is {format}"))
}

/// Returns `true` for 0, for keys that files leave out then.
#[must_use]
pub const fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// Returns bytes, such as those of a digest, as hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Creates a folder with the folders above it.
///
/// # Errors
/// Returns an error if it cannot be created.
pub fn create_folder(folder: &Path) -> Result<(), Error> {
    std::fs::create_dir_all(folder).map_err(|source| Error::Write {
        path: folder.to_owned(),
        source,
    })
}

/// Checks that a file can be written to `path`, and that this overwrites nothing but an earlier
/// file of the same kind: a JSON object with these keys.
pub fn check_replaces(path: &Path, kind: &'static str, keys: &[&str]) -> Result<(), Error> {
    check_writable(path)?;
    if !path.exists() {
        return Ok(());
    }
    let text = std::fs::read(path).unwrap_or_default();
    let earlier = serde_json::from_slice::<serde_json::Value>(&text).ok();
    let is_ours = |v: &serde_json::Value| keys.iter().all(|key| v.get(key).is_some());
    // An empty file holds nothing that could be lost.
    if text.is_empty() || earlier.as_ref().is_some_and(is_ours) {
        Ok(())
    } else {
        let path = path.to_owned();
        Err(Error::NotReplaceable { path, kind })
    }
}

/// Reads the rows of one world.
///
/// # Errors
/// Returns an error if the file cannot be read, or all its rows are of other worlds: every step
/// would be a miss.
pub fn read_replay_of<W: Recordable>(path: &Path) -> Result<Replay<W>, Error> {
    let file = read_replay(path)?;
    let held: Vec<&str> = file.worlds().map(|replay| replay.world()).collect();
    if held.is_empty() || held.contains(&W::NAME) {
        return Ok(file.into_replay());
    }
    Err(Error::WrongWorld {
        path: path.to_owned(),
        held: held.join(" and "),
        played: W::NAME,
    })
}

/// Checks that a file can be written to `path`, before the work whose result it will hold.
///
/// # Errors
/// Returns an error if its folder is missing or it is a folder itself.
pub fn check_writable(path: &Path) -> Result<(), Error> {
    let folder = parent_folder(path);
    if !folder.is_dir() {
        return Err(Error::NoFolder {
            path: path.to_owned(),
            folder: folder.to_owned(),
        });
    }
    if path.is_dir() {
        Err(Error::IsFolder(path.to_owned()))
    } else {
        Ok(())
    }
}

/// Returns `true` if writing into a folder could destroy something: it holds entries other than
/// `except`, or is a file.
pub fn is_occupied(folder: &Path, except: &[&str]) -> bool {
    match std::fs::read_dir(folder) {
        Ok(entries) => entries
            .map(|entry| entry.map(|entry| entry.file_name()))
            .any(|name| !name.is_ok_and(|name| except.iter().any(|known| name == *known))),
        Err(_) => folder.exists(),
    }
}

/// Returns the folder of a file.
pub fn parent_folder(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// Writes a file so that others see the old content or the new one, never a part of it.
///
/// # Errors
/// Returns an error if it cannot be written; the old content then stays.
pub fn write_atomic(path: &Path, content: &[u8]) -> Result<(), Error> {
    check_writable(path)?;
    let failed = |source| Error::Write {
        path: path.to_owned(),
        source,
    };
    // A device or a pipe is written to directly; renaming would put a file in its place.
    if path.metadata().is_ok_and(|found| !found.is_file()) {
        return std::fs::write(path, content).map_err(failed);
    }
    let file = temporary(path, content)?;
    file.persist(path).map_err(|error| failed(error.error))?;
    sync_folder(path);
    Ok(())
}

/// Makes the names in the folder of `path` last through a loss of power. Some file systems cannot, and the
/// content is written anyway.
fn sync_folder(path: &Path) {
    #[cfg(unix)]
    if let Ok(folder) = File::open(parent_folder(path)) {
        let _ = folder.sync_all();
    }
    #[cfg(not(unix))]
    let _ = path;
}

/// Creates a file that must not exist yet, atomically.
///
/// # Errors
/// Returns an error if it exists, or cannot be written.
pub fn create_new(path: &Path, content: &[u8]) -> Result<(), Error> {
    check_writable(path)?;
    let file = temporary(path, content)?;
    file.persist_noclobber(path)
        .map_err(|error| match error.error.kind() {
            std::io::ErrorKind::AlreadyExists => Error::Exists(path.to_owned()),
            _ => Error::Write {
                path: path.to_owned(),
                source: error.error,
            },
        })?;
    sync_folder(path);
    Ok(())
}

/// Writes a file in pieces, atomically; overwrites an existing one only if `force` is set.
///
/// # Errors
/// Returns an error if the file exists and `force` is not set, if it cannot be written, or if
/// `pieces` fails.
pub fn write_pieces(
    path: &Path,
    force: bool,
    pieces: impl FnOnce(&mut dyn Write) -> Result<(), Error>,
) -> Result<(), Error> {
    check_writable(path)?;
    if path.exists() && !force {
        return Err(Error::Exists(path.to_owned()));
    }
    let failed = |source| Error::Write {
        path: path.to_owned(),
        source,
    };
    let mut out = BufWriter::with_capacity(1 << 16, temporary(path, &[])?);
    pieces(&mut out)?;
    let file = out.into_inner().map_err(|e| failed(e.into_error()))?;
    file.as_file().sync_all().map_err(failed)?;
    let persisted = if force {
        file.persist(path)
    } else {
        file.persist_noclobber(path)
    };
    persisted.map_err(|error| failed(error.error))?;
    sync_folder(path);
    Ok(())
}

/// Writes the content to a temporary file in the folder of `path`, which is removed when dropped.
fn temporary(path: &Path, content: &[u8]) -> Result<NamedTempFile, Error> {
    let failed = |source| Error::Write {
        path: path.to_owned(),
        source,
    };
    let mut builder = Builder::new();
    builder.prefix(".sentinel-");
    // With the permissions of a new file, not readable by the owner alone as temporary files are.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let mut file = builder.tempfile_in(parent_folder(path)).map_err(failed)?;
    file.write_all(content).map_err(failed)?;
    file.as_file().sync_all().map_err(failed)?;
    Ok(file)
}
