//! The files of a run folder, read back by other means than they were written.
#![allow(
    clippy::unwrap_used,
    reason = "a test stops at the first thing that is not there"
)]

use std::path::Path;

use sentinel_compact::config::{Method, TrainConfig};
use sentinel_compact::run::outputs;
use sentinel_compact::run::outputs::card;
use sentinel_env::trust::TrustEnv;
use sentinel_rl::{Metrics, Scores};
use sentinel_run::{
    Event, RunHistory, TRAINER_STATE_FILE, WallTimes, default_logging_steps, parse_events,
    read_events, tensorboard,
};
use serde_json::Value;

const TASKS: [&str; 3] = ["task1", "task2", "task3"];

fn config() -> TrainConfig {
    TrainConfig {
        name: "little".to_owned(),
        max_steps: 301,
        hidden: 48,
        adam_beta2: 0.99,
        test_seeds: "2000..2500".parse().unwrap(),
        ..TrainConfig::default()
    }
}

fn scores(first: f64) -> Scores {
    let tasks = [first, first / 3.0, first / 7.0];
    Scores {
        tasks: tasks.to_vec(),
        overall: tasks.iter().sum::<f64>() / 3.0,
    }
}

fn reward(step: usize) -> f64 {
    (step as f64).sin() / 3.0
}

/// Returns the events of 301 updates: windows of three, and a last one of a single update.
fn events() -> Vec<Event> {
    let config = config();
    let mut events = vec![Event::Started {
        method: "grpo".to_owned(),
        config: serde_json::to_value(&config).unwrap(),
        resumed_at: 0,
        total: config.max_steps,
        parameters: 9_731,
        trained: 9_731,
        fallback: false,
        unix_time: 1.7e9,
    }];
    for step in 1..=config.max_steps {
        let metrics = Metrics::from([
            ("reward".to_owned(), reward(step)),
            ("learning_rate".to_owned(), 1.0 / step as f64),
            ("num_env_steps".to_owned(), (step * 1_234_567) as f64),
        ]);
        events.push(Event::Step {
            step,
            epoch: None,
            metrics,
        });
        if step % 100 == 0 {
            // The best one is in the middle.
            let scores = scores(if step == 200 { 0.9 } else { 0.6 });
            events.push(Event::Eval {
                step,
                scores,
                metrics: Metrics::new(),
            });
            events.push(Event::Saved { step });
        }
    }
    events.push(Event::Finished {
        step: config.max_steps,
        seconds: None,
        scores: Some(scores(0.87654321)),
        baselines: Vec::new(),
    });
    events
}

fn lines(events: &[Event]) -> String {
    events
        .iter()
        .map(|event| event.to_line().unwrap())
        .collect()
}

/// Returns the bytes of TensorBoard's file.
fn tensorboard(events: &[Event]) -> Vec<u8> {
    let tasks = TASKS.map(str::to_owned);
    let mut wall_times = WallTimes::default();
    (events.iter())
        .flat_map(|event| tensorboard::records(event, &tasks, &mut wall_times))
        .collect()
}

/// Returns the history of a run with these events.
fn history(config: &TrainConfig, events: &[Event]) -> RunHistory {
    let format = outputs::history_format::<TrustEnv>(config).unwrap();
    let mut history = RunHistory::new(&std::env::temp_dir(), format);
    for event in events {
        history.add(event.clone()).unwrap();
    }
    history
}

/// Returns the text of `trainer_state.json`.
fn state_text(config: &TrainConfig, history: &mut RunHistory) -> String {
    let folder = tempfile::tempdir().unwrap();
    outputs::write_trainer_state(folder.path(), config, history).unwrap();
    std::fs::read_to_string(folder.path().join(TRAINER_STATE_FILE)).unwrap()
}

fn read_state(config: &TrainConfig, events: &[Event]) -> Value {
    serde_json::from_str(&state_text(config, &mut history(config, events))).unwrap()
}

/// Returns `true` if the values are equal up to the six digits that are written.
fn near(value: &Value, expected: f64) -> bool {
    let value = value.as_f64().unwrap();
    (value - expected).abs() <= 5e-6 * expected.abs()
}

#[test]
fn events_roundtrip_through_lines() {
    let events = events();
    let text = lines(&events);
    assert_eq!(text.lines().count(), events.len());
    let read = parse_events(Path::new("e"), text.as_bytes()).unwrap();
    assert_eq!(read, events);
}

#[test]
fn invalid_event_line_error_names_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("events.jsonl");
    let text = lines(&events()[..4]);
    let error = |content: &str| {
        std::fs::write(&path, content).unwrap();
        read_events(&path).unwrap_err().to_string()
    };
    let cut = error(&text[..text.len() - 9]);
    let expected = "events.jsonl line 4 is not an event: it is cut off";
    assert!(cut.contains(expected), "{cut}");
    let lines: Vec<&str> = text.lines().collect();
    let foreign = error(&format!("{}\n{{\"event\":\"dream\"}}\n", lines[0]));
    let expected = "line 2 is not an event: unknown variant `dream`";
    assert!(foreign.contains(expected), "{foreign}");
    let torn = error(&format!("{}\n{{\"event\n{}\n", lines[0], lines[2]));
    assert!(torn.contains("line 2 is not an event"), "{torn}");
    let empty = error(&format!("{}\n\n{}\n", lines[0], lines[1]));
    assert!(empty.contains("line 2 is not an event"), "{empty}");
    std::fs::remove_file(&path).unwrap();
    let missing = read_events(&path).unwrap_err().to_string();
    assert!(missing.contains("cannot read"), "{missing}");
}

#[test]
fn trainer_state_holds_window_means() {
    let (config, events) = (config(), events());
    let state = read_state(&config, &events);
    assert_eq!(state["logging_steps"], 3);
    assert_eq!(state["global_step"], 301);
    assert_eq!(state["epoch"], 1.0);
    assert_eq!(state["train_batch_size"], 384 * 16);
    assert_eq!(state["stateful_callbacks"], serde_json::json!({}));
    assert!(near(&state["best_metric"], scores(0.9).overall));
    let log = state["log_history"].as_array().unwrap();
    let training: Vec<&Value> = log.iter().filter(|e| e.get("reward").is_some()).collect();
    assert_eq!(training.len(), 101);
    for (index, entry) in training.iter().enumerate() {
        let (first, last) = (3 * index + 1, (3 * index + 3).min(301));
        let sum: f64 = (first..=last).map(reward).sum();
        let mean = sum / (last - first + 1) as f64;
        assert!(near(&entry["reward"], mean), "{entry}");
        assert!(near(&entry["learning_rate"], 1.0 / last as f64), "{entry}");
        assert_eq!(entry["num_env_steps"], (last * 1_234_567) as f64);
        assert_eq!(entry["step"], last);
        assert!(near(&entry["epoch"], last as f64 / 301.0), "{entry}");
    }
    let mut evals = log.iter().filter(|e| e.get("eval_reward").is_some());
    let best = evals.nth(1).unwrap();
    assert_eq!((evals.count(), &best["step"]), (1, &Value::from(200)));
    assert!(near(&best["eval_rewards/task3/mean"], 0.9 / 7.0));
    let test = log.last().unwrap();
    assert_eq!(test["test_rewards/task1/mean"], 0.876543);
    assert!(near(&test["test_reward"], scores(0.87654321).overall));
}

#[test]
fn log_has_at_most_150_entries() {
    for max_steps in [1_usize, 149, 150, 151, 600, 12_345] {
        let entries = max_steps.div_ceil(default_logging_steps(max_steps));
        assert!((1..=150).contains(&entries), "{max_steps}: {entries}");
    }
    let nothing = read_state(&config(), &[]);
    assert_eq!(nothing["best_metric"], Value::Null);
    assert_eq!(nothing["log_history"], serde_json::json!([]));
}

#[test]
fn non_finite_metrics_are_left_out() {
    let config = TrainConfig {
        max_steps: 2,
        ..config()
    };
    let metrics = Metrics::from([
        ("frac".to_owned(), f64::NAN),
        ("kl".to_owned(), f64::INFINITY),
        ("loss".to_owned(), 0.5),
    ]);
    let steps = [1, 2].map(|step| Event::Step {
        step,
        epoch: None,
        metrics: metrics.clone(),
    });
    let text = lines(&steps);
    assert!(!text.contains("null") && !text.contains("frac"), "{text}");
    let read = parse_events(Path::new("e"), text.as_bytes()).unwrap();
    assert_eq!(read.len(), 2);
    let log = &read_state(&config, &steps)["log_history"];
    let expected = serde_json::json!([
        {"loss": 0.5, "step": 1, "epoch": 0.5}, {"loss": 0.5, "step": 2, "epoch": 1.0}
    ]);
    assert_eq!(*log, expected);
    let [(_, _, values), _] = &decode(&tensorboard(&steps))[..] else {
        panic!("two records")
    };
    assert_eq!(values[..], [("train/loss".to_owned(), 0.5)]);
    // A score that is not finite would make a line that cannot be parsed.
    let bad = [Event::Eval {
        step: 1,
        scores: scores(f64::NAN),
        metrics: Metrics::new(),
    }];
    assert!(bad[0].to_line().is_err());
    let bad = state_text(&config, &mut history(&config, &bad));
    assert!(!bad.contains("eval_reward"));
}

/// Computes CRC-32C bit by bit, as it is defined.
fn masked(data: &[u8]) -> u32 {
    let mut crc = u32::MAX;
    let bits = data.iter().flat_map(|b| (0..8).map(move |n| (b >> n) & 1));
    for bit in bits {
        let low = (crc ^ u32::from(bit)) & 1;
        crc = (crc >> 1) ^ if low == 1 { 0x82F6_3B78 } else { 0 };
    }
    let crc = !crc;
    crc.rotate_right(15).wrapping_add(0xA282_EAD8)
}

/// Decodes a protobuf message into field numbers and contents; numbers as eight bytes.
fn fields(mut data: &[u8]) -> Vec<(u8, Vec<u8>)> {
    fn varint(data: &mut &[u8]) -> u64 {
        let end = data.iter().position(|byte| byte & 0x80 == 0).unwrap();
        let (number, rest) = data.split_at(end + 1);
        *data = rest;
        let bits = |sum, byte: &u8| (sum << 7) | u64::from(byte & 0x7f);
        number.iter().rev().fold(0, bits)
    }
    let mut fields = Vec::new();
    while !data.is_empty() {
        let key = varint(&mut data);
        let length = match key & 7 {
            0 => {
                fields.push(((key >> 3) as u8, varint(&mut data).to_le_bytes().to_vec()));
                continue;
            }
            1 => 8,
            2 => varint(&mut data) as usize,
            5 => 4,
            other => panic!("wire type {other}"),
        };
        let (content, rest) = data.split_at(length);
        fields.push(((key >> 3) as u8, content.to_vec()));
        data = rest;
    }
    fields
}

type Record = (f64, u64, Vec<(String, f32)>);

fn decode(mut file: &[u8]) -> Vec<Record> {
    let mut records = Vec::new();
    while !file.is_empty() {
        let (head, rest) = file.split_at(12);
        let length = u64::from_le_bytes(head[..8].try_into().unwrap()) as usize;
        let (data, rest) = rest.split_at(length);
        let (sum, rest) = rest.split_at(4);
        assert_eq!(head[8..], masked(&head[..8]).to_le_bytes());
        assert_eq!(sum, masked(data).to_le_bytes());
        file = rest;
        let mut record = (f64::NAN, 0, Vec::new());
        for (number, content) in fields(data) {
            match number {
                1 => record.0 = f64::from_le_bytes(content.try_into().unwrap()),
                2 => record.1 = u64::from_le_bytes(content.try_into().unwrap()),
                3 => assert_eq!(
                    (content.as_slice(), records.len()),
                    (&b"brain.Event:2"[..], 0)
                ),
                5 => record.2 = fields(&content).iter().map(|(_, v)| value(v)).collect(),
                other => panic!("field {other}"),
            }
        }
        records.push(record);
    }
    records
}

fn value(data: &[u8]) -> (String, f32) {
    let [(1, tag), (2, number)] = &fields(data)[..] else {
        panic!("a tag and a number")
    };
    let number = f32::from_le_bytes(number[..].try_into().unwrap());
    (String::from_utf8(tag.clone()).unwrap(), number)
}

#[test]
fn tensorboard_file_holds_every_value() {
    let mut events = events();
    for event in &mut events {
        if let Event::Step { metrics, .. } = event {
            metrics.insert("step_time".to_owned(), 1.0);
        }
    }
    let records = decode(&tensorboard(&events));
    assert_eq!(records[0], (1.7e9, 0, Vec::new()));
    let mut expected = Vec::new();
    for event in &events {
        let (step, values) = match event {
            Event::Step { step, metrics, .. } => {
                let named = metrics
                    .iter()
                    .map(|(n, v)| (format!("train/{n}"), *v as f32));
                (*step, named.collect::<Vec<_>>())
            }
            Event::Eval { step, scores, .. } => (*step, board("eval", scores)),
            Event::Finished {
                step,
                scores: Some(scores),
                ..
            } => (*step, board("test", scores)),
            _ => continue,
        };
        expected.push((1.7e9 + step as f64, step as u64, values));
    }
    assert_eq!(records[1..], expected);
}

fn board(prefix: &str, scores: &Scores) -> Vec<(String, f32)> {
    let name = |task| format!("{prefix}/rewards/{task}/mean");
    let tasks = (TASKS.iter().zip(&scores.tasks)).map(|(task, score)| (name(task), *score as f32));
    let overall = (format!("{prefix}/reward"), scores.overall as f32);
    [overall].into_iter().chain(tasks).collect()
}

#[test]
fn model_card_states_results() {
    let (config, events) = (config(), events());
    let baselines = [
        ("bayes".to_owned(), scores(0.8123)),
        ("oracle_lite".to_owned(), scores(0.7)),
    ];
    let card =
        card::card_text::<TrustEnv>(&config, &history(&config, &events), &baselines).unwrap();
    for part in [
        "---\nlibrary_name: sentinel\ntags:\n- reinforcement-learning\n- grpo\nmodel-index:\n- name: \"little\"\n",
        "      name: \"trust, task1, reference rules, seeds 2000..2500, independent streams\"\n",
        "      value: 0.876543\n",
        "# little\n",
        "It has 9731 parameters.",
        "| **little** (this model) | 0.8765 | 0.2922 | 0.1252 | 0.4313 |\n",
        "| bayes | 0.8123 | 0.2708 | 0.1160 | 0.3997 |\n",
        "| oracle_lite (sees hidden state) | 0.7000 |",
        "| to report | 2000..2500 |",
        "500 episodes of each task",
        "| `adam_beta2` | 0.99 | 0.999 |\n",
        "| `hidden` | 48 | 64 |\n",
        "| `max_steps` | 301 | 500 |\n",
        "validation seeds: 0.4429.",
        "It ended after 301 of 301 updates;",
        "sentinel eval --world trust --rules reference --policies trained --model DIR",
        "simulation",
    ] {
        assert!(card.contains(part), "{part}\nis not in\n{card}");
    }
    assert!(
        !card.contains("`seed`") && !card.contains("mitation"),
        "{card}"
    );
}

#[test]
fn model_card_of_unfinished_run_has_no_results() {
    let config = TrainConfig {
        method: Method::Imitation,
        teacher: "oracle_lite".to_owned(),
        init: "runs/a|b".to_owned(),
        ..TrainConfig::default()
    };
    let card = card::card_text::<TrustEnv>(&config, &history(&config, &[]), &[]).unwrap();
    for part in [
        "tags:\n- imitation-learning\n- dagger\n---\n",
        "Imitation, not reinforcement learning",
        "The teacher sees hidden state",
        "not measured yet",
        "It is not over yet.",
        "| `init` | runs/a\\|b | none |",
    ] {
        assert!(card.contains(part), "{part}\nis not in\n{card}");
    }
    assert!(
        !card.contains("model-index") && !card.contains("grpo\n- "),
        "{card}"
    );
}

#[test]
fn outputs_are_rewritten_without_temporary_files() {
    let folder = tempfile::tempdir().unwrap();
    let (config, events) = (config(), events());
    let write = |folder: &Path, events: &[Event]| {
        let mut history = history(&config, events);
        outputs::write_card::<TrustEnv>(folder, &config, &history)?;
        outputs::write_trainer_state(folder, &config, &mut history)
    };
    write(folder.path(), &events[..3]).unwrap();
    write(folder.path(), &events).unwrap();
    let read = |name: &str| std::fs::read(folder.path().join(name)).unwrap();
    let state = state_text(&config, &mut history(&config, &events));
    assert_eq!(read(TRAINER_STATE_FILE), state.as_bytes());
    let card = card::card_text::<TrustEnv>(&config, &history(&config, &events), &[]).unwrap();
    assert_eq!(read(outputs::CARD_FILE), card.as_bytes());
    // No temporary file stays behind.
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2);
    let missing = folder.path().join("none");
    let failed = write(&missing, &events);
    assert!(
        failed
            .unwrap_err()
            .to_string()
            .contains("there is no folder")
    );
}
