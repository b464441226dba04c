//! The verdict on the reports of a run: `acceptance_gate.json`.
//!
//! Every condition names the file and the evidence that it read. A report that is missing or cut
//! off is a condition that is not met, not an error: the verdict is "no".

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use sentinel_base::Error;
use sentinel_base::provenance::{Fallback, PROVENANCE_FILE, Provenance};
use serde::{Deserialize, Serialize};

use super::artifact::{self, Artifact, ArtifactKind};
use super::artifact_index::ArtifactIndex;
use super::improvement::{IMPROVEMENT_REPORT, ImprovementReport};
use super::json_file;
use super::postsave::{ModelSource, POSTSAVE_REPORT, PostSaveReport};
use super::run_paths::RunPaths;
use super::run_report::{Backend, GRPO_REPORT, ReportStatus, RunReport, SFT_REPORT};

/// The name of the verdict.
pub const GATE_REPORT: &str = "acceptance_gate.json";

/// A condition of acceptance with the evidence for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Condition {
    /// The name of the condition.
    pub name: String,
    /// `true` if the condition is met.
    pub passed: bool,
    /// The values that were read, or the reason why nothing could be read.
    pub evidence: String,
    /// The file or folder that was read.
    pub file: PathBuf,
}

/// The verdict on a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GateReport {
    /// `true` if every condition is met.
    pub accepted: bool,
    /// `true` if the conditions of the strict gate were checked too.
    pub strict: bool,
    /// The id of the run; `null` for that at the top level.
    #[serde(default)]
    pub run: Option<String>,
    /// The conditions in order.
    pub conditions: Vec<Condition>,
    /// The program, the digests of the reports that it read, and every fallback on the way.
    pub provenance: Provenance,
}

impl GateReport {
    /// Reads the verdict on a run.
    ///
    /// # Errors
    /// Returns an error if it is missing, cut off or not a verdict.
    pub fn load(paths: &RunPaths) -> Result<Self, Error> {
        let remedy = format!("make it with `sentinel gate{}`", paths.options());
        json_file::read_json(&paths.report(GATE_REPORT), &remedy)
    }

    /// Describes the first report that is not as it was when the verdict was given.
    #[must_use]
    pub fn changed_input(&self, paths: &RunPaths) -> Option<String> {
        let changed = |(name, digest): (&String, &String)| {
            let now = json_file::digest(&paths.report(name)).ok();
            (now.as_ref() != Some(digest)).then(|| name.clone())
        };
        self.provenance.inputs.iter().find_map(changed)
    }

    /// Returns a table for a terminal.
    #[must_use]
    pub fn table(&self) -> String {
        let width = self.conditions.iter().map(|one| one.name.len()).max();
        let width = width.unwrap_or(0);
        let mut text = String::new();
        for Condition {
            name,
            passed,
            evidence,
            ..
        } in &self.conditions
        {
            let verdict = if *passed { "pass" } else { "FAIL" };
            text.push_str(&format!("{verdict}  {name:<width$}  {evidence}\n"));
        }
        text.push_str(if self.accepted {
            "accepted\n"
        } else {
            "not accepted\n"
        });
        text
    }
}

/// The conditions that are checked beside those of every gate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GateOptions {
    /// `true` for the strict conditions.
    pub strict: bool,
    /// The index of artifacts whose links are required; `None` if none are.
    pub links: Option<PathBuf>,
}

/// The reports of a run, each with the reason if it cannot be read.
struct Reports {
    sft: Result<RunReport, String>,
    grpo: Result<RunReport, String>,
    postsave: Result<PostSaveReport, String>,
    improvement: Result<ImprovementReport, String>,
}

/// Checks the conditions on the reports of a run.
#[must_use]
pub fn gate(paths: &RunPaths, options: &GateOptions) -> GateReport {
    let text = |error: Error| error.to_string();
    let reports = Reports {
        sft: RunReport::load(paths, SFT_REPORT).map_err(text),
        grpo: RunReport::load(paths, GRPO_REPORT).map_err(text),
        postsave: PostSaveReport::load(paths).map_err(text),
        improvement: ImprovementReport::load(paths).map_err(text),
    };
    let mut provenance = Provenance::new();
    for name in [SFT_REPORT, GRPO_REPORT, POSTSAVE_REPORT, IMPROVEMENT_REPORT] {
        // A report that cannot be read is a condition that is not met.
        let _ = provenance.add_file(name, &paths.report(name));
    }
    let mut checks = Checks {
        paths,
        conditions: Vec::new(),
    };
    checks.trained("sft_backend", SFT_REPORT, &reports.sft);
    checks.trained("grpo_backend", GRPO_REPORT, &reports.grpo);
    checks.grpo_artifact(&reports.grpo);
    provenance.add_fallbacks(checks.fallbacks(&reports));
    checks.postsave(&reports.postsave, options.strict);
    checks.improvement(&reports.improvement);
    if options.strict {
        checks.source_is_grpo(&reports.postsave);
        checks.logprobs(&reports.postsave);
        checks.artifacts(&reports);
    }
    if let Some(index) = &options.links {
        checks.links(index);
    }
    GateReport {
        accepted: checks.conditions.iter().all(|one| one.passed),
        strict: options.strict,
        run: paths.run.clone(),
        conditions: checks.conditions,
        provenance,
    }
}

/// The conditions that were checked so far.
struct Checks<'a> {
    paths: &'a RunPaths,
    conditions: Vec<Condition>,
}

impl Checks<'_> {
    fn add(&mut self, name: &str, file: PathBuf, found: Result<String, String>) {
        self.conditions.push(Condition {
            name: name.to_owned(),
            passed: found.is_ok(),
            evidence: found.unwrap_or_else(|reason| reason),
            file,
        });
    }

    /// Checks that a stage ended and that this program trained it.
    fn trained(&mut self, name: &str, file: &str, report: &Result<RunReport, String>) {
        let found = report.as_ref().map_err(Clone::clone).and_then(|report| {
            let text = format!("status {}, backend {}", report.status, report.backend);
            let good = report.status == ReportStatus::Ok && report.backend == Backend::SentinelBurn;
            verdict(good, text)
        });
        self.add(name, self.paths.report(file), found);
    }

    fn grpo_artifact(&mut self, report: &Result<RunReport, String>) {
        let found = report.as_ref().map_err(Clone::clone).and_then(|report| {
            let path = report.artifact_path.display();
            let files = report.artifact.len();
            let good = !report.artifact_path.as_os_str().is_empty() && files > 0;
            verdict(good, format!("artifact_path {path:?} with {files} files"))
        });
        self.add("grpo_artifact", self.paths.report(GRPO_REPORT), found);
    }

    /// Checks that nothing in the chain is a fallback; returns the fallbacks.
    fn fallbacks(&mut self, reports: &Reports) -> Vec<Fallback> {
        let provenances = [
            reports.sft.as_ref().ok().map(|one| &one.provenance),
            reports.grpo.as_ref().ok().map(|one| &one.provenance),
            reports.postsave.as_ref().ok().map(|one| &one.provenance),
            reports.improvement.as_ref().ok().map(|one| &one.provenance),
        ];
        let read = provenances.iter().flatten().count();
        let mut found = Provenance::new();
        for one in provenances.into_iter().flatten() {
            found.add_fallbacks(one.fallbacks.iter().cloned());
        }
        let mut folders = 0;
        let mut broken = None;
        for kind in ArtifactKind::ALL {
            let folder = self.paths.checkpoints.join(kind.name());
            if folder.join(PROVENANCE_FILE).is_file() {
                folders += 1;
                broken = found.add_model_fallbacks(&folder).err().or(broken);
            }
        }
        let marks: Vec<String> = found.fallbacks.iter().map(ToString::to_string).collect();
        let verdict = match broken {
            Some(error) => Err(error.to_string()),
            None if marks.is_empty() && read == provenances.len() => Ok(format!(
                "no fallback in {read} reports and {folders} folders of artifacts"
            )),
            None if marks.is_empty() => Err(format!(
                "only {read} of {} reports could be read",
                provenances.len()
            )),
            None => Err(marks.join("; ")),
        };
        self.add("no_fallback", self.paths.reports.clone(), verdict);
        found.fallbacks
    }

    fn postsave(&mut self, report: &Result<PostSaveReport, String>, strict: bool) {
        let file = self.paths.report(POSTSAVE_REPORT);
        let source = report.as_ref().map_err(Clone::clone).and_then(|report| {
            let (status, source) = (report.status, report.model_source);
            let good = status == ReportStatus::Ok && source != ModelSource::FallbackPolicy;
            verdict(good, format!("status {status}, model_source {source}"))
        });
        self.add("postsave_source", file.clone(), source);
        let valid = report.as_ref().map_err(Clone::clone).and_then(|report| {
            let (valid, samples) = (report.valid, report.samples);
            let text = format!("{valid} of {samples} completions are an action");
            if let Some(fault) = report.inconsistency() {
                return Err(format!("{text}; {fault}"));
            }
            let needed = if strict { samples.max(1) } else { 1 };
            verdict(valid >= needed, text)
        });
        self.add("postsave_valid", file, valid);
    }

    fn improvement(&mut self, report: &Result<ImprovementReport, String>) {
        let found = report.as_ref().map_err(Clone::clone).and_then(|report| {
            let interval = report.interval.map_or_else(
                || "no interval".to_owned(),
                |[low, high]| format!("95 % interval {low:+.4} to {high:+.4}"),
            );
            let text = format!(
                "improved {}: {:+.4}, {interval}, {} pairs, greedy, seeds {}",
                report.improved, report.difference, report.pairs, report.seeds
            );
            match report.inconsistency() {
                Some(fault) => Err(format!("{text}; {fault}")),
                None => verdict(report.improved, text),
            }
        });
        self.add("improved", self.paths.report(IMPROVEMENT_REPORT), found);
    }

    fn source_is_grpo(&mut self, report: &Result<PostSaveReport, String>) {
        let found = report.as_ref().map_err(Clone::clone).and_then(|report| {
            let failed = report.attempts.iter();
            let failed: Vec<String> = failed
                .map(|one| format!("; {} could not be loaded: {}", one.artifact, one.error))
                .collect();
            let text = format!("{} answered{}", report.model_source, failed.concat());
            verdict(report.model_source == ModelSource::GrpoAdapter, text)
        });
        let file = self.paths.report(POSTSAVE_REPORT);
        self.add("grpo_answers", file, found);
    }

    fn logprobs(&mut self, report: &Result<PostSaveReport, String>) {
        let found = report.as_ref().map_err(Clone::clone).and_then(|report| {
            let Some(found) = &report.logprob_difference else {
                return Err("no log-probabilities were compared".to_owned());
            };
            let text = format!(
                "{:.1e} at most, {:.1e} allowed, {} tokens compared with {}",
                found.max, found.tolerance, found.tokens, found.compared_with
            );
            verdict(found.is_within_tolerance(), text)
        });
        let file = self.paths.report(POSTSAVE_REPORT);
        self.add("same_logprobs", file, found);
    }

    /// Checks that the artifacts are those that the reports describe.
    fn artifacts(&mut self, reports: &Reports) {
        let folder = |kind: ArtifactKind| self.paths.checkpoints.join(kind.name());
        let trained = [
            (ArtifactKind::SftAdapter, reports.sft.as_ref()),
            (ArtifactKind::GrpoAdapter, reports.grpo.as_ref()),
        ];
        let mut found = Vec::new();
        for (kind, report) in trained {
            let same = report.map_err(Clone::clone).and_then(|report| {
                let now = artifact::digests(&folder(kind)).map_err(|error| error.to_string())?;
                unchanged(&report.artifact, &now)
            });
            found.push((format!("{kind}_unchanged"), folder(kind), same));
        }
        let whole = |kind| {
            let found = Artifact::find(&self.paths.checkpoints, kind)?;
            found.digests()
        };
        let played = reports.improvement.as_ref().map_err(Clone::clone);
        let same = played.and_then(|report| {
            let text = |error: Error| error.to_string();
            let (sft, grpo) = (
                whole(ArtifactKind::Merged).map_err(text)?,
                whole(ArtifactKind::GrpoAdapter).map_err(text)?,
            );
            unchanged(&report.baseline_artifact, &sft)?;
            unchanged(&report.candidate_artifact, &grpo)
        });
        let file = self.paths.report(IMPROVEMENT_REPORT);
        found.push(("improvement_of_these".to_owned(), file, same));
        let answered = reports.postsave.as_ref().map_err(Clone::clone);
        let same = answered.and_then(|report| {
            let kind = match report.model_source {
                ModelSource::GrpoAdapter => ArtifactKind::GrpoAdapter,
                ModelSource::MergedSft => ArtifactKind::Merged,
                ModelSource::SftAdapter => ArtifactKind::SftAdapter,
                ModelSource::FallbackPolicy => return Err("a script answered".to_owned()),
            };
            let now = whole(kind).map_err(|error| error.to_string())?;
            unchanged(&report.artifact, &now)
        });
        let file = self.paths.report(POSTSAVE_REPORT);
        found.push(("postsave_of_these".to_owned(), file, same));
        for (name, file, same) in found {
            self.add(&name, file, same);
        }
    }

    fn links(&mut self, index: &Path) {
        let found = ArtifactIndex::load(index).map_err(|error| error.to_string());
        let found = found.and_then(|index| {
            let names: Vec<&str> = index.links.keys().map(String::as_str).collect();
            match names.as_slice() {
                [] => Err(
                    "it has no links: add some with `sentinel check --index DIR --link \
                           NAME=URL`"
                        .to_owned(),
                ),
                names => Ok(format!("links: {}", names.join(", "))),
            }
        });
        self.add("links", index.to_owned(), found);
    }
}

/// Returns `text` as the evidence for or against a condition.
const fn verdict(good: bool, text: String) -> Result<String, String> {
    if good { Ok(text) } else { Err(text) }
}

/// Compares the digests of a report with those of today.
fn unchanged(
    then: &BTreeMap<String, String>,
    now: &BTreeMap<String, String>,
) -> Result<String, String> {
    if then.is_empty() {
        return Err("the report has no digests".to_owned());
    }
    match artifact::difference(then, now) {
        Some(change) => Err(format!("{change} since the report")),
        None => Ok(format!("{} files are those of the report", now.len())),
    }
}

#[cfg(test)]
#[path = "gate_tests.rs"]
pub(crate) mod tests;
