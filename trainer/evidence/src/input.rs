//! Reading the files that evidence is made from. A fault names the file and the command that makes
//! it.

use std::path::{Path, PathBuf};

use sentinel_base::Error;
use sentinel_policy::python_json;
use serde::de::DeserializeOwned;

use super::charts::ChartError;

/// The reason why evidence cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum EvidenceError {
    /// An input is missing.
    #[error("{} does not exist: make {what} with `{command}`", path.display())]
    Missing {
        /// The path of the file.
        path: PathBuf,
        /// The kind of file.
        what: &'static str,
        /// The command that makes it.
        command: &'static str,
    },
    /// An input is truncated, or of another kind.
    #[error("{} is not {what}: {reason}; make it again with `{command}`", path.display())]
    Invalid {
        /// The path of the file.
        path: PathBuf,
        /// The kind of file.
        what: &'static str,
        /// The fault of the file.
        reason: String,
        /// The command that makes it.
        command: &'static str,
    },
    /// An input holds no episode.
    #[error("{} holds no episode: play at least one with `{command}`", path.display())]
    NoEpisodes {
        /// The path of the file.
        path: PathBuf,
        /// The command that makes it.
        command: &'static str,
    },
    /// Inputs do not fit together, or lack what a chart needs.
    #[error("{0}")]
    Unfit(String),
    /// A chart cannot be drawn.
    #[error(transparent)]
    Chart(#[from] ChartError),
    /// A file or an option is invalid.
    #[error(transparent)]
    File(#[from] Error),
}

/// A kind of file that evidence is made from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InputKind {
    /// The name with an article, such as "an evaluation".
    pub(crate) what: &'static str,
    /// The command that makes such a file.
    pub(crate) command: &'static str,
}

impl InputKind {
    /// Reads a JSON file of this kind.
    pub(crate) fn read<T: DeserializeOwned>(self, path: &Path) -> Result<T, EvidenceError> {
        self.read_with(path, |bytes| serde_json::from_slice(bytes))
    }

    /// Reads a `trainer_state.json`. Numbers that are not finite are read as `null`.
    pub(crate) fn read_trainer_state<T: DeserializeOwned>(
        self,
        path: &Path,
    ) -> Result<T, EvidenceError> {
        self.read_with(path, python_json::from_slice)
    }

    fn read_with<T>(
        self,
        path: &Path,
        parse: impl FnOnce(&[u8]) -> Result<T, serde_json::Error>,
    ) -> Result<T, EvidenceError> {
        let text = match std::fs::read(path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Err(EvidenceError::Missing {
                    path: path.to_owned(),
                    what: self.what,
                    command: self.command,
                });
            }
            Err(source) => {
                let path = path.to_owned();
                return Err(Error::Read { path, source }.into());
            }
        };
        parse(&text).map_err(|error| {
            let reason = if error.is_eof() {
                "the file ends too early".to_owned()
            } else {
                error.to_string()
            };
            self.invalid(path, reason)
        })
    }

    /// Returns the error of a file that is not of this kind.
    pub(crate) fn invalid(self, path: &Path, reason: impl Into<String>) -> EvidenceError {
        EvidenceError::Invalid {
            path: path.to_owned(),
            what: self.what,
            reason: reason.into(),
            command: self.command,
        }
    }
}

/// Returns the JSON files of a folder whose names begin with `prefix`, sorted.
pub(crate) fn json_files(folder: &Path, prefix: &str) -> Result<Vec<PathBuf>, Error> {
    let failed = |source| Error::Read {
        path: folder.to_owned(),
        source,
    };
    let mut found = Vec::new();
    for entry in folder.read_dir().map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let name = path
            .file_name()
            .map(|name| name.to_string_lossy().into_owned());
        let fits = name.is_some_and(|name| name.starts_with(prefix) && name.ends_with(".json"));
        if fits && path.is_file() {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}
