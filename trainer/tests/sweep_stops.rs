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

/// Starts a sweep, sends it a signal once it `is_there`, and checks that it ends as interrupted.
fn interrupt(place: &SweepFolder, signal: &str, is_there: impl Fn() -> bool) {
    let mut command = place.command("sweep --manifest m.toml");
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    while !is_there() && child.try_wait().unwrap().is_none() {
        std::thread::sleep(Duration::from_millis(5));
    }
    let id = child.id().to_string();
    let sent = Command::new("kill").args([signal, &id]).status();
    assert!(sent.unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(130));
}

/// Ctrl-C ends a sweep; the same command continues it, from a whole `checkpoint-N` if the run's own checkpoint
/// is lost.
#[test]
fn interrupted_sweep_continues() {
    let place = SweepFolder::new("[[entry]]\nmodel = 'tiny'\n[entry.base]\nmax_steps = 40\n");
    let run = place.path("checkpoints/sweeps/tiny/base");
    let events = run.join("events.jsonl");
    interrupt(&place, "-INT", || events.exists());
    let base = &place.report("tiny", "stages")["stages"]["base"];
    assert_eq!(base["status"], "interrupted");
    fs::remove_file(run.join("checkpoint.safetensors")).unwrap();
    let steps = sentinel_run::snapshot::steps(&run).unwrap();
    let step = *steps.last().unwrap();
    let text = place.succeeds("sweep --manifest m.toml");
    assert!(text.contains("tiny base: continues"), "{text}");
    let events = fs::read_to_string(events).unwrap();
    let starts = events.lines().filter(|line| line.contains("\"started\""));
    let starts: Vec<Value> = starts
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(starts.last().unwrap()["resumed_at"], step, "{starts:?}");
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
    let stages = place.path("outputs/reports/sweeps/tiny/stages.json");
    interrupt(&place, "-TERM", || {
        fs::read_to_string(&stages).is_ok_and(|text| text.contains("\"eval\""))
    });
    let eval = &place.report("tiny", "stages")["stages"]["eval"];
    assert_eq!(eval["status"], "interrupted");
    assert!(
        !place
            .path("outputs/reports/sweeps/tiny/eval_base.json")
            .exists()
    );
}
