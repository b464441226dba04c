//! The layout of Hugging Face's cache.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::Value;

const WEIGHTS: &str = "model.safetensors";
const INDEX: &str = "model.safetensors.index.json";
const ADAPTER: [&str; 2] = ["adapter_config.json", "adapter_model.safetensors"];

/// The cached state of a repository.
pub(super) enum CacheState {
    /// The repository is not in the cache.
    Nothing,
    /// An interrupted download; holds the names of the missing files.
    Part(Vec<String>),
    /// The folder of a complete model or adapter.
    Whole(PathBuf),
}

/// Returns the cache folder of a repository.
pub(super) fn folder(cache: &Path, repository: &str) -> PathBuf {
    cache.join(format!("models--{}", repository.replace('/', "--")))
}

/// Finds the snapshot of a branch, tag or commit.
pub(super) fn snapshot(folder: &Path, revision: &str) -> CacheState {
    let plain = |name: &str| !name.is_empty() && !name.split('/').any(|part| part == "..");
    if !plain(revision) {
        return CacheState::Nothing;
    }
    let pointed = std::fs::read_to_string(folder.join("refs").join(revision)).ok();
    let commit = pointed.as_deref().map_or(revision, str::trim);
    if !plain(commit) {
        return CacheState::Nothing;
    }
    let found = folder.join("snapshots").join(commit);
    if !found.is_dir() {
        return CacheState::Nothing;
    }
    let missing = missing(&found);
    if missing.is_empty() {
        CacheState::Whole(found)
    } else {
        CacheState::Part(missing)
    }
}

/// Lists the files that a snapshot lacks. Files are added one at a time, each when complete; the
/// configuration and index files, which name the others, come first.
fn missing(snapshot: &Path) -> Vec<String> {
    let absent = |names: &[&str]| -> Vec<String> {
        let absent = names.iter().filter(|name| !snapshot.join(name).is_file());
        absent.map(|name| (*name).to_owned()).collect()
    };
    let adapter = absent(&ADAPTER);
    let of_adapter = snapshot.join(ADAPTER[0]).is_file() && !snapshot.join("config.json").is_file();
    if adapter.is_empty() || of_adapter {
        return adapter;
    }
    let mut missing = absent(&["config.json", "tokenizer.json"]);
    if !snapshot.join(WEIGHTS).is_file() {
        match shards(&snapshot.join(INDEX)) {
            Some(shards) => {
                let shards: Vec<&str> = shards.iter().map(String::as_str).collect();
                missing.extend(absent(&shards));
            }
            None => missing.push(WEIGHTS.to_owned()),
        }
    }
    missing
}

/// Returns the names of the files that an index of shards lists.
fn shards(index: &Path) -> Option<BTreeSet<String>> {
    let index: Value = serde_json::from_slice(&std::fs::read(index).ok()?).ok()?;
    let names = index.get("weight_map")?.as_object()?.values();
    names.map(|name| name.as_str().map(str::to_owned)).collect()
}
