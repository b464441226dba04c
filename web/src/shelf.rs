//! The replay files that the page knows: from `replays/manifest.json`, and dropped by the person.

use std::collections::BTreeMap;
use std::sync::Arc;

use sentinel_policy::replay::Replay;
use serde::Deserialize;

/// The largest file that the page reads at once.
pub const FILE_MAX: f64 = 32.0 * 1024.0 * 1024.0;

/// Where a replay file stands.
#[derive(Clone, Debug)]
pub enum Entry {
    /// Being fetched.
    Loading,
    /// Read; lines that did not fit are named inside.
    Ready(Arc<Replay>),
    /// Could not be had, and why.
    Failed(String),
}

/// What `replays/manifest.json` says of a file, as far as the page needs it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Listed {
    /// Name within `replays/`.
    pub file: String,
    /// Who acted.
    #[serde(default)]
    pub policy: String,
    /// How the streams were seeded.
    #[serde(default)]
    pub streams: String,
}

#[derive(Deserialize)]
struct Manifest {
    files: Vec<Listed>,
}

/// All replay files.
#[derive(Clone, Debug, Default)]
pub struct Shelf {
    /// Names in the order of the manifest, then as dropped.
    pub listed: Vec<Listed>,
    /// Content, by name without `.jsonl`.
    pub entries: BTreeMap<String, Entry>,
}

impl Shelf {
    /// The replay called `name`, once it is there.
    #[must_use]
    pub fn ready(&self, name: &str) -> Option<Arc<Replay>> {
        match self.entries.get(name)? {
            Entry::Ready(replay) => Some(Arc::clone(replay)),
            Entry::Loading | Entry::Failed(_) => None,
        }
    }

    /// Names for a menu, without `.jsonl`.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.listed.iter().map(|listed| stem(&listed.file))
    }

    /// Adds a file that the person dropped.
    pub fn add(&mut self, name: &str, replay: Replay) {
        if !self.names().any(|known| known == name) {
            let (policy, streams) = (String::new(), String::new());
            self.listed.push(Listed {
                file: format!("{name}.jsonl"),
                policy,
                streams,
            });
        }
        self.entries
            .insert(name.to_owned(), Entry::Ready(Arc::new(replay)));
    }
}

/// Reads a manifest.
///
/// # Errors
/// If it is not JSON of the manifest's form; says where.
pub fn parse_manifest(text: &str) -> Result<Vec<Listed>, String> {
    let manifest: Manifest = serde_json::from_str(text).map_err(|e| e.to_string())?;
    Ok(manifest.files)
}

/// A file's name without `.jsonl`, with only the letters that an address can carry.
#[must_use]
pub fn stem(file: &str) -> &str {
    file.strip_suffix(".jsonl").unwrap_or(file)
}

/// A name for a dropped file that fits into an address.
#[must_use]
pub fn safe_stem(file: &str) -> String {
    let fits = |c: char| c.is_ascii_alphanumeric() || "-_. ".contains(c);
    let name: String = stem(file)
        .chars()
        .map(|c| if fits(c) { c } else { '_' })
        .take(80)
        .collect();
    let name = name.replace("..", "_");
    if name.is_empty() {
        "dropped".to_owned()
    } else {
        name
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::Source;

    #[test]
    fn any_file_name_becomes_a_source() {
        for file in [
            "a.jsonl",
            "../../x.jsonl",
            "",
            ".jsonl",
            "ü ö.jsonl",
            "a/b?c&d=e",
            &"x".repeat(500),
        ] {
            let id = format!("replay:{}", safe_stem(file));
            assert!(Source::parse(&id).is_some(), "{file} -> {id}");
        }
    }
}
