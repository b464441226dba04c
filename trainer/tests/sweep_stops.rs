//! Sweeps that are asked to stop, by a signal or through the library, and continue.
#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    reason = "a test stops at the first thing that is not there"
)]

use std::fs;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use sentinel_trainer::sweep::{self, Stage, SweepActivity, SweepArgs, SweepOptions};
use serde_json::Value;

use crate::sweep::{SweepFolder, with_ablation};

/// Ctrl-C ends a sweep; the same command continues it.
#[test]
fn interrupted_sweep_continues() {
    let place = SweepFolder::new("[[entry]]\nmodel = 'tiny'\n[entry.base]\nmax_steps = 40\n");
    let mut command = place.command("sweep --manifest m.toml");
    let mut child = command.stderr(Stdio::null()).spawn().unwrap();
    let events = place.path("checkpoints/sweeps/tiny/base/events.jsonl");
    while !events.exists() && child.try_wait().unwrap().is_none() {
        std::thread::sleep(Duration::from_millis(5));
    }
    let sent = Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status();
    assert!(sent.unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let base = &place.report("tiny", "stages")["stages"]["base"];
    assert_eq!(base["status"], "interrupted");
    let text = place.succeeds("sweep --manifest m.toml");
    assert!(text.contains("tiny base: continues"), "{text}");
}

/// Every stage after training ends when it is asked to stop, without its report, and the same plan
/// continues there.
#[test]
fn stages_after_training_end_on_request() {
    let place = with_ablation();
    let plan = SweepArgs {
        models: None,
        manifest: Some(place.path("m.toml")),
        world: None,
        task: None,
        rules: None,
        data: None,
        index: None,
        allow_fallback: false,
        reports_dir: place.path("outputs/reports"),
        checkpoints_dir: place.path("checkpoints"),
    };
    let plan = plan.plan().unwrap();
    let options = SweepOptions {
        jobs: 1,
        memory: None,
        refuse_too_large: false,
        overwrite: false,
        program: env!("CARGO_BIN_EXE_sentinel").into(),
    };
    // Returns the ids of finished and interrupted runs of a sweep that is asked to stop in a stage.
    let run = |stopped: Option<Stage>| {
        let stop = AtomicBool::new(false);
        let outcome = sweep::run(&plan, &options, &stop, &|event| {
            if event.stage == stopped && matches!(event.activity, SweepActivity::Started(_)) {
                stop.store(true, Ordering::Relaxed);
            }
        });
        let outcome = outcome.unwrap();
        assert_eq!(outcome.failed, []);
        (outcome.finished, outcome.interrupted)
    };
    let tiny = || vec!["tiny".to_owned()];
    for (stage, report) in [
        (Stage::Postsave, "postsave_inference"),
        (Stage::Eval, "eval_base"),
        (Stage::Improvement, "improvement_report"),
        (Stage::Ablation, "policy_ablations"),
    ] {
        assert_eq!(run(Some(stage)), (vec![], tiny()), "{stage:?}");
        let record = &place.report("tiny", "stages")["stages"][stage.name()];
        assert_eq!(record["status"], "interrupted", "{stage:?}");
        let reports = place.path("outputs/reports/sweeps");
        let sweep = fs::read(reports.join("sweep.json")).unwrap();
        let sweep: Value = serde_json::from_slice(&sweep).unwrap();
        assert_eq!(
            (
                &sweep["entries"][0]["stage"],
                &sweep["entries"][0]["status"]
            ),
            (&stage.name().into(), &"interrupted".into())
        );
        let report = reports.join(format!("tiny/{report}.json"));
        assert!(!report.exists(), "{stage:?} wrote {}", report.display());
    }
    assert_eq!(run(None), (tiny(), vec![]));
    assert_eq!(
        place.report("tiny", "policy_ablations")["ablation"]
            .as_array()
            .unwrap()
            .len(),
        13
    );
}

/// SIGTERM ends a sweep in the middle of an evaluation that would go on for long.
#[test]
fn terminated_sweep_ends_in_evaluation() {
    let place = SweepFolder::new("[[entry]]\nmodel = 'tiny'\n");
    let manifest = fs::read_to_string(place.path("m.toml")).unwrap();
    let manifest = manifest.replace("1000..1001\", max_completion_length = 6", "1000..9000\"");
    fs::write(place.path("m.toml"), manifest).unwrap();
    let mut command = place.command("sweep --manifest m.toml");
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let stages = place.path("outputs/reports/sweeps/tiny/stages.json");
    let evaluates = || fs::read_to_string(&stages).is_ok_and(|text| text.contains("\"eval\""));
    while !evaluates() && child.try_wait().unwrap().is_none() {
        std::thread::sleep(Duration::from_millis(5));
    }
    let sent = Command::new("kill")
        .args(["-TERM", &child.id().to_string()])
        .status();
    assert!(sent.unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let eval = &place.report("tiny", "stages")["stages"]["eval"];
    assert_eq!(eval["status"], "interrupted");
    assert!(
        !place
            .path("outputs/reports/sweeps/tiny/eval_base.json")
            .exists()
    );
}
