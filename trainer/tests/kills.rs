//! Runs of every algorithm, killed nine times and resumed each time, end with the same bits.
#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    reason = "a test stops at the first thing that is not there"
)]

use crate::common;

use std::collections::BTreeMap;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use common::sentinel;
use safetensors::SafeTensors;
use serde_json::Value;

/// The number of times that a run is killed.
const KILLS: usize = 9;

fn words<'a>(command: &'a str, folder: &'a Path, more: &'a str) -> Vec<&'a str> {
    let folder = ["--output-dir", folder.to_str().unwrap()];
    let words = command.split_whitespace().chain(folder);
    words.chain(more.split_whitespace()).collect()
}

/// Returns the number of checkpoints that a log announces.
fn saved(folder: &Path) -> usize {
    let text = std::fs::read_to_string(folder.join("events.jsonl")).unwrap_or_default();
    text.matches("\"event\":\"saved\"").count()
}

fn start(words: &[&str]) -> Child {
    Command::new(env!("CARGO_BIN_EXE_sentinel"))
        .args(words)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// Starts or resumes a run, and kills it a moment after it announced a further checkpoint, so that
/// some kills interrupt the writing. Returns `false` if the run ended before.
fn killed(words: &[&str], folder: &Path, moment: Duration) -> bool {
    let before = saved(folder);
    let mut child = start(words);
    loop {
        if child.try_wait().unwrap().is_some() {
            return false;
        }
        // Before the first checkpoint there is nothing to resume from.
        if saved(folder) > before && folder.join("checkpoint.safetensors").exists() {
            break;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    std::thread::sleep(moment);
    child.kill().unwrap();
    !child.wait().unwrap().success()
}

/// Returns the values of all tensors of a file, by name.
fn tensors(path: &Path) -> BTreeMap<String, Vec<u8>> {
    let bytes = std::fs::read(path).unwrap();
    let file = SafeTensors::deserialize(&bytes).unwrap();
    let all = file.tensors().into_iter();
    all.map(|(name, view)| (name, view.data().to_vec()))
        .collect()
}

/// Returns every step and evaluation of a log, without times.
fn curve(folder: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(folder.join("events.jsonl")).unwrap();
    let events = text.lines().map(|line| serde_json::from_str(line).unwrap());
    let mut events: Vec<Value> = events
        .filter(|event: &Value| event["event"] == "step" || event["event"] == "eval")
        .collect();
    for event in &mut events {
        if let Some(metrics) = event.get_mut("metrics").and_then(Value::as_object_mut) {
            metrics.remove("step_time");
            metrics.remove("tokens_per_second");
        }
    }
    events
}

/// Runs to the end once without and once with kills, and compares the outputs.
fn assert_same_after_kills(command: &str, resume: &str, parent: &Path, model: &str) {
    let (whole, cut) = (parent.join("whole"), parent.join("cut"));
    sentinel(words(command, &whole, "")).succeeds();
    let begin = words(command, &cut, "");
    let go_on = words(resume, &cut, "--resume");
    let mut count = 0;
    for kill in 0..KILLS as u64 {
        let words = if kill == 0 { &begin } else { &go_on };
        // From within the writing of the checkpoint to after it.
        let moment = Duration::from_millis(kill * kill / 4);
        count += usize::from(killed(words, &cut, moment));
    }
    assert_eq!(count, KILLS, "the run was too short for so many kills");
    sentinel(go_on).succeeds();
    let (found, expected) = (curve(&cut), curve(&whole));
    let differs = found.iter().zip(&expected).find(|(a, b)| a != b);
    assert!(differs.is_none(), "{differs:?}");
    assert_eq!(found.len(), expected.len());
    for file in [model, "checkpoint.safetensors"] {
        assert!(
            tensors(&cut.join(file)) == tensors(&whole.join(file)),
            "{file} has other numbers"
        );
    }
    // The run changed the model at least once.
    let snapshots = std::fs::read_dir(&whole).unwrap().flatten();
    let snapshots: Vec<_> = snapshots
        .filter(|entry| {
            let name = entry.file_name().into_string().unwrap();
            name.starts_with("checkpoint-")
        })
        .map(|entry| tensors(&entry.path().join(model)))
        .collect();
    assert!(snapshots.len() >= 2);
    assert!(
        snapshots.windows(2).any(|pair| pair[0] != pair[1]),
        "the model never moved"
    );
}

const COMPACT: &str = "--world trust --hidden 8 --max-steps 14 --groups-per-update 6 --num-generations 4 \
    --validation-seeds 5000..5004 --test-seeds 1000..1004 --eval-steps 1 --save-steps 1 --mini-batches 2";

#[test]
fn compact_grpo_run_is_unchanged_by_kills() {
    let folder = tempfile::tempdir().unwrap();
    let command = format!("train {COMPACT}");
    assert_same_after_kills(&command, &command, folder.path(), "model.safetensors");
}

#[test]
fn imitation_run_is_unchanged_by_kills() {
    let folder = tempfile::tempdir().unwrap();
    let command = format!("imitate {COMPACT} --teacher heuristic");
    assert_same_after_kills(&command, &command, folder.path(), "model.safetensors");
}

#[test]
fn sft_run_is_unchanged_by_kills() {
    let folder = tempfile::tempdir().unwrap();
    let (corpus, model) = common::lm::untrained(folder.path());
    let command = format!(
        "lm sft --model {model} --data {corpus} --learning-rate 1e-2 --lora-dropout 0.1 --batch-size 2 \
         --max-steps 14 --save-steps 1 --eval-steps 4 --eval-episodes 2 --eval-world trust --eval-tasks task1"
    );
    assert_same_after_kills(&command, "sft", folder.path(), "adapter_model.safetensors");
}

/// Starts from a model that names actions, so that rewards differ and the adapter changes.
#[test]
fn language_model_grpo_run_is_unchanged_by_kills() {
    let folder = tempfile::tempdir().unwrap();
    let model = common::lm::model_naming_actions(folder.path());
    let command = format!(
        "lm grpo --model {model} --world trust --task task1 --episodes 7 --batch-size 1 --num-train-epochs 2 \
         --learning-rate 1e-2 --num-generations 4 --groups-per-update 2 --max-completion-length 40 \
         --beta 0.01 --save-steps 1 --eval-steps 4 --eval-episodes 2"
    );
    assert_same_after_kills(&command, "grpo", folder.path(), "adapter_model.safetensors");
}

/// Returns the files of a folder with their contents.
fn contents(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let files = std::fs::read_dir(folder).unwrap().flatten();
    let files = files.filter(|entry| entry.path().is_file());
    files
        .map(|entry| {
            let name = entry.file_name().into_string().unwrap();
            (name, std::fs::read(entry.path()).unwrap())
        })
        .collect()
}

/// SIGTERM ends the commands that have no state to save, and leaves every file as it was.
#[test]
fn commands_without_state_end_on_sigterm() {
    let folder = tempfile::tempdir().unwrap();
    let (_, model) = common::lm::untrained(folder.path());
    let path = |name: &str| folder.path().join(name).display().to_string();
    for (name, text) in [
        ("eval.json", "{\"score\": 1, \"validity\": 1}"),
        ("ablation.json", "{\"ablation\": [], \"cells\": []}"),
        ("replay.jsonl", "an earlier replay"),
    ] {
        std::fs::write(path(name), text).unwrap();
    }
    let before = contents(folder.path());
    for command in [
        format!(
            "lm eval --model {model} --seeds 1000..90000 --out {}",
            path("eval.json")
        ),
        format!("lm rollout --model {model} --seeds 0..90000"),
        format!(
            "ablate --seeds 1000000..1900000 --out {}",
            path("ablation.json")
        ),
        format!(
            "record --model {model} --task task1 --seeds 0..90000 --force --out {}",
            path("replay.jsonl")
        ),
    ] {
        let words: Vec<&str> = command.split_whitespace().collect();
        let mut child = start(&words);
        std::thread::sleep(Duration::from_millis(500));
        assert_eq!(child.try_wait().unwrap(), None, "{command} ended");
        let sent = Command::new("kill")
            .args(["-TERM", &child.id().to_string()])
            .status();
        assert!(sent.unwrap().success());
        assert_eq!(child.wait().unwrap().signal(), Some(15), "{command}");
        assert!(contents(folder.path()) == before, "{command}");
    }
}
