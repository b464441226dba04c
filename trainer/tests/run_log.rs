//! The log of a run: written event by event, and cut at the position of a checkpoint.
#![allow(
    clippy::unwrap_used,
    reason = "a test stops at the first thing that is not there"
)]

use std::cell::Cell;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use sentinel_base::Error;
use sentinel_rl::{Metrics, Scores};
use sentinel_run::{
    Evaluation, Event, HistoryFormat, LogPosition, Outcome, Run, RunDir, RunHistory, RunLog,
    RunSchedule, TRAINER_STATE_FILE, TrainerState, UpdateReport, WallTimes, read_events,
    run_to_end, tensorboard,
};
use serde_json::{Value, json};

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

fn format() -> HistoryFormat {
    HistoryFormat {
        tasks: TASKS.map(str::to_owned).to_vec(),
        max_steps: 10,
        steps_per_epoch: 10,
        logging_steps: 3,
        rounded: false,
    }
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
    let mut log = RunLog::create(&path, format(), &mut listen).unwrap();
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
    let mut log = RunLog::resume(&path, format(), position.clone(), 7, &mut nobody).unwrap();
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
    drop(RunLog::resume(&path, format(), position, 7, &mut nobody).unwrap());
    let (found, _) = logged(&path);
    let [Event::Warning { step: 7, text }] = &found[..] else {
        panic!("{found:?}")
    };
    assert!(text.contains("events.jsonl"), "{text}");

    // Checkpoints of earlier versions hold the events themselves.
    let before = r#"[{"event":"started","config":{"name":"grpo"},"resumed_at":0,"parameters":3,"unix_time":1.0},
        {"event":"step","step":1,"metrics":{"reward":0.5}}]"#;
    let position: LogPosition = serde_json::from_str(before).unwrap();
    drop(RunLog::resume(&path, format(), position, 1, &mut nobody).unwrap());
    let (found, board) = logged(&path);
    assert_eq!((found.len(), board), (2, tensorboard(&found)));
}

/// Returns the text of `trainer_state.json` after `step` steps.
fn trainer_state(folder: &Path, history: &mut RunHistory, step: usize) -> String {
    let path = folder.join(TRAINER_STATE_FILE);
    state(step).save(history, &path).unwrap();
    std::fs::read_to_string(path).unwrap()
}

fn state(step: usize) -> TrainerState {
    TrainerState {
        snapshots: true,
        step,
        eval_steps: Some(5),
        save_steps: 1,
        train_batch_size: 1,
        tokens: Some((7, 42.0)),
        extra: serde_json::Map::new(),
    }
}

/// A run that was resumed in the middle of a window has the log of one that never stopped.
#[test]
fn resumed_log_has_same_trainer_state() {
    let (whole, cut) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mut nobody = |_: &Event| ();
    let mut log = RunLog::create(whole.path(), format(), &mut nobody).unwrap();
    for event in events() {
        log.emit(event).unwrap();
    }
    let expected = trainer_state(whole.path(), log.history_mut(), 10);
    let mut nobody = |_: &Event| ();
    let mut log = RunLog::create(cut.path(), format(), &mut nobody).unwrap();
    for event in &events()[..6] {
        log.emit(event.clone()).unwrap();
    }
    let position = log.sync().unwrap();
    log.emit(events()[1].clone()).unwrap();
    drop(log);
    let mut nobody = |_: &Event| ();
    let mut log = RunLog::resume(cut.path(), format(), position, 5, &mut nobody).unwrap();
    for event in &events()[6..] {
        log.emit(event.clone()).unwrap();
    }
    assert_eq!(trainer_state(cut.path(), log.history_mut(), 10), expected);
    let expected: Value = serde_json::from_str(&expected).unwrap();
    let steps = expected["log_history"].as_array().unwrap().iter();
    let steps: Vec<&Value> = steps.map(|entry| &entry["step"]).collect();
    assert_eq!(steps, [3, 5, 6, 9, 10]);
}

/// A long log is written whole at every save, also once its entries no longer fit into the memory that they
/// may take.
#[test]
fn long_log_is_written_whole() {
    let folder = tempfile::tempdir().unwrap();
    let format = HistoryFormat {
        max_steps: 6000,
        logging_steps: 1,
        ..format()
    };
    let mut history = RunHistory::new(folder.path(), format);
    for step in 1..=6000 {
        let metrics = (0..10).map(|n| (format!("metric_{n}"), f64::from(n) / step as f64));
        let event = Event::Step {
            step,
            epoch: None,
            metrics: metrics.collect(),
        };
        history.add(event).unwrap();
        if step % 2000 == 1 || step == 6000 {
            let text = trainer_state(folder.path(), &mut history, step);
            let state: Value = serde_json::from_str(&text).unwrap();
            let log = state["log_history"].as_array().unwrap();
            assert_eq!((log.len(), &state["global_step"]), (step, &step.into()));
            for (index, entry) in log.iter().enumerate() {
                assert_eq!(entry["step"], index + 1);
                assert_eq!(entry["metric_9"], 9.0 / (index + 1) as f64);
            }
            // The text is that of a whole list.
            assert_eq!(text, serde_json::to_string_pretty(&state).unwrap() + "\n");
        }
    }
    // The entries wait in a file without a name.
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

/// A run without a model, which counts what is written.
#[derive(Default)]
struct Counting {
    done: usize,
    checkpoints: Cell<usize>,
    states: Cell<usize>,
    bytes: Cell<u64>,
}

/// The number of steps of such a run.
const STEPS: usize = 500;

impl Run for Counting {
    type Error = Error;

    fn start_event(&self) -> Result<Event, Error> {
        Ok(events()[0].clone())
    }

    fn steps_done(&self) -> usize {
        self.done
    }

    fn is_finished(&self) -> bool {
        self.done == STEPS
    }

    fn advance(&mut self) -> Result<UpdateReport, Error> {
        self.done += 1;
        Ok(UpdateReport {
            steps: vec![Metrics::from([("loss".to_owned(), 0.5)])],
            ..UpdateReport::default()
        })
    }

    fn evaluate(&mut self) -> Result<Evaluation, Error> {
        unreachable!("the schedule has no evaluation")
    }

    fn best(&self) -> Option<(usize, f64)> {
        None
    }

    fn keep_best(&mut self, _score: f64) -> Result<(), Error> {
        Ok(())
    }

    fn finish(&mut self, seconds: f64) -> Result<Event, Error> {
        Ok(Event::Finished {
            step: self.done,
            seconds: Some(seconds),
            scores: None,
            baselines: Vec::new(),
        })
    }

    fn save_checkpoint(&self, folder: &Path, _position: LogPosition) -> Result<(), Error> {
        self.checkpoints.set(self.checkpoints.get() + 1);
        std::fs::write(folder.join("checkpoint.safetensors"), "").map_err(Error::Output)
    }

    fn save_model(&self, _folder: &Path, _current: bool) -> Result<(), Error> {
        Ok(())
    }

    fn save_trainer_state(&self, folder: &Path, history: &mut RunHistory) -> Result<(), Error> {
        let text = trainer_state(folder, history, self.done);
        self.states.set(self.states.get() + 1);
        self.bytes.set(self.bytes.get() + text.len() as u64);
        Ok(())
    }

    fn save_summaries(&self, _folder: &Path, _history: &RunHistory) -> Result<(), Error> {
        Ok(())
    }
}

/// Runs to the end, and returns the training with the steps of the last `trainer_state.json`.
fn counted(save_total_limit: usize) -> (Counting, Value, u64) {
    let folder = tempfile::tempdir().unwrap();
    let schedule = RunSchedule {
        eval_steps: None,
        save_steps: 1,
        save_total_limit,
        early_stopping_patience: None,
    };
    let format = HistoryFormat {
        max_steps: STEPS,
        logging_steps: 1,
        ..format()
    };
    let mut nobody = |_: &Event| ();
    let mut log = RunLog::create(folder.path(), format, &mut nobody).unwrap();
    let (mut training, dir) = (Counting::default(), RunDir::new(folder.path()));
    let ended = run_to_end(
        &mut training,
        &mut log,
        &dir,
        &schedule,
        &AtomicBool::new(false),
    );
    assert_eq!(ended.unwrap(), Outcome::Finished);
    let text = std::fs::read(folder.path().join(TRAINER_STATE_FILE)).unwrap();
    let state: Value = serde_json::from_slice(&text).unwrap();
    (training, state, text.len() as u64)
}

/// Without folders `checkpoint-N` nothing needs the whole log at each save: all of them together write a
/// multiple of its last size, not of its square.
#[test]
fn trainer_state_is_written_as_often_as_needed() {
    let (run, state, size) = counted(0);
    assert_eq!(run.checkpoints.get(), STEPS);
    assert!((10..80).contains(&run.states.get()), "{}", run.states.get());
    assert!(run.bytes.get() < 10 * size, "{} {size}", run.bytes.get());
    // Every step, and the summary.
    assert_eq!(state["log_history"].as_array().unwrap().len(), STEPS + 1);
    assert_eq!(state["global_step"], STEPS);
    // A folder checkpoint-N needs one.
    let (run, ..) = counted(1);
    assert_eq!(run.states.get(), run.checkpoints.get());
}
