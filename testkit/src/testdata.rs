//! Locates recorded data: `testdata/` of the repository, or a folder of the same layout that
//! `SENTINEL_TESTDATA` names.

use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use flate2::read::MultiGzDecoder;

/// Environment variable that names another folder of recorded data.
pub const VARIABLE: &str = "SENTINEL_TESTDATA";
/// Golden files that the repository must hold, each with the number of rows that are compared.
pub const OURS: [(&str, usize); 5] = [
    ("adaptive", 21_232),
    ("cluster", 21_067),
    ("primitives", 136),
    ("shapes", 30),
    ("trust", 5004),
];

/// A folder of recorded data.
#[derive(Debug)]
pub struct TestData {
    folder: PathBuf,
    /// `true` for the repository's own folder, which must hold every file. Other folders may be
    /// incomplete.
    pub ours: bool,
}

impl TestData {
    /// Returns the folder in [`VARIABLE`], else the repository's own. A relative path starts at the
    /// repository's root, not at the package in which the tests run.
    #[must_use]
    pub fn find() -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        match std::env::var_os(VARIABLE).filter(|folder| !folder.is_empty()) {
            Some(folder) => Self {
                folder: root.join(folder),
                ours: false,
            },
            None => Self {
                folder: root.join("testdata"),
                ours: true,
            },
        }
    }

    /// Returns a folder that may be incomplete.
    #[cfg(test)]
    const fn external(folder: PathBuf) -> Self {
        Self {
            folder,
            ours: false,
        }
    }

    /// Returns the golden files, each with its name (without endings) and text, sorted by name.
    ///
    /// # Errors
    /// If a required file is missing, if the folder holds no golden file, or if one cannot be read.
    pub fn golden(&self) -> Result<Vec<(String, String)>> {
        let folder = self.folder.join("golden");
        let mut found = Vec::new();
        for file in sorted_files(&folder) {
            let name = file.file_name().unwrap_or_default().to_string_lossy();
            let stem = name
                .strip_suffix(".gz")
                .unwrap_or(&name)
                .strip_suffix(".jsonl");
            if let Some(stem) = stem {
                found.push((stem.to_owned(), read(&file)?));
            }
        }
        let missing = |name: &str| found.iter().all(|(found, _)| found != name);
        if let Some((name, _)) = OURS.iter().find(|(name, _)| self.ours && missing(name)) {
            bail!(
                "{}/{name}.jsonl.gz is missing: restore it from git",
                folder.display()
            );
        }
        if found.is_empty() {
            bail!("{} holds no .jsonl or .jsonl.gz file", folder.display());
        }
        Ok(found)
    }

    /// Returns the digest lists, each with its name and text, sorted by name.
    ///
    /// # Errors
    /// If the repository's own lists are missing, or if one cannot be read.
    pub fn digests(&self) -> Result<Vec<(String, String)>> {
        let folder = self.folder.join("digests");
        let mut files = sorted_files(&folder);
        files.retain(|file| file.extension().is_some_and(|e| e == "json"));
        if files.is_empty() && self.ours {
            bail!(
                "{} holds no digests: `cargo xtask golden` records them",
                folder.display()
            );
        }
        let name = |file: &Path| {
            file.file_stem()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned()
        };
        files
            .iter()
            .map(|file| Ok((name(file), read(file)?)))
            .collect()
    }
}

/// Returns the entries of a folder, sorted by name; none if it cannot be read.
fn sorted_files(folder: &Path) -> Vec<PathBuf> {
    let entries = folder
        .read_dir()
        .into_iter()
        .flatten()
        .filter_map(Result::ok);
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    files.sort();
    files
}

/// Returns the text of a file, decompressed if its name ends in `.gz`.
fn read(file: &Path) -> Result<String> {
    let bytes = std::fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
    let mut text = String::new();
    if file.extension().is_some_and(|e| e == "gz") {
        // A file may consist of several compressed parts.
        MultiGzDecoder::new(bytes.as_slice())
            .read_to_string(&mut text)
            .with_context(|| format!("{} is not a gzip file, or is truncated", file.display()))?;
        return Ok(text);
    }
    String::from_utf8(bytes).with_context(|| format!("{} is not text", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_data_needs_at_least_one_golden_file() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let other = TestData::external(folder.path().into());
        assert!(other.golden().is_err());
        std::fs::create_dir(folder.path().join("golden")).expect("a folder");
        std::fs::write(folder.path().join("golden/trust.jsonl"), "{}\n").expect("a file");
        assert_eq!(other.golden().expect("one file").len(), 1);
        assert!(other.digests().expect("none is fine").is_empty());
    }
}
