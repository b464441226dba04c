//! The layout of Hugging Face's cache.

use std::path::{Path, PathBuf};

/// The folder of a repository.
pub(super) fn folder(cache: &Path, repository: &str) -> PathBuf {
    cache.join(format!("models--{}", repository.replace('/', "--")))
}

/// The snapshot that a branch or tag points to, or that a commit names.
pub(super) fn snapshot(folder: &Path, revision: &str) -> Option<PathBuf> {
    let plain = |name: &str| !name.is_empty() && !name.split('/').any(|part| part == "..");
    if !plain(revision) {
        return None;
    }
    let pointed = std::fs::read_to_string(folder.join("refs").join(revision)).ok();
    let commit = pointed.as_deref().map_or(revision, str::trim);
    if !plain(commit) {
        return None;
    }
    let found = folder.join("snapshots").join(commit);
    super::is_model(&found).then_some(found)
}
