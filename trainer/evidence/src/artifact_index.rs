//! The list of a folder's published files: `artifact_index.json`, with sizes, digests and links.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use sentinel_base::Error;
use sentinel_base::provenance::Provenance;
use serde::{Deserialize, Serialize};

use super::json_file::{self, report_error};

/// The name of the index in its folder.
pub const INDEX_FILE: &str = "artifact_index.json";

/// A file that is published.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IndexedFile {
    /// The path from the folder of the index, with `/` between its parts.
    pub path: String,
    /// The size in bytes.
    pub bytes: u64,
    /// The SHA-256 of the content in hexadecimal digits.
    pub sha256: String,
}

/// The list of a folder's files, with links to what is published elsewhere.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArtifactIndex {
    /// The files, sorted by path.
    pub files: Vec<IndexedFile>,
    /// Addresses by name, such as those of a model or a Space.
    #[serde(default)]
    pub links: BTreeMap<String, String>,
    /// The program that wrote the index.
    pub provenance: Provenance,
}

/// Parses a link of the form `NAME=URL`.
///
/// # Errors
/// Returns an error if it has another form, or the address is not of the web.
pub fn parse_link(text: &str) -> Result<(String, String), String> {
    let expected = || format!("{text:?} is not NAME=URL with an address that begins with https://");
    let (name, url) = text.split_once('=').ok_or_else(expected)?;
    let is_web = url.strip_prefix("https://").is_some_and(|rest| {
        let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
        !host.is_empty() && !rest.contains(|c: char| c.is_whitespace() || c.is_control())
    });
    if name.trim().is_empty() || !is_web {
        return Err(expected());
    }
    Ok((name.trim().to_owned(), url.to_owned()))
}

impl ArtifactIndex {
    /// Lists the files of a folder, its subfolders included, without the index itself and hidden
    /// files.
    ///
    /// # Errors
    /// Returns an error if the folder does not exist, holds no file, or a file cannot be read.
    pub fn from_folder(folder: &Path) -> Result<Self, Error> {
        let files = files_in(folder)?;
        let mut index = Self::default();
        for path in files {
            if path == Path::new(INDEX_FILE) {
                continue;
            }
            let whole = folder.join(&path);
            let meta = whole.metadata().map_err(|source| Error::Read {
                path: whole.clone(),
                source,
            })?;
            let parts: Vec<_> = path.iter().map(|part| part.to_string_lossy()).collect();
            index.files.push(IndexedFile {
                path: parts.join("/"),
                bytes: meta.len(),
                sha256: json_file::digest(&whole)?,
            });
        }
        if index.files.is_empty() {
            let remedy = "write results into it first, or name another folder";
            return Err(report_error(folder, "it holds no file", remedy));
        }
        Ok(index)
    }

    /// Reads an index.
    ///
    /// # Errors
    /// Returns an error if it is missing, cut off or not an index.
    pub fn load(path: &Path) -> Result<Self, Error> {
        json_file::read_json(path, "make it with `sentinel check --index DIR`")
    }

    /// Describes each file of a folder that is not as the index says.
    ///
    /// # Errors
    /// Returns an error if the folder cannot be read.
    pub fn differences(&self, folder: &Path) -> Result<Vec<String>, Error> {
        let by_path = |index: &Self| -> BTreeMap<String, String> {
            let files = index.files.iter();
            files.map(|f| (f.path.clone(), f.sha256.clone())).collect()
        };
        let (then, now) = (by_path(self), by_path(&Self::from_folder(folder)?));
        let mut all: Vec<&String> = then.keys().chain(now.keys()).collect();
        all.sort_unstable();
        all.dedup();
        let differs = all.into_iter().filter_map(|path| {
            let what = match (then.get(path), now.get(path)) {
                (Some(a), Some(b)) if a == b => return None,
                (Some(_), Some(_)) => "was changed",
                (Some(_), None) => "was deleted",
                (None, _) => "is not listed",
            };
            Some(format!("{path} {what}"))
        });
        Ok(differs.collect())
    }
}

/// Returns the paths of all files of a folder that are not hidden, from that folder, sorted.
///
/// # Errors
/// Returns an error if the folder or one in it cannot be read.
pub fn files_in(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    let mut found = Vec::new();
    let mut open = vec![PathBuf::new()];
    while let Some(below) = open.pop() {
        let whole = folder.join(&below);
        let failed = |source| Error::Read {
            path: whole.clone(),
            source,
        };
        for entry in whole.read_dir().map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let name = entry.file_name();
            if name.to_string_lossy().starts_with('.') {
                continue;
            }
            let kind = entry.file_type().map_err(failed)?;
            let path = below.join(&name);
            if kind.is_dir() {
                open.push(path);
            } else if kind.is_file() {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    type Tested = Result<(), Box<dyn std::error::Error>>;

    #[test]
    fn artifact_index_lists_files_and_detects_changes() -> Tested {
        let folder = tempfile::tempdir()?;
        let root = folder.path();
        assert!(ArtifactIndex::from_folder(root).is_err());
        assert!(ArtifactIndex::from_folder(&root.join("nowhere")).is_err());
        std::fs::create_dir(root.join("charts"))?;
        for name in ["b.json", "charts/a.svg", ".hidden", INDEX_FILE] {
            std::fs::write(root.join(name), "abc")?;
        }
        let index = ArtifactIndex::from_folder(root)?;
        let paths: Vec<&str> = index.files.iter().map(|f| f.path.as_str()).collect();
        assert_eq!(paths, ["b.json", "charts/a.svg"]);
        assert_eq!(index.files[0].bytes, 3);
        json_file::write_json(&root.join(INDEX_FILE), &index)?;
        let read = ArtifactIndex::load(&root.join(INDEX_FILE))?;
        assert_eq!(read.differences(root)?, Vec::<String>::new());
        std::fs::write(root.join("b.json"), "x")?;
        std::fs::write(root.join("c"), "x")?;
        std::fs::remove_file(root.join("charts/a.svg"))?;
        let expected = [
            "b.json was changed",
            "c is not listed",
            "charts/a.svg was deleted",
        ];
        assert_eq!(read.differences(root)?, expected);
        Ok(())
    }

    #[test]
    fn link_option_needs_name_and_https_url() {
        let good = parse_link("model=https://example.org/a=b");
        assert_eq!(
            good,
            Ok(("model".to_owned(), "https://example.org/a=b".to_owned()))
        );
        for bad in [
            "model",
            "=https://a",
            "a=http://a",
            "a=https://",
            "a=https:///x",
            "a=https://a b",
        ] {
            assert!(parse_link(bad).is_err(), "{bad}");
        }
    }
}
