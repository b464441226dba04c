//! Where recorded data lies: `testdata/` of the repository, or the folder that
//! `SENTINEL_TESTDATA` names, of the same layout.

use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// The folder with recorded data.
#[must_use]
pub fn folder() -> PathBuf {
    std::env::var_os("SENTINEL_TESTDATA").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata"),
        PathBuf::from,
    )
}

/// All `.jsonl` and `.jsonl.gz` files in a subfolder, by name. Empty when there is none.
///
/// # Errors
/// If the folder cannot be read.
pub fn files(subfolder: &str) -> Result<Vec<PathBuf>> {
    let folder = folder().join(subfolder);
    if !folder.exists() {
        return Ok(Vec::new());
    }
    let mut files = Vec::new();
    for entry in folder
        .read_dir()
        .with_context(|| format!("reading {}", folder.display()))?
    {
        let path = entry?.path();
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        if name.ends_with(".jsonl") || name.ends_with(".jsonl.gz") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// The text of a file, decompressed when its name ends in `.gz`.
///
/// # Errors
/// If it cannot be read or is not UTF-8.
pub fn read(path: &Path) -> Result<String> {
    let context = || format!("reading {}", path.display());
    let mut text = String::new();
    let mut file = std::fs::File::open(path).with_context(context)?;
    if path.extension().is_some_and(|e| e == "gz") {
        flate2::read::GzDecoder::new(file)
            .read_to_string(&mut text)
            .with_context(context)?;
    } else {
        file.read_to_string(&mut text).with_context(context)?;
    }
    Ok(text)
}
