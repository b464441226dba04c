//! Tests of the activation: what is refused, and what happens to files that change.

use super::*;
use crate::gate::tests::Fixture;
use crate::gate::{GateOptions, gate};

fn activation(run: &Fixture) -> ActivationOptions {
    let root = run.folder.path();
    ActivationOptions {
        source: ActivationSource::Sweep,
        run_id: "tiny".to_owned(),
        preferred: ArtifactKind::GrpoAdapter,
        label: None,
        allow_rejected: false,
        reports_dir: root.join("r"),
        checkpoints_dir: root.join("c"),
        results_dir: root.join("results"),
    }
}

fn judge(run: &Fixture) -> GateReport {
    let options = GateOptions {
        strict: true,
        links: None,
    };
    let found = gate(&run.paths, &options);
    run.write(GATE_REPORT, &found);
    found
}

/// Returns the message of an activation that is refused.
#[track_caller]
fn refused(activation: &ActivationOptions) -> String {
    match activate(activation) {
        Ok((model, _)) => panic!("activated {}", model.describe()),
        Err(error) => error.to_string(),
    }
}

#[test]
fn accepted_run_is_activated_and_mirrored() -> Result<(), Error> {
    let run = Fixture::accepted();
    assert!(judge(&run).accepted);
    let options = activation(&run);
    assert_eq!(ActiveModel::load(&options.checkpoints_dir)?, None);
    let (model, written) = activate(&options)?;
    assert_eq!(written.len(), 1);
    assert_eq!(model.artifact.kind, ArtifactKind::GrpoAdapter);
    assert_eq!(model.load_order, ArtifactKind::ALL);
    assert!(model.gate.accepted && model.gate.strict && model.digests.len() == 4);
    assert_eq!(
        ActiveModel::load(&options.checkpoints_dir)?.as_ref(),
        Some(&model)
    );
    std::fs::create_dir(&options.results_dir).expect("a folder");
    let (model, written) = activate(&ActivationOptions {
        preferred: ArtifactKind::Merged,
        label: Some("mine".to_owned()),
        ..options.clone()
    })?;
    assert_eq!(
        (model.artifact.kind, &*model.label),
        (ArtifactKind::Merged, "mine")
    );
    let [own, mirror] = written.as_slice() else {
        panic!("{written:?}");
    };
    let text = |path| std::fs::read_to_string(path).expect("a manifest");
    assert_eq!(text(own), text(mirror));
    Ok(())
}

#[test]
fn rejected_or_changed_run_is_not_activated() -> Result<(), Error> {
    let run = Fixture::accepted();
    let options = activation(&run);
    assert!(refused(&options).contains("the gate was not asked"));
    std::fs::remove_file(run.paths.report("improvement_report.json")).expect("a file");
    assert!(!judge(&run).accepted);
    let message = refused(&options);
    assert!(
        message.contains("the gate refused the run: no_fallback, improved"),
        "{message}"
    );
    assert!(message.contains("--allow-rejected"), "{message}");
    let (model, _) = activate(&ActivationOptions {
        allow_rejected: true,
        ..options.clone()
    })?;
    assert!(!model.gate.accepted && model.describe().contains("not accepted"));
    // A verdict on other reports does not count.
    let run = Fixture::accepted();
    judge(&run);
    run.write("sft_trl_run.json", &"others");
    let message = refused(&activation(&run));
    assert!(
        message.contains("sft_trl_run.json was changed since the gate read it"),
        "{message}"
    );
    // Nor does one on other weights.
    let run = Fixture::accepted();
    judge(&run);
    let weights = "grpo_adapter/adapter_model.safetensors";
    std::fs::write(run.paths.checkpoints.join(weights), "others").expect("a file");
    let message = refused(&activation(&run));
    assert!(
        message.contains("adapter_model.safetensors was changed since it was trained"),
        "{message}"
    );
    // Nor does one that is cut off.
    std::fs::write(run.paths.report(GATE_REPORT), "{\"accepted\": true").expect("a file");
    assert!(refused(&activation(&run)).contains("cut off"));
    Ok(())
}

#[test]
fn deleted_or_changed_active_files_are_an_error() -> Result<(), Error> {
    let run = Fixture::accepted();
    judge(&run);
    let options = activation(&run);
    activate(&options)?;
    let load_error = || match ActiveModel::load(&options.checkpoints_dir) {
        Ok(found) => panic!("{found:?}"),
        Err(error) => error.to_string(),
    };
    let base = run.paths.checkpoints.join("merged");
    std::fs::write(base.join("model.safetensors"), "others").expect("a file");
    assert!(
        load_error().contains("base/model.safetensors was changed since the model was activated")
    );
    std::fs::remove_dir_all(&base).expect("a folder");
    assert!(
        load_error().contains("base was deleted"),
        "{}",
        load_error()
    );
    let adapter = run.paths.checkpoints.join("grpo_adapter");
    std::fs::remove_file(adapter.join("adapter_model.safetensors")).expect("a file");
    std::fs::remove_dir_all(&adapter).expect("a folder");
    assert!(load_error().contains("the folder of the active model was deleted"));
    // An artifact that is not there cannot be activated, whatever the gate said before.
    assert!(
        refused(&options).contains("no such folder") || refused(&options).contains("no adapter")
    );
    let manifest = manifest_path(&options.checkpoints_dir);
    std::fs::write(manifest, "{").expect("a file");
    assert!(load_error().contains("cut off"));
    Ok(())
}
