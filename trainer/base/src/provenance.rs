//! The provenance of results: the program, the files that it read, and every fallback on the way.
//!
//! A fallback is anything that acted or was trained in place of what was requested: a stand-in
//! model, or an action of a script in place of a model's. Each stage copies the fallbacks of its
//! inputs to its output, so that none is lost between the first and the last:
//!
//! * a model's folder holds them in [`PROVENANCE_FILE`], whichever command wrote it (`lm init`, `lm import`,
//!   `lm sft`, `lm grpo`, `lm merge`, `train`, `imitate`); a corpus has a file beside it ([`sidecar`]);
//! * a replay has them in its rows, as a mark on the player's name ([`marked_name`]), and in its
//!   manifest;
//! * results of `eval` and `lm eval` have them under the key `sentinel`.
//!
//! Outputs of versions before these files existed count as unmarked.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use sentinel_policy::replay::AnyReplay;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::task_selection::shell_quote;
use crate::{Error, files};

/// The commit of the program, which only the program knows: a crate that contained it would be
/// compiled again, with all crates above it, after every commit.
static COMMIT: OnceLock<&'static str> = OnceLock::new();

/// Sets the commit that the program was built from, with `-dirty` if the sources differed. Results
/// have the commit `unknown` before; only the first call counts.
pub fn set_commit(commit: &'static str) {
    // A second call is one of the same program.
    let _ = COMMIT.set(commit);
}

/// The name of the provenance file in a model's folder.
pub const PROVENANCE_FILE: &str = "sentinel.json";

/// The suffix that marks the name of a fallback model in the rows of a replay.
const MARK: &str = " (fallback)";

/// The files that determine the behavior of a model or an adapter, besides the weights of a model,
/// which may be split over several files.
const MODEL_FILES: [&str; 12] = [
    "config.json",
    "generation_config.json",
    "tokenizer.json",
    "vocab.json",
    "merges.txt",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "chat_template.jinja",
    "chat_template_kwargs.json",
    "adapter_config.json",
    "adapter_model.safetensors",
];

/// A stand-in that was used in place of what was requested.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fallback {
    /// The stage at which the fallback was introduced: the name of a command.
    pub stage: String,
    /// A description of the stand-in and of what it replaces.
    pub what: String,
}

impl fmt::Display for Fallback {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "fallback ({}): {}", self.stage, self.what)
    }
}

/// The file of another program that a model was converted from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImportedFile {
    /// The name of the file.
    pub file: String,
    /// The SHA-256 digest of the file.
    pub sha256: String,
    /// The name of the model in the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The organization that made the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub organization: Option<String>,
    /// The formats of its tensors, most numbers first.
    pub quantization: String,
    /// The license, as the file names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub license: Option<String>,
}

/// The provenance of a result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Provenance {
    /// The version of the program.
    pub version: String,
    /// The commit that the program was built from, with `-dirty` if the sources differed; or
    /// `unknown`.
    pub commit: String,
    /// The command that reproduces the result, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// The SHA-256 digests of the inputs, by a description of each.
    #[serde(default)]
    pub inputs: BTreeMap<String, String>,
    /// The file that the model was converted from, if it was imported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub imported: Option<Box<ImportedFile>>,
    /// All fallbacks that the result depends on, oldest first.
    #[serde(default)]
    pub fallbacks: Vec<Fallback>,
}

impl Default for Provenance {
    fn default() -> Self {
        Self::new()
    }
}

impl Provenance {
    /// Returns the provenance of a result of this program that has no inputs yet.
    #[must_use]
    pub fn new() -> Self {
        Self {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            commit: COMMIT.get().copied().unwrap_or("unknown").to_owned(),
            command: None,
            inputs: BTreeMap::new(),
            imported: None,
            fallbacks: Vec::new(),
        }
    }

    /// Returns `true` if the result depends on a fallback.
    #[must_use]
    pub const fn is_fallback(&self) -> bool {
        !self.fallbacks.is_empty()
    }

    /// Records the command line that makes the result: the arguments after the program's name.
    pub fn record_command(&mut self, arguments: impl IntoIterator<Item = String>) {
        let words = arguments.into_iter().map(|word| shell_quote(&word));
        let words: Vec<String> = std::iter::once("sentinel".to_owned())
            .chain(words)
            .collect();
        self.command = Some(words.join(" "));
    }

    /// Adds a fallback unless it is present already.
    pub fn add_fallback(&mut self, stage: &str, what: impl Into<String>) {
        self.add_fallbacks([Fallback {
            stage: stage.to_owned(),
            what: what.into(),
        }]);
    }

    /// Adds the fallbacks of an input.
    pub fn add_fallbacks(&mut self, fallbacks: impl IntoIterator<Item = Fallback>) {
        for fallback in fallbacks {
            if !self.fallbacks.contains(&fallback) {
                self.fallbacks.push(fallback);
            }
        }
    }

    /// Adds the fallbacks of a model's folder, or of the folder of a model's file.
    ///
    /// # Errors
    /// Returns an error if [`PROVENANCE_FILE`] exists and cannot be read.
    pub fn add_model_fallbacks(&mut self, model: &Path) -> Result<(), Error> {
        let folder = if model.is_dir() {
            model
        } else {
            files::parent_folder(model)
        };
        self.add_fallbacks(
            Self::load(&folder.join(PROVENANCE_FILE))?
                .map_or_else(Vec::new, |found| found.fallbacks),
        );
        Ok(())
    }

    /// Returns `true` if a model depends on a fallback, by the [`PROVENANCE_FILE`] of its folder.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read.
    pub fn is_fallback_model(model: &Path) -> Result<bool, Error> {
        let mut found = Self::new();
        found.add_model_fallbacks(model)?;
        Ok(found.is_fallback())
    }

    /// Adds the fallbacks of a model or an adapter, and the digests of its files under names such
    /// as `config.json of the {what}`.
    ///
    /// # Errors
    /// Returns an error if a file cannot be read.
    pub fn add_model(&mut self, what: &str, model: &Path) -> Result<(), Error> {
        self.add_model_fallbacks(model)?;
        if model.is_file() {
            return self.add_file(what, model);
        }
        let failed = |source| Error::Read {
            path: model.to_owned(),
            source,
        };
        for entry in model.read_dir().map_err(failed)? {
            let name = entry.map_err(failed)?.file_name();
            let name = name.to_string_lossy();
            let is_weights = name.starts_with("model") && name.ends_with(".safetensors");
            if is_weights || MODEL_FILES.contains(&&*name) {
                self.add_file(&format!("{name} of the {what}"), &model.join(&*name))?;
            }
        }
        Ok(())
    }

    /// Adds the digest of a file that was read, under the name `what`.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read.
    pub fn add_file(&mut self, what: &str, path: &Path) -> Result<(), Error> {
        let digest = file_digest(path).map_err(|source| Error::Read {
            path: path.to_owned(),
            source,
        })?;
        self.inputs.insert(what.to_owned(), digest);
        Ok(())
    }

    /// Adds the fallbacks of a corpus: those of the file beside it, and its `marked` rows.
    ///
    /// # Errors
    /// Returns an error if the file beside it exists and cannot be read.
    pub fn add_corpus_fallbacks(
        &mut self,
        path: &Path,
        rows: usize,
        marked: usize,
    ) -> Result<(), Error> {
        let beside = Self::load(&sidecar(path))?;
        self.add_fallbacks(beside.into_iter().flat_map(|found| found.fallbacks));
        if marked > 0 {
            self.add_fallback(
                "corpus",
                format!("{marked} of {rows} rows are a fallback's"),
            );
        }
        Ok(())
    }

    /// Returns the provenance of a result that plays replays: one fallback for each marked player
    /// in them.
    #[must_use]
    pub fn from_replays<'a>(replays: impl Iterator<Item = &'a dyn AnyReplay>) -> Self {
        let mut provenance = Self::new();
        let (mut all, mut marked) = (0_usize, BTreeMap::<String, usize>::new());
        for replay in replays {
            replay.visit_rows(&mut |name, _| {
                all += 1;
                if is_marked_name(name) {
                    *marked.entry(name.to_owned()).or_default() += 1;
                }
            });
        }
        for (name, count) in marked {
            provenance.add_fallback("record", format!("{count} of {all} rows are of {name}"));
        }
        provenance
    }

    /// Reads a provenance file; `None` if it does not exist.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read, or is something else.
    pub fn load(path: &Path) -> Result<Option<Self>, Error> {
        let bytes = match std::fs::read(path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(source) => {
                let path = path.to_owned();
                return Err(Error::Read { path, source });
            }
        };
        let read = serde_json::from_slice(&bytes);
        read.map(Some).map_err(|error| Error::Provenance {
            path: path.to_owned(),
            reason: error.to_string(),
        })
    }

    /// Writes the provenance file of a model's folder, which must exist.
    ///
    /// # Errors
    /// Returns an error if it cannot be written.
    pub fn write(&self, folder: &Path) -> Result<(), Error> {
        self.write_file(&folder.join(PROVENANCE_FILE))
    }

    /// Updates version and commit in a folder's provenance file to this program, which continues
    /// the run.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read or written.
    pub fn update_program_version(folder: &Path) -> Result<(), Error> {
        let found = Self::load(&folder.join(PROVENANCE_FILE))?;
        let now = Self::new();
        let (version, commit) = (now.version.clone(), now.commit.clone());
        let found = found.unwrap_or(now);
        Self {
            version,
            commit,
            ..found
        }
        .write(folder)
    }

    /// Writes the provenance file beside a file of rows.
    ///
    /// # Errors
    /// Returns an error if it cannot be written.
    pub fn write_sidecar(&self, rows: &Path) -> Result<(), Error> {
        self.write_file(&sidecar(rows))
    }

    fn write_file(&self, path: &Path) -> Result<(), Error> {
        let text = serde_json::to_string_pretty(self)? + "\n";
        files::write_atomic(path, text.as_bytes())
    }
}

/// Returns the path of the provenance file of a file of rows: `a.jsonl.sentinel.json` beside
/// `a.jsonl`.
#[must_use]
pub fn sidecar(rows: &Path) -> PathBuf {
    let mut name = rows.as_os_str().to_owned();
    name.push(".sentinel.json");
    name.into()
}

/// Returns the player's name for the rows of a replay, with a mark if the player is a fallback.
#[must_use]
pub fn marked_name(name: &str, is_fallback: bool) -> String {
    if is_fallback && !is_marked_name(name) {
        format!("{name}{MARK}")
    } else {
        name.to_owned()
    }
}

/// Returns `true` if a player's name marks a fallback, as ours do and as the reference's do
/// (`heuristic_fallback`).
#[must_use]
pub fn is_marked_name(name: &str) -> bool {
    name.ends_with("_fallback") || name.ends_with(MARK)
}

/// Returns the SHA-256 of a file in hexadecimal digits.
pub fn file_digest(path: &Path) -> io::Result<String> {
    let mut hash = Sha256::new();
    io::copy(&mut std::fs::File::open(path)?, &mut hash)?;
    Ok(files::hex(&hash.finalize()))
}

#[cfg(test)]
mod tests {
    use super::*;

    type Tested = Result<(), Box<dyn std::error::Error>>;

    #[test]
    fn commit_is_hash_or_unknown() {
        let commit = Provenance::new().commit;
        let digits = commit.strip_suffix("-dirty").unwrap_or(&commit);
        let is_commit = digits.len() == 40 && digits.bytes().all(|b| b.is_ascii_hexdigit());
        assert!(is_commit || commit == "unknown", "{commit}");
    }

    #[test]
    fn inherited_fallback_mark_is_kept_once() -> Tested {
        let folder = tempfile::tempdir()?;
        let mut made = Provenance::new();
        made.add_fallback("init", "a tiny new model in place of a/b");
        made.write(folder.path())?;
        let mut next = Provenance::new();
        next.add_model_fallbacks(folder.path())?;
        next.add_model_fallbacks(&folder.path().join("model.safetensors"))?;
        assert_eq!(next.fallbacks, made.fallbacks);
        assert_eq!(
            Provenance::load(&folder.path().join(PROVENANCE_FILE))?,
            Some(made)
        );
        Ok(())
    }

    #[test]
    fn missing_provenance_is_unmarked_and_broken_is_error() -> Tested {
        let folder = tempfile::tempdir()?;
        let mut found = Provenance::new();
        found.add_model_fallbacks(folder.path())?;
        assert!(!found.is_fallback());
        std::fs::write(folder.path().join(PROVENANCE_FILE), "{")?;
        let error = found
            .add_model_fallbacks(folder.path())
            .map_err(|e| e.to_string());
        assert!(error.is_err_and(|text| text.contains(PROVENANCE_FILE)));
        // Unknown keys of a later version are ignored.
        let text = r#"{"version":"9","commit":"unknown","more":1,"fallbacks":[{"stage":"sft","what":"w"}]}"#;
        std::fs::write(folder.path().join(PROVENANCE_FILE), text)?;
        found.add_model_fallbacks(folder.path())?;
        assert_eq!(found.fallbacks.len(), 1);
        Ok(())
    }

    #[test]
    fn model_digests_cover_config_and_weights_only() -> Tested {
        let folder = tempfile::tempdir()?;
        for name in [
            "config.json",
            "model.safetensors",
            "README.md",
            "checkpoint.safetensors",
        ] {
            std::fs::write(folder.path().join(name), "abc")?;
        }
        let mut found = Provenance::new();
        found.add_model("model", folder.path())?;
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        let names = ["config.json of the model", "model.safetensors of the model"];
        let expected = names.map(|name| (name.to_owned(), abc.to_owned()));
        assert_eq!(found.inputs, BTreeMap::from(expected));
        Ok(())
    }

    #[test]
    fn recorded_command_is_shell_quoted() {
        let mut found = Provenance::new();
        found.record_command(["eval", "--out", "a b.json"].map(str::to_owned));
        assert_eq!(
            found.command.as_deref(),
            Some("sentinel eval --out 'a b.json'")
        );
    }

    #[test]
    fn fallback_suffix_is_added_once() {
        assert_eq!(marked_name("a", false), "a");
        assert_eq!(marked_name("a", true), "a (fallback)");
        assert_eq!(marked_name("a (fallback)", true), "a (fallback)");
        assert!(is_marked_name("heuristic_fallback") && !is_marked_name("heuristic"));
    }
}
