//! The layout of Hugging Face's cache.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::vocabulary_files::VOCABULARY_FILES;

const WEIGHTS: &str = "model.safetensors";
const INDEX: &str = "model.safetensors.index.json";
/// Files that change what a model reads and where it stops, and that not every repository has.
const OPTIONAL: [&str; 5] = [
    "generation_config.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "chat_template.jinja",
];
const ADAPTER: [&str; 2] = ["adapter_config.json", "adapter_model.safetensors"];

/// The cached state of a repository.
pub(super) enum CacheState {
    /// The repository is not in the cache.
    Nothing,
    /// An interrupted download; holds the names of the missing files.
    Part(Vec<String>),
    /// A model that can be read, of which it is not known whether the repository has more files, such as a
    /// chat template: another program downloaded only the files that it needed.
    Usable(PathBuf),
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
    let is_unknown = |name: &&str| !found.join(name).is_file() && !mark(&found, name).is_file();
    if !missing.is_empty() {
        CacheState::Part(missing)
    } else if found.join("config.json").is_file() && OPTIONAL.iter().any(is_unknown) {
        CacheState::Usable(found)
    } else {
        CacheState::Whole(found)
    }
}

/// Returns the path of the mark that the repository of a snapshot does not have a file, as huggingface_hub
/// leaves it.
fn mark(snapshot: &Path, name: &str) -> PathBuf {
    let commit = snapshot.file_name().unwrap_or_default();
    let repository = snapshot.ancestors().nth(2).unwrap_or(snapshot);
    repository.join(".no_exist").join(commit).join(name)
}

/// Marks the optional files that are not among `files`, all that a snapshot's commit has, as absent from the
/// repository, so that it is not asked for them again. Other programs obey the marks.
pub(super) fn mark_absent(snapshot: &Path, files: &[String]) {
    let is_absent = |name: &&&str| !files.iter().any(|file| file == **name);
    for name in OPTIONAL.iter().filter(is_absent) {
        let mark = mark(snapshot, name);
        // Without the mark, the repository is asked again the next time.
        let _ = mark.parent().map(std::fs::create_dir_all);
        let _ = std::fs::write(mark, "");
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
    if absent(&VOCABULARY_FILES).is_empty() {
        missing.retain(|name| name != "tokenizer.json");
    }
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
