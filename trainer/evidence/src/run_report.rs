//! The report of a training stage: `sft_trl_run.json` and `grpo_trl_run.json`.
//!
//! It is derived from the files of the run's folder, so that it can be written again at any time.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use sentinel_base::provenance::Provenance;
use sentinel_base::{Error, provenance};
use sentinel_rl::Metrics;
use sentinel_run::TRAINER_STATE_FILE;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::json_file::report_error;
use super::run_paths::RunPaths;
use super::{artifact, json_file};

/// The name of the report of supervised fine-tuning.
pub const SFT_REPORT: &str = "sft_trl_run.json";
/// The name of the report of GRPO.
pub const GRPO_REPORT: &str = "grpo_trl_run.json";
/// The name of the file with the options of a finished run.
const OPTIONS: &str = "training_options.json";

sentinel_env::named_enum! {
    /// The outcome of a stage.
    pub enum ReportStatus {
        /// The stage ended and its files are valid.
        Ok = "ok",
        /// The stage stopped with an error.
        Failed = "failed",
        /// The stage was interrupted and can be resumed.
        Interrupted = "interrupted",
    }
}

sentinel_env::named_enum! {
    /// The program part that produced a result.
    pub enum Backend {
        /// Training and inference of this program.
        SentinelBurn = "sentinel_burn",
        /// A stand-in for a model or an artifact that was missing.
        Fallback = "fallback",
    }
}

impl Backend {
    /// Returns the backend of a result with this provenance.
    #[must_use]
    pub const fn from_provenance(provenance: &Provenance) -> Self {
        if provenance.is_fallback() {
            Self::Fallback
        } else {
            Self::SentinelBurn
        }
    }
}

/// A file with its digest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileDigest {
    /// The path of the file.
    pub path: PathBuf,
    /// The SHA-256 of its content in hexadecimal digits.
    pub sha256: String,
}

impl FileDigest {
    /// Computes the digest of a file.
    ///
    /// # Errors
    /// Returns an error if it cannot be read.
    pub fn compute(path: &Path) -> Result<Self, Error> {
        Ok(Self {
            path: path.to_owned(),
            sha256: json_file::digest(path)?,
        })
    }
}

/// The report of a training stage.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunReport {
    /// The outcome of the stage.
    pub status: ReportStatus,
    /// The program part that trained.
    pub backend: Backend,
    /// The model as it was requested.
    pub model_id: String,
    /// The folder or name of the model that training began with.
    pub base_model: String,
    /// The folder of the trained artifact; empty if there is none.
    pub artifact_path: PathBuf,
    /// The digests of the artifact's files.
    #[serde(default)]
    pub artifact: BTreeMap<String, String>,
    /// The name of the world that was trained in.
    pub world: String,
    /// The tasks, separated by commas, or `all`.
    pub task: String,
    /// The name of the rules.
    pub rules: String,
    /// The number of optimizer steps.
    pub steps: usize,
    /// The seconds that all steps took; `null` for a run that did not end.
    pub seconds: Option<f64>,
    /// The seed of the run.
    pub seed: u64,
    /// The last logged value of each metric that is finite.
    pub metrics: Metrics,
    /// The file with the whole log: `trainer_state.json`.
    pub log_history: Option<FileDigest>,
    /// The reason why the stage stopped; `null` for a stage that ended.
    pub error: Option<String>,
    /// The program, its inputs and every fallback on the way.
    pub provenance: Provenance,
}

/// The world that a stage trains in, and the model as it was requested.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunOrigin {
    /// The model as it was requested.
    pub model_id: String,
    /// The name of the world.
    pub world: String,
    /// The tasks, separated by commas, or `all`.
    pub task: String,
    /// The name of the rules.
    pub rules: String,
    /// The command that makes the report again.
    pub command: Option<String>,
}

impl RunReport {
    /// Derives the report of a finished run from the files in its folder.
    ///
    /// # Errors
    /// Returns an error if a file is missing or invalid.
    pub fn from_folder(folder: &Path, origin: &RunOrigin) -> Result<Self, Error> {
        let remedy = "train it with `sentinel lm sft` or `sentinel lm grpo`";
        let state_path = folder.join(TRAINER_STATE_FILE);
        let state: Value = json_file::read_trainer_state(&state_path, remedy)?;
        let options: Value = json_file::read_json(&folder.join(OPTIONS), remedy)?;
        let file = folder.join(provenance::PROVENANCE_FILE);
        let own = Provenance::load(&file)?;
        let own = own.ok_or_else(|| report_error(&file, "there is no such file", remedy))?;
        let artifact = artifact::digests(folder)?;
        if artifact.is_empty() {
            return Err(report_error(folder, "it holds no model", remedy));
        }
        let log_history = FileDigest::compute(&state_path)?;
        let text = |name: &str| {
            let value = options.get(name).and_then(Value::as_str);
            value.unwrap_or_default().to_owned()
        };
        let of = |given: &str, name: &str| {
            if given.is_empty() {
                text(name)
            } else {
                given.to_owned()
            }
        };
        let mut provenance = Provenance::new();
        provenance.command.clone_from(&origin.command);
        provenance.inputs.clone_from(&own.inputs);
        provenance.add_fallbacks(own.fallbacks);
        let state_digest = log_history.sha256.clone();
        (provenance.inputs).insert(TRAINER_STATE_FILE.to_owned(), state_digest);
        let log = state.get("log_history").and_then(Value::as_array);
        Ok(Self {
            status: ReportStatus::Ok,
            backend: Backend::from_provenance(&provenance),
            model_id: of(&origin.model_id, "model"),
            base_model: text("model"),
            artifact_path: folder.to_owned(),
            artifact,
            world: of(&origin.world, "world"),
            task: of(&origin.task, "task"),
            rules: of(&origin.rules, "rules"),
            steps: state
                .get("global_step")
                .and_then(Value::as_u64)
                .unwrap_or(0) as usize,
            seconds: last_number(log, "train_runtime"),
            seed: options.get("seed").and_then(Value::as_u64).unwrap_or(0),
            metrics: last_metrics(log),
            log_history: Some(log_history),
            error: None,
            provenance,
        })
    }

    /// Creates the report of a stage that stopped. What the folder holds so far is not described.
    #[must_use]
    pub fn stopped(
        status: ReportStatus,
        error: Option<String>,
        origin: &RunOrigin,
        base: &str,
    ) -> Self {
        let mut provenance = Provenance::new();
        provenance.command.clone_from(&origin.command);
        Self {
            status,
            backend: Backend::SentinelBurn,
            model_id: origin.model_id.clone(),
            base_model: base.to_owned(),
            artifact_path: PathBuf::new(),
            artifact: BTreeMap::new(),
            world: origin.world.clone(),
            task: origin.task.clone(),
            rules: origin.rules.clone(),
            steps: 0,
            seconds: None,
            seed: 0,
            metrics: Metrics::new(),
            log_history: None,
            error,
            provenance,
        }
    }

    /// Reads a report of a run; `name` is [`SFT_REPORT`] or [`GRPO_REPORT`].
    ///
    /// # Errors
    /// Returns an error if it is missing, cut off or not such a report.
    pub fn load(paths: &RunPaths, name: &str) -> Result<Self, Error> {
        json_file::read_json(&paths.report(name), MAKE)
    }
}

/// The remedy for a report that cannot be read.
pub(crate) const MAKE: &str = "make it with `sentinel sweep`";

/// Returns the last finite value of each metric of the training entries in a log.
fn last_metrics(log: Option<&Vec<Value>>) -> Metrics {
    let entries = log.into_iter().flatten().filter_map(Value::as_object);
    let mut metrics = Metrics::new();
    for (name, value) in entries.flatten() {
        let skipped =
            ["epoch", "step", "total_flos"].contains(&name.as_str()) || name.starts_with("train_");
        if let Some(value) = value.as_f64().filter(|_| !skipped) {
            metrics.insert(name.clone(), value);
        }
    }
    metrics
}

fn last_number(log: Option<&Vec<Value>>, name: &str) -> Option<f64> {
    let mut entries = log?.iter().rev();
    entries.find_map(|entry| entry.get(name).and_then(Value::as_f64))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Returns the report of an artifact folder that [`artifact`]'s tests write.
    pub(crate) fn report(folder: &Path, provenance: Provenance) -> RunReport {
        RunReport {
            status: ReportStatus::Ok,
            backend: Backend::from_provenance(&provenance),
            artifact_path: folder.to_owned(),
            artifact: artifact::digests(folder).expect("digests"),
            provenance,
            ..RunReport::stopped(ReportStatus::Ok, None, &RunOrigin::default(), "base")
        }
    }

    #[test]
    fn run_report_is_derived_from_folder_files() -> Result<(), Box<dyn std::error::Error>> {
        let folder = tempfile::tempdir()?;
        let origin = RunOrigin {
            model_id: "tiny".to_owned(),
            world: "trust".to_owned(),
            ..RunOrigin::default()
        };
        let report_error = |folder: &Path| {
            let found = RunReport::from_folder(folder, &origin);
            found.map_or_else(|error| error.to_string(), |_| String::new())
        };
        assert!(report_error(folder.path()).contains("trainer_state.json: there is no such file"));
        let run = artifact::tests::adapter(folder.path(), artifact::ArtifactKind::SftAdapter, "b");
        let log = r#"{"global_step": 2, "log_history": [{"loss": 3.0, "grad_norm": NaN, "step": 1},
            {"loss": 2.0, "reward": 0.5, "step": 2}, {"train_runtime": 7.5, "train_loss": Infinity}]}"#;
        std::fs::write(run.join(TRAINER_STATE_FILE), log)?;
        std::fs::write(
            run.join(OPTIONS),
            r#"{"model": "b", "task": "t", "seed": 4}"#,
        )?;
        assert!(report_error(&run).contains("sentinel.json: there is no such file"));
        let mut own = Provenance::new();
        own.add_fallback("init", "a stand-in");
        own.write(&run)?;
        let found = RunReport::from_folder(&run, &origin)?;
        assert_eq!((found.steps, found.seconds, found.seed), (2, Some(7.5), 4));
        assert_eq!(
            (&*found.task, &*found.world, &*found.base_model),
            ("t", "trust", "b")
        );
        let expected = [("loss".to_owned(), 2.0), ("reward".to_owned(), 0.5)];
        assert_eq!(found.metrics, Metrics::from(expected));
        assert_eq!(found.backend, Backend::Fallback);
        assert_eq!(found.artifact.len(), 2);
        let text = serde_json::to_string(&found)?;
        assert_eq!(serde_json::from_str::<RunReport>(&text)?, found);
        std::fs::write(run.join(TRAINER_STATE_FILE), &log[..30])?;
        assert!(report_error(&run).contains("the file is cut off"));
        Ok(())
    }

    /// Backends of other programs are not ours.
    #[test]
    fn foreign_backend_names_are_refused() {
        for name in ["trl_unsloth", "trl_transformers"] {
            assert_eq!(Backend::parse(name), None);
        }
        assert_eq!(Backend::parse("sentinel_burn"), Some(Backend::SentinelBurn));
    }
}
