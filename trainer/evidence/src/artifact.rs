//! The artifacts of a run: the folders of its trained models, their order of loading, and their
//! digests.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use sentinel_base::Error;
use sentinel_base::provenance::Provenance;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::json_file::report_error;

/// The configuration of an adapter.
const ADAPTER_CONFIG: &str = "adapter_config.json";
/// The weights of an adapter.
const ADAPTER_WEIGHTS: &str = "adapter_model.safetensors";
/// The folder, beside the artifacts, of a base model that the sweep made.
pub const BASE_DIR: &str = "base";

sentinel_env::named_enum! {
    /// A kind of artifact, in the order of loading.
    pub enum ArtifactKind {
        /// The adapter that GRPO trained on the merged model.
        GrpoAdapter = "grpo_adapter",
        /// The base model with the SFT adapter added to its weights.
        Merged = "merged",
        /// The adapter that SFT trained on the base model.
        SftAdapter = "sft_adapter",
    }
}

impl ArtifactKind {
    /// Returns all kinds, `preferred` first, the others in the order of loading.
    pub fn load_order(preferred: Option<Self>) -> impl Iterator<Item = Self> {
        let others = Self::ALL
            .into_iter()
            .filter(move |kind| Some(*kind) != preferred);
        preferred.into_iter().chain(others)
    }
}

/// An artifact in its folder, with the model that it is loaded on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Artifact {
    /// The kind of the artifact.
    pub kind: ArtifactKind,
    /// The folder of the artifact.
    pub path: PathBuf,
    /// The folder or the name on the Hub of the model that is loaded: the base of an adapter, or
    /// the artifact itself.
    pub model: String,
    /// The folder of the adapter; `None` for a merged model.
    pub adapter: Option<PathBuf>,
}

impl Artifact {
    /// Finds the artifact of a kind in a run's folder of checkpoints, without reading its weights.
    ///
    /// # Errors
    /// Returns an error if the folder does not exist or lacks a file.
    pub fn find(checkpoints: &Path, kind: ArtifactKind) -> Result<Self, Error> {
        let path = checkpoints.join(kind.name());
        let remedy = "train the run with `sentinel sweep`, or name its folder with \
                      --checkpoints-dir or --run";
        if !path.is_dir() {
            return Err(report_error(&path, "there is no such folder", remedy));
        }
        if kind == ArtifactKind::Merged {
            if !path.join("config.json").is_file() {
                let reason = "it holds no model: config.json is missing";
                return Err(report_error(&path, reason, remedy));
            }
            let model = path.display().to_string();
            return Ok(Self {
                kind,
                path,
                model,
                adapter: None,
            });
        }
        for name in [ADAPTER_CONFIG, ADAPTER_WEIGHTS] {
            if !path.join(name).is_file() {
                let reason = format!("it holds no adapter: {name} is missing");
                return Err(report_error(&path, reason, remedy));
            }
        }
        Ok(Self {
            kind,
            model: base_of(&path.join(ADAPTER_CONFIG), checkpoints)?,
            adapter: Some(path.clone()),
            path,
        })
    }

    /// Returns the digests of the artifact's files and, under `base/`, of the base's, if that is a
    /// folder on this machine.
    ///
    /// # Errors
    /// Returns an error if a file cannot be read.
    pub fn digests(&self) -> Result<BTreeMap<String, String>, Error> {
        let mut all = digests(&self.path)?;
        let base = Path::new(&self.model);
        if self.adapter.is_some() && base.is_dir() {
            let base = digests(base)?.into_iter();
            all.extend(base.map(|(name, digest)| (format!("{BASE_DIR}/{name}"), digest)));
        }
        Ok(all)
    }
}

/// Returns the base model that an adapter names. A folder of the run comes first, so that a run can
/// be moved as a whole; the weights are compared when the adapter is loaded.
fn base_of(config: &Path, checkpoints: &Path) -> Result<String, Error> {
    let invalid = |reason: String| {
        report_error(
            config,
            reason,
            "train the adapter again with `sentinel sweep`",
        )
    };
    let bytes = std::fs::read(config).map_err(|source| Error::Read {
        path: config.to_owned(),
        source,
    })?;
    let json: Value = serde_json::from_slice(&bytes)
        .map_err(|error| invalid(format!("not the configuration of an adapter ({error})")))?;
    let name = json.get("base_model_name_or_path").and_then(Value::as_str);
    let name = name.ok_or_else(|| invalid("it names no base model".to_owned()))?;
    let last = Path::new(name).file_name();
    let own = last.filter(|last| *last == BASE_DIR || *last == ArtifactKind::Merged.name());
    let sibling = own.map(|own| checkpoints.join(own));
    Ok(match sibling.filter(|folder| folder.is_dir()) {
        Some(folder) => folder.display().to_string(),
        None => name.to_owned(),
    })
}

/// No digests, for a result that has no files yet.
pub const NO_DIGESTS: BTreeMap<String, String> = BTreeMap::new();

/// Returns the digests of the files in a folder that determine the behavior of its model, by their
/// names.
///
/// # Errors
/// Returns an error if the folder or a file cannot be read.
pub fn digests(folder: &Path) -> Result<BTreeMap<String, String>, Error> {
    const OF: &str = "artifact";
    let mut provenance = Provenance::new();
    provenance.add_model(OF, folder)?;
    let suffix = format!(" of the {OF}");
    let name = |name: String| name.strip_suffix(&suffix).unwrap_or(&name).to_owned();
    let found = provenance.inputs.into_iter();
    Ok(found.map(|(key, digest)| (name(key), digest)).collect())
}

/// Describes the first file that differs between the digests of a report and those of today.
#[must_use]
pub fn difference(
    then: &BTreeMap<String, String>,
    now: &BTreeMap<String, String>,
) -> Option<String> {
    let mut names = then.keys().chain(now.keys());
    let name = names.find(|name| then.get(*name) != now.get(*name))?;
    let what = match (then.get(name), now.get(name)) {
        (Some(_), None) => "was deleted",
        (None, _) => "was added",
        _ => "was changed",
    };
    Some(format!("{name} {what}"))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Writes an adapter of a base model with recognizable content.
    pub(crate) fn adapter(checkpoints: &Path, kind: ArtifactKind, base: &str) -> PathBuf {
        let folder = checkpoints.join(kind.name());
        std::fs::create_dir_all(&folder).expect("a folder");
        let config = format!("{{\"base_model_name_or_path\": {base:?}}}");
        std::fs::write(folder.join(ADAPTER_CONFIG), config).expect("a file");
        std::fs::write(folder.join(ADAPTER_WEIGHTS), kind.name()).expect("a file");
        folder
    }

    /// Writes a merged model.
    pub(crate) fn merged(checkpoints: &Path) -> PathBuf {
        let folder = checkpoints.join("merged");
        std::fs::create_dir_all(&folder).expect("a folder");
        std::fs::write(folder.join("config.json"), "{\"model_type\":\"qwen2\"}").expect("a file");
        std::fs::write(folder.join("model.safetensors"), "weights").expect("a file");
        folder
    }

    #[test]
    fn load_order_puts_preferred_artifact_first() {
        use ArtifactKind::{GrpoAdapter, Merged, SftAdapter};
        let order = |preferred| ArtifactKind::load_order(preferred).collect::<Vec<_>>();
        assert_eq!(order(None), [GrpoAdapter, Merged, SftAdapter]);
        assert_eq!(order(Some(SftAdapter)), [SftAdapter, GrpoAdapter, Merged]);
    }

    #[test]
    fn moved_run_finds_merged_base_model() -> Result<(), Error> {
        let folder = tempfile::tempdir().expect("a folder");
        let checkpoints = folder.path();
        adapter(checkpoints, ArtifactKind::GrpoAdapter, "elsewhere/merged");
        let found = Artifact::find(checkpoints, ArtifactKind::GrpoAdapter)?;
        assert_eq!(found.model, "elsewhere/merged");
        let base = merged(checkpoints);
        let found = Artifact::find(checkpoints, ArtifactKind::GrpoAdapter)?;
        assert_eq!(found.model, base.display().to_string());
        let names: Vec<String> = found.digests()?.into_keys().collect();
        assert!(
            names.contains(&"base/model.safetensors".to_owned()),
            "{names:?}"
        );
        adapter(
            checkpoints,
            ArtifactKind::SftAdapter,
            "Qwen/Qwen2.5-0.5B-Instruct",
        );
        let found = Artifact::find(checkpoints, ArtifactKind::SftAdapter)?;
        assert_eq!(found.model, "Qwen/Qwen2.5-0.5B-Instruct");
        Ok(())
    }

    #[test]
    fn incomplete_artifact_error_names_missing_file() {
        let folder = tempfile::tempdir().expect("a folder");
        let find_error = |kind| {
            let found = Artifact::find(folder.path(), kind);
            found.map_or_else(|error| error.to_string(), |_| String::new())
        };
        assert!(find_error(ArtifactKind::Merged).contains("there is no such folder"));
        let made = adapter(folder.path(), ArtifactKind::GrpoAdapter, "x");
        std::fs::write(made.join(ADAPTER_CONFIG), "{").expect("a file");
        assert!(
            find_error(ArtifactKind::GrpoAdapter).contains("not the configuration of an adapter")
        );
        std::fs::remove_file(made.join(ADAPTER_WEIGHTS)).expect("a file");
        assert!(
            find_error(ArtifactKind::GrpoAdapter).contains("adapter_model.safetensors is missing")
        );
    }

    #[test]
    fn digest_difference_names_file() {
        let of = |all: &[(&str, &str)]| -> BTreeMap<String, String> {
            let own = |(a, b): &(&str, &str)| ((*a).to_owned(), (*b).to_owned());
            all.iter().map(own).collect()
        };
        let then = of(&[("a", "1"), ("b", "2")]);
        assert_eq!(difference(&then, &then), None);
        for (now, expected) in [
            (of(&[("a", "1")]), "b was deleted"),
            (of(&[("a", "9"), ("b", "2")]), "a was changed"),
            (of(&[("a", "1"), ("b", "2"), ("c", "3")]), "c was added"),
        ] {
            assert_eq!(difference(&then, &now).as_deref(), Some(expected));
        }
    }
}
