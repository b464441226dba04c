//! The active model: the artifact that commands use when a trained model is wanted and none is
//! named.
//!
//! `sentinel activate` writes a manifest with the digests of the artifact's files. Whoever loads the
//! model compares them first: files that were deleted or changed are an error, and no other artifact
//! takes their place.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use sentinel_base::Error;
use sentinel_base::provenance::Provenance;
use sentinel_policy::text::{ParserStrictness, PromptStyle};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::artifact::{self, Artifact, ArtifactKind};
use super::gate::{GATE_REPORT, GateReport};
use super::improvement::ImprovementReport;
use super::json_file::{self, report_error};
use super::run_paths::{RunPaths, SWEEPS_DIR};
use super::run_report::{FileDigest, GRPO_REPORT, RunReport, SFT_REPORT};

/// The folder of the manifest, in that of the checkpoints.
const ACTIVE: &str = "active";
/// The name of the manifest.
pub const MANIFEST_FILE: &str = "active_model_manifest.json";

sentinel_env::named_enum! {
    /// The place of an activated run.
    pub enum ActivationSource {
        /// A run of a sweep: `sweeps/RUN`.
        Sweep = "sweep",
        /// The run at the top level.
        TopLevel = "top-level",
    }
}

/// The evidence on which a run was activated.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ActivationGate {
    /// `true` if the gate accepted the run.
    pub accepted: bool,
    /// `true` if it was the strict gate.
    pub strict: bool,
    /// The verdict with its digest; `null` if there was none.
    pub file: Option<FileDigest>,
    /// The reason why the run is not accepted; `null` if it is.
    pub reason: Option<String>,
}

/// The model that commands use when none is named.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ActiveModel {
    /// The name that people give the model.
    pub label: String,
    /// The place of the run.
    pub source: ActivationSource,
    /// The id of the run.
    pub run_id: String,
    /// The artifact that is loaded, with its base model.
    #[serde(flatten)]
    pub artifact: Artifact,
    /// The digests of the artifact's files, and of its base's under `base/`.
    pub digests: BTreeMap<String, String>,
    /// The artifacts of the run that exist, in the order of loading.
    pub load_order: Vec<ArtifactKind>,
    /// The name of the world that the model was trained in; empty if unknown.
    pub world: String,
    /// The tasks that it was trained on.
    pub task: String,
    /// The name of the rules that it was trained under.
    pub rules: String,
    /// The style of the prompts that it was trained on; `null` if unknown.
    pub prompt: Option<PromptStyle>,
    /// The parser of completions that it was trained with; `null` if unknown.
    pub reader: Option<ParserStrictness>,
    /// The verdict of the gate.
    pub gate: ActivationGate,
    /// The program, its inputs and every fallback on the way.
    pub provenance: Provenance,
}

/// The options of an activation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActivationOptions {
    /// The place of the run.
    pub source: ActivationSource,
    /// The id of the run; a name for the manifest if the run is at the top level.
    pub run_id: String,
    /// The artifact to load.
    pub preferred: ArtifactKind,
    /// The name that people give the model; by default that of run and artifact.
    pub label: Option<String>,
    /// `true` to activate a run that the gate did not accept.
    pub allow_rejected: bool,
    /// The folder of reports.
    pub reports_dir: PathBuf,
    /// The folder of checkpoints.
    pub checkpoints_dir: PathBuf,
    /// The folder of committed results, where a copy of the manifest is written if it exists.
    pub results_dir: PathBuf,
}

impl ActivationOptions {
    /// Returns the folders of the run.
    ///
    /// # Errors
    /// Returns an error if the id is not that of a run.
    pub fn paths(&self) -> Result<RunPaths, Error> {
        let (reports, checkpoints) = (&self.reports_dir, &self.checkpoints_dir);
        match self.source {
            ActivationSource::Sweep => RunPaths::for_sweep(reports, checkpoints, &self.run_id),
            ActivationSource::TopLevel => Ok(RunPaths::top_level(reports, checkpoints)),
        }
    }
}

/// Activates an artifact of a run. Returns the model and the files that were written.
///
/// # Errors
/// Returns an error if the artifact is missing, the gate did not accept the run, or a file cannot
/// be written.
pub fn activate(activation: &ActivationOptions) -> Result<(ActiveModel, Vec<PathBuf>), Error> {
    let paths = activation.paths()?;
    let verdict = verdict(&paths, activation.preferred)?;
    if let Some(reason) = verdict
        .reason
        .as_ref()
        .filter(|_| !activation.allow_rejected)
    {
        let remedy = format!(
            "see `sentinel gate{}`, or activate the run nevertheless with --allow-rejected",
            paths.options()
        );
        return Err(report_error(&paths.reports, reason.clone(), remedy));
    }
    let found = |kind| Artifact::find(&paths.checkpoints, kind);
    let artifact = found(activation.preferred)?;
    let mut provenance = Provenance::new();
    provenance.add_model_fallbacks(&artifact.path)?;
    provenance.add_model_fallbacks(Path::new(&artifact.model))?;
    if let Some(file) = &verdict.file {
        (provenance.inputs).insert(GATE_REPORT.to_owned(), file.sha256.clone());
    }
    let run = RunReport::load(&paths, GRPO_REPORT).ok();
    let of_run = |text: fn(&RunReport) -> &String| {
        run.as_ref()
            .map_or_else(String::new, |run| text(run).clone())
    };
    let label = activation.label.clone();
    let model = ActiveModel {
        label: label.unwrap_or_else(|| format!("{} {}", activation.run_id, artifact.kind)),
        source: activation.source,
        run_id: activation.run_id.clone(),
        digests: artifact.digests()?,
        load_order: (ArtifactKind::load_order(Some(activation.preferred)))
            .filter(|kind| found(*kind).is_ok())
            .collect(),
        artifact,
        world: of_run(|run| &run.world),
        task: of_run(|run| &run.task),
        rules: of_run(|run| &run.rules),
        prompt: option(&paths, "prompt").and_then(|name| PromptStyle::parse(&name)),
        reader: option(&paths, "reader").and_then(|name| ParserStrictness::parse(&name)),
        gate: verdict,
        provenance,
    };
    let own = manifest_path(&activation.checkpoints_dir);
    json_file::write_json(&own, &model)?;
    let mut written = vec![own];
    if activation.results_dir.is_dir() {
        let mirror = activation.results_dir.join(MANIFEST_FILE);
        json_file::write_json(&mirror, &model)?;
        written.push(mirror);
    }
    Ok((model, written))
}

/// Returns an option of the run's GRPO; `None` if its folder has none.
fn option(paths: &RunPaths, name: &str) -> Option<String> {
    let folder = paths.checkpoints.join(ArtifactKind::GrpoAdapter.name());
    let options: Value = json_file::read_json(&folder.join("training_options.json"), "").ok()?;
    Some(options.get(name)?.as_str()?.to_owned())
}

/// Returns the path of the manifest in a folder of checkpoints.
#[must_use]
pub fn manifest_path(checkpoints: &Path) -> PathBuf {
    checkpoints.join(ACTIVE).join(MANIFEST_FILE)
}

/// Reads the verdict of the gate; a verdict on other reports or other artifacts does not count.
fn verdict(paths: &RunPaths, kind: ArtifactKind) -> Result<ActivationGate, Error> {
    let path = paths.report(GATE_REPORT);
    let rejected = |reason: &str, strict, file| ActivationGate {
        accepted: false,
        strict,
        file,
        reason: Some(reason.to_owned()),
    };
    if !path.exists() {
        return Ok(rejected(
            "the gate was not asked about the run",
            false,
            None,
        ));
    }
    let report = GateReport::load(paths)?;
    let file = Some(FileDigest::compute(&path)?);
    if let Some(name) = report.changed_input(paths) {
        let reason = format!("{name} was changed since the gate read it");
        return Ok(rejected(&reason, report.strict, file));
    }
    if !report.accepted {
        let failed = report.conditions.iter().filter(|one| !one.passed);
        let failed: Vec<&str> = failed.map(|one| one.name.as_str()).collect();
        let reason = format!("the gate refused the run: {}", failed.join(", "));
        return Ok(rejected(&reason, report.strict, file));
    }
    if let Some(change) = changed_artifact(paths, kind) {
        let reason = format!("{kind}: {change} since it was trained");
        return Ok(rejected(&reason, report.strict, file));
    }
    Ok(ActivationGate {
        accepted: true,
        strict: report.strict,
        file,
        reason: None,
    })
}

/// Describes the first file of an artifact that is not as the run's reports say.
fn changed_artifact(paths: &RunPaths, kind: ArtifactKind) -> Option<String> {
    let then = match kind {
        ArtifactKind::GrpoAdapter => RunReport::load(paths, GRPO_REPORT).ok()?.artifact,
        ArtifactKind::SftAdapter => RunReport::load(paths, SFT_REPORT).ok()?.artifact,
        ArtifactKind::Merged => ImprovementReport::load(paths).ok()?.baseline_artifact,
    };
    let now = artifact::digests(&paths.checkpoints.join(kind.name())).ok()?;
    artifact::difference(&then, &now)
}

impl ActiveModel {
    /// Reads the manifest in a folder of checkpoints; `None` if no model is active.
    ///
    /// # Errors
    /// Returns an error if the manifest is cut off or invalid.
    pub fn read_manifest(checkpoints: &Path) -> Result<Option<Self>, Error> {
        let path = manifest_path(checkpoints);
        if !path.exists() {
            return Ok(None);
        }
        json_file::read_json(&path, ACTIVATE).map(Some)
    }

    /// Checks that the artifact is as it was when it was activated.
    ///
    /// # Errors
    /// Returns an error that names the first file that was deleted or changed.
    pub fn verify(&self) -> Result<(), Error> {
        let path = &self.artifact.path;
        if !path.is_dir() {
            let reason = "the folder of the active model was deleted";
            return Err(report_error(path, reason, ACTIVATE));
        }
        let has_base = (self.digests.keys()).any(|name| name.starts_with(artifact::BASE_DIR));
        let base = Path::new(&self.artifact.model);
        if has_base && !base.is_dir() {
            let reason = "the folder of the active model's base was deleted";
            return Err(report_error(base, reason, ACTIVATE));
        }
        match artifact::difference(&self.digests, &self.artifact.digests()?) {
            Some(change) => {
                let reason = format!("{change} since the model was activated");
                Err(report_error(path, reason, ACTIVATE))
            }
            None => Ok(()),
        }
    }

    /// Reads the active model and checks its files; `None` if no model is active.
    ///
    /// # Errors
    /// Returns an error if the manifest is invalid, or a file was deleted or changed.
    pub fn load(checkpoints: &Path) -> Result<Option<Self>, Error> {
        let found = Self::read_manifest(checkpoints)?;
        if let Some(model) = &found {
            model.verify()?;
        }
        Ok(found)
    }

    /// Returns a sentence that says which model is active.
    #[must_use]
    pub fn describe(&self) -> String {
        let place = match self.source {
            ActivationSource::Sweep => format!("{SWEEPS_DIR}/{}", self.run_id),
            ActivationSource::TopLevel => self.run_id.clone(),
        };
        let verdict = match &self.gate.reason {
            None => "accepted by the gate".to_owned(),
            Some(reason) => format!("not accepted: {reason}"),
        };
        let (label, kind) = (&self.label, self.artifact.kind);
        format!("active model {label}: {kind} of {place}, {verdict}")
    }
}

/// The remedy for an active model that cannot be used.
const ACTIVATE: &str = "activate a model with `sentinel activate`, or name one with --model";

#[cfg(test)]
#[path = "active_model_tests.rs"]
mod tests;
