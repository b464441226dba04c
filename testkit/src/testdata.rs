//! Where recorded data lies: `testdata/` of the repository, or the folder that
//! `SENTINEL_TESTDATA` names, of the same layout.

use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use flate2::read::MultiGzDecoder;

/// The variable that names other recorded data of the same layout.
pub const VARIABLE: &str = "SENTINEL_TESTDATA";
/// The golden files that the repository must hold, and how many rows of each are compared.
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
    /// Other people's data need not hold every file; ours must.
    pub ours: bool,
}

impl TestData {
    /// The folder in [`VARIABLE`], else the repository's own. A relative path starts at the
    /// repository's root, where the tests are started, not in the package where they run.
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

    /// Data in `folder`, of which nothing is expected.
    #[must_use]
    pub const fn other(folder: PathBuf) -> Self {
        Self {
            folder,
            ours: false,
        }
    }

    /// The golden files, each with its name (without endings) and text, in the order of their names.
    ///
    /// # Errors
    /// When one of ours is missing, or none is there, or one cannot be read.
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

    /// The digest lists, each with its name and text, in the order of their names.
    ///
    /// # Errors
    /// When ours are missing, or one cannot be read.
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

/// The entries of a folder in the order of their names; none when it cannot be read.
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

/// The text of a file, decompressed when its name ends in `.gz`.
fn read(file: &Path) -> Result<String> {
    let bytes = std::fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
    let mut text = String::new();
    if file.extension().is_some_and(|e| e == "gz") {
        // Several compressed parts one after the other are one file.
        MultiGzDecoder::new(bytes.as_slice())
            .read_to_string(&mut text)
            .with_context(|| format!("{} is no gzip file, or is cut off", file.display()))?;
        return Ok(text);
    }
    String::from_utf8(bytes).with_context(|| format!("{} is not text", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_data_may_hold_one_file_but_not_none() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let other = TestData::other(folder.path().into());
        assert!(other.golden().is_err());
        std::fs::create_dir(folder.path().join("golden")).expect("a folder");
        std::fs::write(folder.path().join("golden/trust.jsonl"), "{}\n").expect("a file");
        assert_eq!(other.golden().expect("one file").len(), 1);
        assert!(other.digests().expect("none is fine").is_empty());
    }
}
