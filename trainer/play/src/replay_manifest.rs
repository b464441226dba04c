//! The `manifest.json` of a folder of replays: the contents and origin of each file.
//!
//! Everything but the command, the model, the commit and the provenance is recomputed from the
//! files, so the list can be rebuilt at any time. These are kept as long as the file holds what the
//! command made.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use sentinel_base::provenance::Provenance;
use sentinel_base::{Error, files};
use sentinel_env::num::round_to;
use sentinel_policy::replay::{ReplayFile, Verification};
use serde::{Deserialize, Serialize};

use crate::error::PlayError;
use crate::verify::{CompletionCounts, verify_all};

/// The name of the manifest in its folder.
pub const MANIFEST_FILE: &str = "manifest.json";

/// The number of digits of a commit in a manifest.
const COMMIT_DIGITS: usize = 12;

/// The configuration of `sentinel replay manifest`.
#[derive(Clone, Debug, clap::Args)]
pub struct ManifestConfig {
    /// The folder with replays; its manifest.json is rewritten
    #[arg(value_name = "FOLDER")]
    pub folder: PathBuf,
    /// Write nothing; fail if the manifest differs from what would be written
    #[arg(long)]
    pub check: bool,
}

/// The list of a folder's replays.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// The entries, one for each `.jsonl` file, sorted by name.
    pub files: Vec<ReplayEntry>,
}

fn reference() -> String {
    "reference".to_owned()
}

fn is_reference(rules: &str) -> bool {
    rules == "reference"
}

/// The seeds of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReplaySeeds {
    /// The smallest seed that occurs.
    pub first: u64,
    /// The largest seed that occurs.
    pub last: u64,
    /// The number of distinct seeds.
    pub count: usize,
}

/// The entry of one replay.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReplayEntry {
    /// The file's name in the manifest's folder.
    pub file: String,
    /// The name of the world.
    pub world: String,
    /// The players of the rows: their `model_source`.
    pub policy: String,
    /// The name of the stream mode.
    pub streams: String,
    /// The name of the rules; left out for the reference's.
    #[serde(default = "reference", skip_serializing_if = "is_reference")]
    pub rules: String,
    /// The command that made the file, if that command listed it.
    pub command: Option<String>,
    /// The folder, or name on the Hub, of the model that acted, if one did and the command listed
    /// the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The commit of the program that ran the command, if known.
    pub git_commit: Option<String>,
    /// The digests of the model that acted, and its fallbacks, if the command listed the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provenance: Option<Provenance>,
    /// The names of the tasks played.
    pub tasks: Vec<String>,
    /// The range of the seeds played.
    pub seeds: ReplaySeeds,
    /// The number of episodes.
    pub episodes: usize,
    /// The number of rows.
    pub rows: usize,
    /// The number of lines that cannot be used; 0 in a valid file.
    pub problems: usize,
    /// The number of steps without a row; 0 in a valid file.
    pub misses: usize,
    /// The number of rows that no step reaches, that are of another scenario, or whose text does
    /// not fit; 0 in a valid file.
    pub misfits: usize,
    /// The number of rows whose completion was not an action, so that the replay's fallback acted;
    /// left out for 0.
    #[serde(default, skip_serializing_if = "sentinel_base::is_zero")]
    pub fallbacks: usize,
    /// The digest of all trajectories.
    pub digest: String,
    /// The recomputed mean scores, overall and by task.
    pub scores: BTreeMap<String, f64>,
}

impl ReplayEntry {
    /// Returns `true` if every line was used and every action was recorded.
    #[must_use]
    pub const fn fits(&self) -> bool {
        self.problems == 0 && self.misses == 0 && self.misfits == 0
    }

    /// Plays a replay again and describes it.
    fn read(path: &Path) -> Result<Self, Error> {
        let replay = files::read_replay(path)?;
        let verification = verify_all(replay.worlds(), &|| {});
        let unlisted = |reason| {
            Error::from(PlayError::CannotList {
                path: path.to_owned(),
                reason,
            })
        };
        let Some(first) = verification.episodes.first() else {
            return Err(unlisted(
                "it holds no row that can be played, remove it or record it again",
            ));
        };
        let first = &first.id;
        let ids = || verification.episodes.iter().map(|e| &e.id);
        if ids().any(|id| id.world != first.world) {
            return Err(unlisted(
                "it holds several worlds, put each into a file of its own",
            ));
        }
        if ids().any(|id| id.streams != first.streams) {
            return Err(unlisted(
                "it holds both stream modes, put each into a file of its own",
            ));
        }
        if ids().any(|id| id.rules != first.rules) {
            return Err(unlisted(
                "it holds several rules, put each into a file of its own",
            ));
        }
        let mut scores: BTreeMap<String, f64> = verification
            .means
            .iter()
            .map(|m| (m.task.to_owned(), m.score))
            .collect();
        scores.insert("overall".to_owned(), round_to(verification.score, 4));
        Ok(Self {
            file: file_name(path),
            world: first.world.to_owned(),
            policy: policies(&replay),
            streams: first.streams.name().to_owned(),
            rules: first.rules().to_owned(),
            command: None,
            model: None,
            git_commit: None,
            provenance: None,
            tasks: verification
                .means
                .iter()
                .map(|m| m.task.to_owned())
                .collect(),
            seeds: seeds(&verification),
            episodes: verification.episode_count,
            rows: replay.row_count(),
            problems: replay.problem_count(),
            misses: verification.misses,
            misfits: verification.unused + verification.mismatches + verification.texts,
            fallbacks: CompletionCounts::count(replay.worlds()).map_or(0, |words| words.fallbacks),
            digest: verification.digest.to_string(),
            scores,
        })
    }

    /// Copies the file's origin from an older entry if the content of the file is unchanged.
    fn keep_origin(&mut self, older: &Manifest) {
        let same = |old: &&Self| {
            (&old.file, &old.digest, &old.policy) == (&self.file, &self.digest, &self.policy)
        };
        if let Some(old) = older.files.iter().find(same) {
            self.command.clone_from(&old.command);
            self.model.clone_from(&old.model);
            self.git_commit.clone_from(&old.git_commit);
            self.provenance.clone_from(&old.provenance);
        }
    }
}

fn file_name(path: &Path) -> String {
    path.file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}

fn policies(file: &ReplayFile) -> String {
    let mut names = BTreeSet::new();
    for replay in file.worlds() {
        replay.visit_rows(&mut |name, _| {
            names.insert(name.to_owned());
        });
    }
    let names: Vec<String> = names.into_iter().collect();
    names.join(", ")
}

fn seeds(verification: &Verification) -> ReplaySeeds {
    let mut seeds: Vec<u64> = verification.episodes.iter().map(|e| e.id.seed).collect();
    seeds.sort_unstable();
    seeds.dedup();
    let (first, last) = (seeds.first().copied(), seeds.last().copied());
    ReplaySeeds {
        first: first.unwrap_or(0),
        last: last.unwrap_or(0),
        count: seeds.len(),
    }
}

impl Manifest {
    /// Reads a manifest; an empty one if the file does not exist.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read or is something else.
    pub fn load(path: &Path) -> Result<Self, Error> {
        if !path.exists() {
            return Ok(Self::default());
        }
        let failed = |source| Error::Read {
            path: path.to_owned(),
            source,
        };
        let text = std::fs::read_to_string(path).map_err(failed)?;
        let failed = |e: serde_json::Error| PlayError::Manifest {
            path: path.to_owned(),
            reason: e.to_string(),
        };
        Ok(serde_json::from_str(&text).map_err(failed)?)
    }

    /// Describes every `.jsonl` file of a folder, with the origins that `older` recorded.
    ///
    /// # Errors
    /// Returns an error if the folder or a file cannot be read, or a file cannot be listed.
    pub fn from_folder(folder: &Path, older: &Self) -> Result<Self, Error> {
        let failed = |source| Error::Read {
            path: folder.to_owned(),
            source,
        };
        let mut paths = Vec::new();
        for entry in folder.read_dir().map_err(failed)? {
            let path = entry.map_err(failed)?.path();
            if path.extension().is_some_and(|e| e == "jsonl") && path.is_file() {
                paths.push(path);
            }
        }
        paths.sort();
        let mut files = Vec::new();
        for path in paths {
            let mut entry = ReplayEntry::read(&path)?;
            entry.keep_origin(older);
            files.push(entry);
        }
        Ok(Self { files })
    }

    /// Returns the file's text as JSON.
    ///
    /// # Errors
    /// Returns the error of serialization, which a manifest does not cause.
    pub fn to_json(&self) -> Result<String, Error> {
        let mut text = serde_json::to_string_pretty(self)?;
        text.push('\n');
        Ok(text)
    }
}

/// Checks that a replay can be listed in a manifest, before it is recorded.
pub fn check_can_list(manifest: &Path, replay: &Path) -> Result<(), Error> {
    files::check_writable(manifest)?;
    let place = |path: &Path| files::parent_folder(path).canonicalize().ok();
    let unlisted = |reason| {
        Err(Error::from(PlayError::CannotList {
            path: replay.to_owned(),
            reason,
        }))
    };
    if place(manifest) != place(replay) {
        return unlisted("the manifest must lie in the folder of the replay");
    }
    if replay.extension().is_none_or(|e| e != "jsonl") {
        return unlisted("the name of a listed replay ends in .jsonl");
    }
    Manifest::load(manifest).map(|_| ())
}

/// Lists a replay that `command` just made, with the folder of the model that acted, if any, and
/// its provenance.
pub fn add_replay(
    manifest: &Path,
    replay: &Path,
    command: &str,
    model: Option<&Path>,
    provenance: Provenance,
) -> Result<(), Error> {
    let mut list = Manifest::load(manifest)?;
    let mut entry = ReplayEntry::read(replay)?;
    entry.command = Some(command.to_owned());
    entry.model = model.map(|folder| folder.display().to_string());
    entry.git_commit = git_commit(&provenance.commit);
    entry.provenance = Some(provenance);
    list.files.retain(|old| old.file != entry.file);
    list.files.push(entry);
    list.files.sort_by(|a, b| a.file.cmp(&b.file));
    files::write_atomic(manifest, list.to_json()?.as_bytes())
}

/// Returns the first digits of the program's commit, as a manifest stores it.
fn git_commit(commit: &str) -> Option<String> {
    let digits = commit.get(..COMMIT_DIGITS)?;
    let dirty = commit.strip_suffix("-dirty").map_or("", |_| "-dirty");
    Some(format!("{digits}{dirty}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn git_commit_is_shortened_and_keeps_dirty_suffix() {
        let commit = "0123456789abcdef0123456789abcdef01234567";
        assert_eq!(git_commit(commit).as_deref(), Some("0123456789ab"));
        let dirty = format!("{commit}-dirty");
        assert_eq!(git_commit(&dirty).as_deref(), Some("0123456789ab-dirty"));
        assert_eq!(git_commit("unknown"), None);
    }
}
