//! The folder of a corpus, which appears as a whole or not at all.

use std::path::Path;
use std::{fs, io};

use sentinel_base::provenance::sidecar;
use sentinel_base::{Error, files};
use sha2::{Digest as _, Sha256};

use super::summary::CorpusFile;
use super::{BuildError, Summary};

/// The rows for SFT.
pub(super) const SFT_FILE: &str = "sft.jsonl";
/// The prompts for GRPO.
pub(super) const GRPO_PROMPTS_FILE: &str = "grpo_prompts.jsonl";
/// The summary, which is written last.
const SUMMARY: &str = "summary.json";

/// Checks that a corpus can be written to a folder, before the work of making it.
///
/// # Errors
/// Returns an error if the folder holds something that must not be lost.
pub(super) fn check_output_folder(folder: &Path, overwrites: bool) -> Result<(), BuildError> {
    if !files::is_occupied(folder, &[]) {
        return Ok(());
    }
    if !is_corpus(folder) {
        return Err(BuildError::NotEmpty(folder.to_owned()));
    }
    if overwrites {
        Ok(())
    } else {
        Err(BuildError::CorpusExists(folder.to_owned()))
    }
}

/// Returns `true` if the folder holds a corpus: a summary, or the files of a replacement that was
/// interrupted before its summary.
fn is_corpus(folder: &Path) -> bool {
    let text = fs::read(folder.join(SUMMARY)).unwrap_or_default();
    let summary: Option<serde_json::Value> = serde_json::from_slice(&text).ok();
    let is_summary = summary.is_some_and(|v| v.get("format").is_some() && v.get(SFT_KEY).is_some());
    is_summary || (text.is_empty() && !files::is_occupied(folder, &names_without_summary()))
}

/// The key of the summary that names the file of rows.
const SFT_KEY: &str = "sft";

const fn names_without_summary() -> [&'static str; 3] {
    [SFT_FILE, "sft.jsonl.sentinel.json", GRPO_PROMPTS_FILE]
}

/// Returns the description of a file with these lines.
pub(super) fn describe_file(file: &'static str, lines: &[String]) -> CorpusFile {
    let mut hash = Sha256::new();
    for line in lines {
        hash.update(line);
        hash.update("\n");
    }
    CorpusFile {
        file,
        rows: lines.len() as u64,
        sha256: files::hex(&hash.finalize()),
    }
}

/// Writes the corpus. A new folder is renamed into its place when it is complete. Over an earlier
/// corpus, each file is replaced as a whole, the old summary is removed first and the new one is
/// written last.
///
/// # Errors
/// Returns an error if the folder cannot be written; a new one then does not exist.
pub(super) fn write(
    folder: &Path,
    sft: &[String],
    prompts: &[String],
    summary: &Summary,
) -> Result<(), Error> {
    let failed = |source: io::Error| Error::Write {
        path: folder.to_owned(),
        source,
    };
    if files::is_occupied(folder, &[]) {
        match fs::remove_file(folder.join(SUMMARY)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
            _ => return write_files(folder, sft, prompts, summary),
        }
    }
    let parent = files::parent_folder(folder);
    fs::create_dir_all(parent).map_err(failed)?;
    let mut builder = tempfile::Builder::new();
    builder.prefix(".sentinel-corpus-");
    // With the permissions of a new folder, not readable by the owner alone.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o777));
    let made = builder.tempdir_in(parent).map_err(failed)?;
    write_files(made.path(), sft, prompts, summary)?;
    if folder.exists() {
        fs::remove_dir(folder).map_err(failed)?;
    }
    fs::rename(made.path(), folder).map_err(failed)?;
    // Nothing is left at the temporary path that could be removed.
    let _ = made.keep();
    Ok(())
}

fn write_files(
    folder: &Path,
    sft: &[String],
    prompts: &[String],
    summary: &Summary,
) -> Result<(), Error> {
    for (name, lines) in [(SFT_FILE, sft), (GRPO_PROMPTS_FILE, prompts)] {
        let path = folder.join(name);
        files::write_pieces(&path, true, |out| {
            for line in lines {
                writeln!(out, "{line}").map_err(|source| Error::Write {
                    path: path.clone(),
                    source,
                })?;
            }
            Ok(())
        })?;
    }
    // Training inherits the fallbacks of the corpus from this file.
    summary.provenance.write_sidecar(&folder.join(SFT_FILE))?;
    debug_assert_eq!(
        sidecar(Path::new(SFT_FILE)),
        Path::new("sft.jsonl.sentinel.json")
    );
    let text = serde_json::to_string_pretty(summary)? + "\n";
    files::write_atomic(&folder.join(SUMMARY), text.as_bytes())
}
