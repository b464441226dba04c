//! Recorded data for the checks inside wasm.

use anyhow::{Context, Result, bail};
use flate2::read::MultiGzDecoder;
use std::io::Read;
use std::path::{Path, PathBuf};

/// The golden files that the repository must hold.
const OURS: [&str; 3] = ["trust", "adaptive", "primitives"];
/// The variable that names other recorded data of the same layout.
pub const VARIABLE: &str = "SENTINEL_TESTDATA";

/// A folder of recorded data.
#[derive(Debug)]
pub struct TestData {
    folder: PathBuf,
    /// Other people's data need not hold every file; ours must.
    complete: bool,
}

impl TestData {
    /// The folder in [`VARIABLE`], else the repository's own.
    #[must_use]
    pub fn find() -> Self {
        match std::env::var_os(VARIABLE).filter(|folder| !folder.is_empty()) {
            Some(folder) => Self {
                folder: folder.into(),
                complete: false,
            },
            None => Self {
                folder: Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata"),
                complete: true,
            },
        }
    }

    /// The golden files, each with its name and text, in the order of their names.
    ///
    /// # Errors
    /// When one of ours is missing, or none is there, or one cannot be read.
    pub fn golden(&self) -> Result<Vec<(String, Vec<u8>)>> {
        let folder = self.folder.join("golden");
        let mut found = Vec::new();
        for file in sorted_files(&folder) {
            let name = file.file_name().unwrap_or_default().to_string_lossy();
            if let Some(name) = name.strip_suffix(".jsonl.gz") {
                found.push((name.to_owned(), unpack(&file)?));
            } else if let Some(name) = name.strip_suffix(".jsonl") {
                found.push((name.to_owned(), read(&file)?));
            }
        }
        let missing = |name: &&&str| found.iter().all(|(found, _)| found != **name);
        if let Some(name) = OURS.iter().find(missing).filter(|_| self.complete) {
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

    /// The digest files, each with its name and text, in the order of their names.
    ///
    /// # Errors
    /// When ours are missing, or one cannot be read.
    pub fn digests(&self) -> Result<Vec<(String, Vec<u8>)>> {
        let folder = self.folder.join("digests");
        let mut files = sorted_files(&folder);
        files.retain(|file| file.extension().is_some_and(|e| e == "json"));
        if files.is_empty() && self.complete {
            bail!(
                "{} holds no digests: `cargo xtask golden` records them",
                folder.display()
            );
        }
        files
            .iter()
            .map(|file| {
                let name = file.file_stem().unwrap_or_default().to_string_lossy();
                Ok((name.into_owned(), read(file)?))
            })
            .collect()
    }
}

/// The entries of a folder in the order of their names; none when it cannot be read.
fn sorted_files(folder: &Path) -> Vec<PathBuf> {
    let entries = folder.read_dir().into_iter().flatten();
    let mut files: Vec<PathBuf> = entries
        .filter_map(Result::ok)
        .map(|entry| entry.path())
        .collect();
    files.sort();
    files
}

fn read(file: &Path) -> Result<Vec<u8>> {
    std::fs::read(file).with_context(|| format!("cannot read {}", file.display()))
}

fn unpack(file: &Path) -> Result<Vec<u8>> {
    let packed = read(file)?;
    let mut text = Vec::new();
    MultiGzDecoder::new(packed.as_slice())
        .read_to_end(&mut text)
        .with_context(|| format!("{} is no gzip file, or is cut off", file.display()))?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_own_golden_files_are_complete() {
        let ours = TestData {
            folder: Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata"),
            complete: true,
        };
        let golden = ours.golden().expect("they are in git");
        assert!(golden.len() >= OURS.len());
        assert!(golden.iter().all(|(_, text)| text.starts_with(b"{")));
    }

    #[test]
    fn other_data_may_hold_one_file_but_not_none() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let other = TestData {
            folder: folder.path().into(),
            complete: false,
        };
        assert!(other.golden().is_err());
        std::fs::create_dir(folder.path().join("golden")).expect("a folder");
        std::fs::write(folder.path().join("golden/trust.jsonl"), "{}\n").expect("a file");
        assert_eq!(other.golden().expect("one file").len(), 1);
        assert!(other.digests().expect("none is fine").is_empty());
    }
}
