//! The files that were read: their content for `data/`, and their digests.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use sentinel_base::files;
use serde::de::DeserializeOwned;
use sha2::{Digest as _, Sha256};

use crate::report::error::ReportError;
use crate::report::results::RawFile;

/// All files that were read, by input, with the bytes that were read: what is copied is what the
/// numbers come from, even if a file changes meanwhile.
#[derive(Debug, Default)]
pub(in super::super) struct Sources {
    /// The inputs: canonical path and id.
    inputs: Vec<(PathBuf, String)>,
    /// The path of the current input.
    base: PathBuf,
    files: Vec<(RawFile, Vec<u8>)>,
    /// The index in `files` by path that was read.
    known: BTreeMap<PathBuf, usize>,
}

impl Sources {
    /// Begins a new input and returns its id, which is unique.
    pub(super) fn begin(&mut self, path: &Path) -> Result<String, ReportError> {
        let canonical = path
            .canonicalize()
            .map_err(|source| ReportError::read(path, source))?;
        if self.inputs.iter().any(|(known, _)| *known == canonical) {
            return Err(ReportError::Twice(path.to_owned()));
        }
        let id = self.new_id(&canonical);
        self.inputs.push((canonical, id.clone()));
        path.clone_into(&mut self.base);
        Ok(id)
    }

    /// Returns an id from the end of a path: its last part, with parts before it where that is
    /// taken.
    fn new_id(&self, path: &Path) -> String {
        let taken = |id: &str| self.inputs.iter().any(|(_, known)| known == id);
        let parts: Vec<String> = path
            .components()
            .filter_map(|part| match part {
                Component::Normal(name) => Some(slug(&name.to_string_lossy())),
                _ => None,
            })
            .collect();
        let with_parts = (1..=parts.len()).map(|count| parts[parts.len() - count..].join("-"));
        let last = with_parts.clone().next().unwrap_or_default();
        let numbered = (2..).map(|number| format!("{last}-{number}"));
        let mut free = with_parts.chain(numbered).filter(|id| !id.is_empty());
        free.find(|id| !taken(id)).unwrap_or(last)
    }

    /// Reads a file of the current input.
    pub(super) fn read(&mut self, path: &Path) -> Result<Vec<u8>, ReportError> {
        if let Some(index) = self.known.get(path) {
            return Ok(self.files[*index].1.clone());
        }
        let bytes = std::fs::read(path).map_err(|source| ReportError::read(path, source))?;
        let raw = RawFile {
            path: self.place(path),
            source: path.display().to_string(),
            sha256: digest(&bytes),
            bytes: bytes.len() as u64,
        };
        self.known.insert(path.to_owned(), self.files.len());
        self.files.push((raw, bytes.clone()));
        Ok(bytes)
    }

    /// Reads a file that need not exist, only so that it is copied.
    pub(super) fn copy_if_there(&mut self, path: &Path) -> Result<(), ReportError> {
        if path.is_file() {
            self.read(path)?;
        }
        Ok(())
    }

    /// Returns the digest of a file that was read.
    pub(super) fn digest_of(&self, path: &Path) -> Option<&str> {
        let index = self.known.get(path)?;
        Some(&self.files[*index].0.sha256)
    }

    /// Returns the place of a file in the report's folder: `data/ID/` and its path in the input; a
    /// file from elsewhere has the name of its folder before its own.
    fn place(&self, path: &Path) -> String {
        let id = self.inputs.last().map_or("", |(_, id)| id);
        let inside: Vec<String> = match path.strip_prefix(&self.base) {
            Ok(rest) if rest.as_os_str().is_empty() => vec![name_of(path)],
            Ok(rest) => rest
                .iter()
                .map(|part| part.to_string_lossy().into_owned())
                .collect(),
            Err(_) => {
                let parts: Vec<String> = path
                    .iter()
                    .rev()
                    .take(3)
                    .map(|part| slug(&part.to_string_lossy()))
                    .filter(|part| !part.is_empty())
                    .collect();
                let folder: Vec<String> = parts.into_iter().skip(1).rev().collect();
                vec!["logs".to_owned(), folder.join("-"), name_of(path)]
            }
        };
        let place = format!("data/{id}/{}", inside.join("/"));
        let taken = |place: &String| self.files.iter().any(|(raw, _)| raw.path == *place);
        if !taken(&place) {
            return place;
        }
        let mut numbered = (2..).map(|number| format!("{place}.{number}"));
        numbered.find(|place| !taken(place)).unwrap_or(place)
    }

    /// Returns the canonical paths of all inputs.
    pub(in super::super) fn inputs(&self) -> impl Iterator<Item = &Path> {
        self.inputs.iter().map(|(path, _)| path.as_path())
    }

    /// Returns all files with their content.
    pub(in super::super) fn files(&self) -> &[(RawFile, Vec<u8>)] {
        &self.files
    }
}

/// Reads a JSON file into a type and lists it in `sources`.
pub(super) fn read_json<T: DeserializeOwned>(
    path: &Path,
    kind: &'static str,
    remedy: &str,
    sources: &mut Sources,
) -> Result<T, ReportError> {
    let bytes = sources.read(path)?;
    serde_json::from_slice(&bytes)
        .map_err(|error| ReportError::from_json(path, kind, &error, remedy))
}

/// Returns the entries of a folder, sorted by name.
pub(super) fn entries(folder: &Path) -> Result<Vec<PathBuf>, ReportError> {
    let failed = |source| ReportError::read(folder, source);
    let mut all = Vec::new();
    for entry in folder.read_dir().map_err(failed)? {
        all.push(entry.map_err(failed)?.path());
    }
    all.sort();
    Ok(all)
}

/// Returns the last part of a path as text.
pub(super) fn name_of(path: &Path) -> String {
    let name = path.file_name().map(|name| name.to_string_lossy());
    name.map_or_else(String::new, std::borrow::Cow::into_owned)
}

/// Returns a text as a part of a file name: letters, digits, `.` and `_`, with `-` in place of all
/// else.
pub(super) fn slug(text: &str) -> String {
    let plain = |c: char| {
        if c.is_ascii_alphanumeric() || c == '_' {
            c
        } else {
            '-'
        }
    };
    let stem = text.strip_suffix(".json").unwrap_or(text);
    stem.chars().map(plain).collect::<String>()
}

fn digest(bytes: &[u8]) -> String {
    files::hex(&Sha256::digest(bytes))
}
