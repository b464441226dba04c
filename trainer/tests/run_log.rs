//! The log of a run: written event by event, and cut at the position of a checkpoint.
#![allow(
    clippy::unwrap_used,
    reason = "a test stops at the first thing that is not there"
)]

use std::path::Path;

use sentinel_trainer::rl::Metrics;
use sentinel_trainer::run::{
    Event, LogPosition, RunLog, Scores, WallTimes, read_events, tensorboard,
};
use serde_json::json;

const TASKS: [&str; 3] = ["task1", "task2", "task3"];

fn events() -> Vec<Event> {
    let mut events = vec![Event::Started {
        method: "grpo".to_owned(),
        config: json!({"name": "little"}),
        resumed_at: 0,
        total: 10,
        parameters: 3,
        trained: 3,
        fallback: false,
        unix_time: 1.7e9,
    }];
    for step in 1..=10 {
        let metrics = Metrics::from([
            ("reward".to_owned(), 1.0 / step as f64),
            ("step_time".to_owned(), 0.5),
        ]);
        events.push(Event::Step {
            step,
            epoch: None,
            metrics,
        });
        if step == 5 {
            let scores = Scores {
                tasks: vec![0.1, 0.2, 0.6],
                overall: 0.3,
            };
            events.push(Event::Eval {
                step,
                scores,
                metrics: Metrics::new(),
            });
        }
    }
    events
}

/// Returns the bytes of TensorBoard's file.
fn tensorboard(events: &[Event]) -> Vec<u8> {
    let tasks = TASKS.map(str::to_owned);
    let mut wall_times = WallTimes::default();
    (events.iter())
        .flat_map(|event| tensorboard::records(event, &tasks, &mut wall_times))
        .collect()
}

/// Returns the events and the TensorBoard bytes of a folder's log.
fn logged(folder: &Path) -> (Vec<Event>, Vec<u8>) {
    let board = folder.join("runs/events.out.tfevents.0.sentinel");
    let events = read_events(&folder.join("events.jsonl")).unwrap();
    (events, std::fs::read(board).unwrap())
}

fn tasks() -> Vec<String> {
    TASKS.map(str::to_owned).to_vec()
}

#[test]
fn run_log_appends_events_and_resumes_at_checkpoint() {
    let folder = tempfile::tempdir().unwrap();
    let (path, events) = (folder.path().to_owned(), events());
    let mut seen = 0;
    let mut listen = |event: &Event| {
        // A reader of the file sees the event that has just happened.
        seen += 1;
        let (found, _) = logged(&path);
        assert_eq!((found.len(), found.last()), (seen, Some(event)));
    };
    let mut log = RunLog::create(&path, tasks(), &mut listen).unwrap();
    let mut position = None;
    for (place, event) in events.iter().take(12).enumerate() {
        log.emit(event.clone()).unwrap();
        if place == 7 {
            position = Some(log.sync().unwrap());
        }
    }
    drop(log);
    let position = position.unwrap();
    assert!(matches!(position, LogPosition::Bytes(_)));

    // A run that was killed in the middle of a line continues from its checkpoint.
    let file = path.join("events.jsonl");
    let mut text = std::fs::read_to_string(&file).unwrap();
    text.push_str("{\"event\":\"st");
    std::fs::write(&file, text).unwrap();
    let mut nobody = |_: &Event| ();
    let mut log = RunLog::resume(&path, tasks(), position.clone(), 7, &mut nobody).unwrap();
    assert_eq!(log.events(), &events[..8]);
    assert_eq!(
        logged(&path),
        (events[..8].to_vec(), tensorboard(&events[..8]))
    );
    log.emit(events[8].clone()).unwrap();
    drop(log);
    assert_eq!(
        logged(&path),
        (events[..9].to_vec(), tensorboard(&events[..9]))
    );

    // Without the file the run continues too, and a warning says what is lost.
    std::fs::remove_file(&file).unwrap();
    let log = RunLog::resume(&path, tasks(), position, 7, &mut nobody).unwrap();
    let [Event::Warning { step: 7, text }] = log.events() else {
        panic!("{:?}", log.events())
    };
    assert!(text.contains("events.jsonl"), "{text}");
    drop(log);

    // Checkpoints of earlier versions hold the events themselves.
    let before = r#"[{"event":"started","config":{"name":"grpo"},"resumed_at":0,"parameters":3,"unix_time":1.0},
        {"event":"step","step":1,"metrics":{"reward":0.5}}]"#;
    let position: LogPosition = serde_json::from_str(before).unwrap();
    let log = RunLog::resume(&path, tasks(), position, 1, &mut nobody).unwrap();
    assert_eq!(log.events().len(), 2);
    assert_eq!(
        logged(&path),
        (log.events().to_vec(), tensorboard(log.events()))
    );
}
