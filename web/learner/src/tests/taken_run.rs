//! The folder of a run of the page, continued by the command line.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use sentinel_compact::run::checkpoint::Checkpoint;
use sentinel_compact::run_files::{CHECKPOINT_FILE, EVENTS_FILE, Event, TRAINER_STATE_FILE};
use sentinel_compact::{Learn, RunDir, load_model, train_until};
use sentinel_page_engine::RecordsEngine;
use sentinel_page_protocol::ExportedFile;

use super::*;
use crate::training_run::RunCheckpoint;

fn take_run(learner: &mut Learner) -> ExportedFile {
    for _ in 0..2 {
        learner.handle(LearnerRequest::TakeRun { run: 1 }.into());
    }
    match &take_replies(learner)[..] {
        [DeferredReply::Exported(file)] => file.clone(),
        other => panic!("{other:?}"),
    }
}

/// Unpacks an archive below `to`, and returns the names of its files. The library checks the headers.
fn unpack(archive: &[u8], to: &Path) -> Vec<String> {
    assert!(archive.ends_with(&[0; 1024]));
    let mut names = Vec::new();
    for entry in ::tar::Archive::new(archive).entries().expect("an archive") {
        let mut entry = entry.expect("an entry");
        assert!(entry.header().as_ustar().is_some());
        names.push(entry.path().expect("a name").display().to_string());
        assert!(entry.unpack_in(to).expect("a file"));
    }
    names
}

/// Returns the metrics of a log that the page's own reader of logs finds.
fn metrics_of_log(text: Vec<u8>) -> Vec<String> {
    let mut engine = RecordsEngine::default();
    let run = "tab".to_owned();
    engine.handle(Request::File {
        name: run.clone(),
        content: Ok(text),
        dropped: true,
    });
    engine.handle(Request::Training {
        world: "trust".to_owned(),
        runs: run,
    });
    let replies = std::iter::from_fn(|| engine.next_reply());
    let found = replies.filter_map(|reply| match reply {
        Reply::Deferred(bytes) => match decode(&bytes) {
            Ok(DeferredReply::Records(records)) => Some(records),
            _ => None,
        },
        other => panic!("{other:?}"),
    });
    let records = found.last().expect("the charts");
    let charts = records.sections[0].charts.iter();
    charts.map(|(_, note)| note.text.clone()).collect()
}

/// Continues the run in a folder for one update, and returns the events.
fn continue_natively<W: Learn>(folder: &Path) -> Vec<Event> {
    let (stop, mut events) = (AtomicBool::new(false), Vec::new());
    let config = Checkpoint::<W>::load(folder).expect("a checkpoint");
    let dir = RunDir {
        resume: true,
        ..RunDir::new(folder)
    };
    train_until::<W>(config.config(), &dir, &stop, &mut |event| {
        stop.fetch_or(matches!(event, Event::Step { .. }), Ordering::Relaxed);
        events.push(event.clone());
    })
    .expect("a run that continues");
    events
}

/// Trains for `updates` updates, of which `done` are of the phase, and continues natively.
fn run_continues<W: Learn>(updates: u32, phase: &str, done: usize) {
    let mut learner = Learner::default();
    learner.handle(start(spec(W::NAME, 1), 0, Vec::new()));
    learner.handle(LearnerRequest::Learn { run: 1, updates }.into());
    let states = take_replies(&mut learner).into_iter();
    let mut states = states.filter_map(|reply| match reply {
        DeferredReply::TrainingCheckpoint { state, .. } => Some(state),
        _ => None,
    });
    let state = states.next_back().expect("a saved state");
    let file = take_run(&mut learner);
    let name = format!("{}-{phase}", W::NAME);
    assert_eq!(file.name, format!("{name}.tar"));

    // The log survives the end of the tab.
    let mut restarted = Learner::default();
    restarted.handle(start(spec(W::NAME, 1), 0, state.clone()));
    take_ready(&mut restarted);
    assert!(take_run(&mut restarted) == file, "{name}");

    let folder = tempfile::tempdir().expect("a folder");
    let names = unpack(&file.content, folder.path());
    let expected = [
        "config.json",
        CHECKPOINT_FILE,
        EVENTS_FILE,
        "model.safetensors",
    ];
    let expected = expected.into_iter().chain([TRAINER_STATE_FILE]);
    let expected: Vec<_> = expected.map(|file| format!("{name}/{file}")).collect();
    assert_eq!(names, expected);
    let folder = folder.path().join(&name);

    let saved: RunCheckpoint = decode(&state).expect("a state");
    let (trainer, _) = (Checkpoint::<W>::load(&folder).expect("a checkpoint"))
        .resume()
        .expect("a trainer");
    assert_eq!(trainer.state().expect("a state"), saved.trainer, "{name}");
    assert_eq!(trainer.updates_done(), done, "{name}");
    let best = trainer.best().expect("the best policy");
    let model = load_model::<W::Net>(&folder).expect("a model");
    assert!(model.weights == best.weights && best.step <= done, "{name}");

    let log = std::fs::read(folder.join(TRAINER_STATE_FILE)).expect("a log");
    let metrics = metrics_of_log(log);
    for wanted in ["reward", "eval_reward"] {
        assert!(metrics.iter().any(|name| name == wanted), "{metrics:?}");
    }
    let lines = std::fs::read_to_string(folder.join(EVENTS_FILE)).expect("events");
    let events = continue_natively::<W>(&folder);
    let Event::Started { resumed_at, .. } = &events[0] else {
        panic!("no warning that events are lost: {events:?}");
    };
    assert_eq!(*resumed_at, done, "{name}");
    assert!(
        matches!(events[1], Event::Step { step, .. } if step == done + 1),
        "{events:?}"
    );
    let after = std::fs::read_to_string(folder.join(EVENTS_FILE)).expect("events");
    assert!(
        after.starts_with(&lines) && after.len() > lines.len(),
        "{name}"
    );
}

#[test]
fn a_taken_run_continues_natively() {
    run_continues::<TrustEnv>(4, "grpo", 4);
}

/// A run that imitates is taken as a run of that phase, and later as one of the next phase.
#[test]
fn a_taken_run_is_that_of_its_phase() {
    run_continues::<ClusterEnv>(4, "imitation", 4);
    run_continues::<ClusterEnv>(8, "grpo", 3);
    run_continues::<PolyguardEnv>(4, "imitation", 4);
}

#[test]
fn a_run_that_has_failed_is_not_taken() {
    let wild = TrainingSpec {
        learning_rate: "1e38".to_owned(),
        ..spec("trust", 1)
    };
    let mut learner = Learner::default();
    train(&mut learner, wild, 20);
    learner.handle(LearnerRequest::TakeRun { run: 1 }.into());
    learner.work(|| true);
    let replies = take_replies(&mut learner);
    assert!(
        matches!(&replies[..], [DeferredReply::FileProblem(reason)] if reason.contains("cannot be continued")),
        "{replies:?}"
    );
}
