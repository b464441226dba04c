//! Tests of the gate: a run that is accepted, and every way in which it is not.

use sentinel_base::precision::Precision;

use super::*;
use crate::artifact::tests as artifacts;
use crate::improvement::tests::compared;
use crate::postsave::tests::row;
use crate::postsave::{Attempt, Compared, LogProbDifference, logprob_tolerance};
use crate::run_report::tests::report;

/// The folders of a run with its files.
pub(crate) struct Fixture {
    /// The folder that holds both folders of the run.
    pub(crate) folder: tempfile::TempDir,
    /// The folders of the run.
    pub(crate) paths: RunPaths,
}

impl Fixture {
    /// Writes the reports and artifacts of a run that the strict gate accepts.
    pub(crate) fn accepted() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let (reports, checkpoints) = (folder.path().join("r"), folder.path().join("c"));
        let paths = RunPaths::for_sweep(&reports, &checkpoints, "tiny").expect("a run");
        let checkpoints = &paths.checkpoints;
        let sft = artifacts::adapter(checkpoints, ArtifactKind::SftAdapter, "org/model");
        artifacts::merged(checkpoints);
        let grpo = artifacts::adapter(checkpoints, ArtifactKind::GrpoAdapter, "x/merged");
        let fixture = Self { folder, paths };
        fixture.write(SFT_REPORT, &report(&sft, Provenance::new()));
        fixture.write(GRPO_REPORT, &report(&grpo, Provenance::new()));
        let digests = |kind| {
            let found = Artifact::find(&fixture.paths.checkpoints, kind);
            found.and_then(|found| found.digests()).expect("digests")
        };
        let rows = vec![row(true, 1.0), row(true, 2.0)];
        let mut postsave = PostSaveReport::new(ModelSource::GrpoAdapter, rows, Provenance::new());
        postsave.artifact = digests(ArtifactKind::GrpoAdapter);
        let pairs = [(&-1.0, &-1.0)];
        postsave.logprob_difference = LogProbDifference::from_pairs(
            Compared::Training,
            logprob_tolerance(Precision::F32),
            pairs.into_iter(),
        );
        fixture.write(POSTSAVE_REPORT, &postsave);
        let mut improvement = compared(&[0.5, 0.6, 0.7], &[0.6, 0.71, 0.8]);
        improvement.baseline_artifact = digests(ArtifactKind::Merged);
        improvement.candidate_artifact = digests(ArtifactKind::GrpoAdapter);
        fixture.write(IMPROVEMENT_REPORT, &improvement);
        fixture
    }

    /// Writes a report of the run.
    pub(crate) fn write<T: Serialize>(&self, name: &str, report: &T) {
        json_file::write_json(&self.paths.report(name), report).expect("a report");
    }

    /// Reads, changes and writes a report.
    fn edit<T: Serialize + serde::de::DeserializeOwned>(
        &self,
        name: &str,
        change: impl FnOnce(&mut T),
    ) {
        let mut report = json_file::read_json::<T>(&self.paths.report(name), "").expect("a report");
        change(&mut report);
        self.write(name, &report);
    }

    fn gate(&self, strict: bool) -> GateReport {
        let links = None;
        gate(&self.paths, &GateOptions { strict, links })
    }

    /// Returns the names and evidence of the conditions that are not met.
    #[track_caller]
    fn failed(&self, strict: bool) -> Vec<String> {
        let found = self.gate(strict);
        let failed = found.conditions.iter().filter(|one| !one.passed);
        let failed: Vec<String> = failed
            .map(|one| format!("{}: {}", one.name, one.evidence))
            .collect();
        assert_eq!(found.accepted, failed.is_empty(), "{failed:?}");
        failed
    }
}

#[test]
fn run_with_all_evidence_is_accepted() {
    let run = Fixture::accepted();
    assert_eq!(run.failed(true), Vec::<String>::new());
    let found = run.gate(true);
    assert_eq!(found.provenance.inputs.len(), 4);
    assert!(found.conditions.iter().all(|one| !one.evidence.is_empty()));
    run.write(GATE_REPORT, &found);
    let read = GateReport::load(&run.paths).expect("a verdict");
    assert_eq!(read, found);
    assert_eq!(read.changed_input(&run.paths), None);
    run.edit(POSTSAVE_REPORT, |report: &mut PostSaveReport| {
        report.samples += 1;
    });
    assert_eq!(
        read.changed_input(&run.paths).as_deref(),
        Some(POSTSAVE_REPORT)
    );
}

#[test]
fn fallback_in_any_report_or_folder_is_refused() {
    let mark = |provenance: &mut Provenance| provenance.add_fallback("init", "a stand-in for a/b");
    for name in [SFT_REPORT, GRPO_REPORT] {
        let run = Fixture::accepted();
        run.edit(name, |report: &mut RunReport| mark(&mut report.provenance));
        let failed = run.failed(false);
        assert_eq!(failed, ["no_fallback: fallback (init): a stand-in for a/b"]);
        run.edit(name, |report: &mut RunReport| {
            report.backend = Backend::Fallback;
        });
        assert_eq!(run.failed(false).len(), 2);
    }
    let run = Fixture::accepted();
    run.edit(IMPROVEMENT_REPORT, |report: &mut ImprovementReport| {
        mark(&mut report.provenance);
    });
    assert_eq!(run.failed(false).len(), 1);
    // The mark of a folder counts even if the reports have lost it.
    let run = Fixture::accepted();
    let mut own = Provenance::new();
    mark(&mut own);
    own.write(&run.paths.checkpoints.join("merged"))
        .expect("a file");
    assert_eq!(run.failed(false).len(), 1);
    assert_eq!(run.gate(false).provenance.fallbacks.len(), 1);
    std::fs::write(
        run.paths.checkpoints.join("merged").join(PROVENANCE_FILE),
        "{",
    )
    .expect("a file");
    assert!(run.failed(false)[0].contains("does not say where it comes from"));
    // A script that answers in place of a model.
    let run = Fixture::accepted();
    run.edit(POSTSAVE_REPORT, |report: &mut PostSaveReport| {
        report.model_source = ModelSource::FallbackPolicy;
        report.status = ReportStatus::Failed;
    });
    assert!(run.failed(false)[0].contains("fallback_policy"));
}

#[test]
fn foreign_backend_in_report_is_refused() {
    let run = Fixture::accepted();
    let path = run.paths.report(SFT_REPORT);
    let text = std::fs::read_to_string(&path).expect("a report");
    std::fs::write(&path, text.replace("sentinel_burn", "trl_unsloth")).expect("a file");
    let failed = run.failed(false);
    assert!(
        failed[0].contains("unknown variant `trl_unsloth`"),
        "{failed:?}"
    );
}

#[test]
fn missing_or_truncated_report_fails_gate() {
    for name in [SFT_REPORT, GRPO_REPORT, POSTSAVE_REPORT, IMPROVEMENT_REPORT] {
        let run = Fixture::accepted();
        let path = run.paths.report(name);
        let text = std::fs::read_to_string(&path).expect("a report");
        std::fs::write(&path, &text[..text.len() / 2]).expect("a file");
        let assert_failed_with = |reason: &str| {
            let failed = run.failed(false);
            let found = failed.iter().any(|one| one.contains(reason));
            assert!(found, "{failed:?}");
        };
        assert_failed_with("the file is cut off");
        std::fs::remove_file(&path).expect("a file");
        assert_failed_with("`sentinel sweep`");
    }
}

#[test]
fn failed_conditions_are_reported_with_evidence() {
    let run = Fixture::accepted();
    run.edit(GRPO_REPORT, |report: &mut RunReport| {
        report.status = ReportStatus::Interrupted;
    });
    assert_eq!(
        run.failed(false),
        ["grpo_backend: status interrupted, backend sentinel_burn"]
    );
    let run = Fixture::accepted();
    run.edit(GRPO_REPORT, |report: &mut RunReport| {
        report.artifact_path = PathBuf::new();
    });
    assert!(run.failed(false)[0].starts_with("grpo_artifact"));
    let run = Fixture::accepted();
    run.write(IMPROVEMENT_REPORT, &compared(&[0.5, 0.6], &[0.5, 0.6]));
    assert!(run.failed(false)[0].starts_with("improved: improved false: +0.0000, 95 % interval"));
    let run = Fixture::accepted();
    run.edit(POSTSAVE_REPORT, |report: &mut PostSaveReport| {
        report.rows[0].valid = false;
    });
    assert!(run.failed(false)[0].contains("valid is 2, but the rows give 1"));
    run.edit(POSTSAVE_REPORT, |report: &mut PostSaveReport| {
        (report.valid, report.invalid) = (1, 1);
    });
    assert!(run.failed(false).is_empty());
    assert_eq!(
        run.failed(true),
        ["postsave_valid: 1 of 2 completions are an action"]
    );
    run.edit(POSTSAVE_REPORT, |report: &mut PostSaveReport| {
        report.logprob_difference = None;
    });
    assert!(run.failed(true)[1].starts_with("same_logprobs: no log-probabilities"));
}

#[test]
fn strict_gate_requires_artifacts_of_reports() {
    let run = Fixture::accepted();
    let weights = run
        .paths
        .checkpoints
        .join("grpo_adapter/adapter_model.safetensors");
    std::fs::write(&weights, "others").expect("a file");
    assert!(run.failed(false).is_empty());
    let failed = run.failed(true);
    assert_eq!(failed.len(), 3, "{failed:?}");
    assert!(
        failed[0].contains("adapter_model.safetensors was changed"),
        "{failed:?}"
    );
    std::fs::remove_file(&weights).expect("a file");
    assert!(run.failed(true)[0].contains("was deleted"));
    let run = Fixture::accepted();
    run.edit(POSTSAVE_REPORT, |report: &mut PostSaveReport| {
        report.model_source = ModelSource::MergedSft;
        report.attempts = vec![Attempt {
            artifact: ArtifactKind::GrpoAdapter,
            error: "it was trained on other weights".to_owned(),
        }];
    });
    let failed = run.failed(true);
    assert!(
        failed[0].contains("grpo_adapter could not be loaded"),
        "{failed:?}"
    );
}

#[test]
fn required_links_must_be_in_artifact_index() {
    let run = Fixture::accepted();
    let index = run.folder.path().join("artifact_index.json");
    let options = GateOptions {
        strict: false,
        links: Some(index.clone()),
    };
    let last = || {
        gate(&run.paths, &options)
            .conditions
            .pop()
            .expect("a condition")
    };
    assert!(!last().passed && last().evidence.contains("there is no such file"));
    let mut found = ArtifactIndex::default();
    json_file::write_json(&index, &found).expect("a file");
    assert!(!last().passed && last().evidence.contains("no links"));
    found
        .links
        .insert("model".to_owned(), "https://example.org/model".to_owned());
    json_file::write_json(&index, &found).expect("a file");
    assert!(last().passed && last().evidence == "links: model");
}
