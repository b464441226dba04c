//! Whole runs with the program itself: killed, interrupted, resumed, refused.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use serde_json::Value;

fn sentinel(words: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sentinel"));
    command.args(words.split_whitespace());
    command.env_remove("SENTINEL_ALLOW_TRAIN_FALLBACK");
    // Nothing may be fetched.
    command
        .env("HF_HUB_OFFLINE", "1")
        .env("RUST_BACKTRACE", "0");
    command
}

fn output(words: &str) -> Output {
    sentinel(words).output().unwrap()
}

#[track_caller]
pub(crate) fn succeeds(words: &str) -> String {
    let found = output(words);
    let said = String::from_utf8_lossy(&found.stderr);
    assert!(found.status.success(), "{words}: {said}");
    String::from_utf8(found.stdout).unwrap()
}

#[track_caller]
pub(crate) fn fails(words: &str) -> String {
    let found = output(words);
    assert_eq!(found.status.code(), Some(1), "{words}");
    String::from_utf8(found.stderr).unwrap()
}

/// What the command line itself does not take.
#[track_caller]
pub(crate) fn refused(words: &str) -> String {
    let found = output(words);
    assert_eq!(found.status.code(), Some(2), "{words}");
    String::from_utf8(found.stderr).unwrap()
}

/// A corpus, and a very small model whose tokenizer knows its words.
pub(crate) fn made(folder: &Path) -> (String, String) {
    let (corpus, model) = (folder.join("corpus.jsonl"), folder.join("model"));
    let (corpus, model) = (corpus.display().to_string(), model.display().to_string());
    succeeds(&format!(
        "lm corpus --world trust --tasks task1 --seeds 100000..100004 --out {corpus}"
    ));
    succeeds(&format!(
        "lm init --output-dir {model} --data {corpus} --vocab-size 400 --hidden-size 32 --intermediate-size 64 \
         --num-hidden-layers 1 --num-attention-heads 2 --num-key-value-heads 1"
    ));
    (corpus, model)
}

/// What every step logged, without the clock.
pub(crate) fn curve(folder: &Path) -> Vec<BTreeMap<String, Value>> {
    let text = std::fs::read_to_string(folder.join("events.jsonl")).unwrap();
    let events = text
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let steps = events.filter(|event| event["event"] == "step");
    steps
        .map(|event| {
            let metrics = event["metrics"].as_object().unwrap().clone();
            let clocks = ["step_time", "tokens_per_second"];
            metrics
                .into_iter()
                .filter(|(name, _)| !clocks.contains(&name.as_str()))
                .collect()
        })
        .collect()
}

/// The tensors of an adapter; the order of the words in its file's header means nothing.
pub(crate) fn adapter(folder: &Path) -> BTreeMap<String, Vec<f32>> {
    let all = crate::oracle::tensors(&folder.join("adapter_model.safetensors"));
    all.into_iter()
        .map(|(name, tensor)| (name, tensor.values))
        .collect()
}

/// Waits until a run has come so far, and sends it a signal. Gives its exit code, if it has one.
fn cut_short(words: &str, folder: &Path, signal: &str) -> Option<i32> {
    let mut child = sentinel(words)
        .stderr(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let checkpoint = folder.join("checkpoint.safetensors");
    for _ in 0..6000 {
        if checkpoint.exists() {
            break;
        }
        assert!(
            child.try_wait().unwrap().is_none(),
            "it ended before its first checkpoint"
        );
        std::thread::sleep(Duration::from_millis(10));
    }
    let id = child.id().to_string();
    assert!(
        Command::new("kill")
            .args([signal, &id])
            .status()
            .unwrap()
            .success()
    );
    child.wait().unwrap().code()
}

/// What transformers logs at the end of a run, which a checkpoint on the way does not hold yet.
const SUMMARY: [&str; 7] = [
    "epoch",
    "step",
    "total_flos",
    "train_loss",
    "train_runtime",
    "train_samples_per_second",
    "train_steps_per_second",
];

/// Holds `trainer_state.json` to TRL's: its keys, and those of the entries. Rewards have names of
/// their own.
fn has_keys_of(recorded: &Value, state: &Value) {
    let holds = |what: &str, recorded: &Value, ours: &Value| {
        for key in recorded.as_object().unwrap().keys() {
            let named = key.starts_with("rewards/") || ours.get(key).is_some();
            assert!(named, "{what} of trainer_state.json lacks {key}");
        }
    };
    holds("the top", recorded, state);
    let ours = state["log_history"].as_array().unwrap();
    let (last, steps) = ours.split_last().unwrap();
    for key in SUMMARY {
        assert!(last[key].is_number(), "the last entry lacks {key}");
    }
    for entry in recorded["log_history"].as_array().unwrap() {
        match entry.get("train_loss") {
            Some(_) => holds("the last entry", entry, last),
            None => steps.iter().for_each(|ours| holds("an entry", entry, ours)),
        }
    }
}

fn same_after(command: &str, folder: &Path, steps: usize) {
    let (whole, killed, stopped) = (
        folder.join("whole"),
        folder.join("killed"),
        folder.join("stopped"),
    );
    let to = |place: &Path| format!("{command} --output-dir {}", place.display());
    succeeds(&to(&whole));
    let expected = curve(&whole);
    assert_eq!(expected.len(), steps);
    assert!(expected[0] != expected[steps - 1]);

    assert_eq!(cut_short(&to(&killed), &killed, "-KILL"), None);
    // The log goes on where the checkpoint left it, whatever came after.
    let log = killed.join("events.jsonl");
    let mut text = std::fs::read_to_string(&log).unwrap();
    text.push_str("{\"event\":\"st");
    std::fs::write(&log, text).unwrap();
    let (method, _) = command.split_once(" --").unwrap();
    succeeds(&format!(
        "{method} --resume --output-dir {}",
        killed.display()
    ));
    assert_eq!(curve(&killed), expected);
    assert!(adapter(&killed) == adapter(&whole));

    assert_eq!(cut_short(&to(&stopped), &stopped, "-INT"), Some(130));
    let done = curve(&stopped).len();
    assert!(done < steps, "it was too fast to be interrupted");
    succeeds(&format!(
        "{method} --resume --output-dir {}",
        stopped.display()
    ));
    assert_eq!(curve(&stopped), expected);
    assert!(adapter(&stopped) == adapter(&whole));

    let said = fails(&to(&whole));
    assert!(
        said.contains("--resume-from-checkpoint") && said.contains("--overwrite-output-dir"),
        "{said}"
    );
    let said = fails(&format!(
        "{method} --resume --seed 7 --output-dir {}",
        whole.display()
    ));
    assert!(said.contains("began with seed 0, not 7"), "{said}");
}

#[test]
fn fine_tuning_goes_on_where_it_was_killed_or_interrupted() {
    let folder = tempfile::tempdir().unwrap();
    let (corpus, model) = made(folder.path());
    let command = format!(
        "lm sft --model {model} --data {corpus} --learning-rate 1e-2 --lora-dropout 0.1 --batch-size 4 \
         --gradient-accumulation-steps 2 --max-steps 12 --save-steps 2 --warmup-steps 2"
    );
    same_after(&command, folder.path(), 12);
    let whole = folder.path().join("whole");
    let (first, last) = (
        curve(&whole)[0]["loss"].clone(),
        curve(&whole)[11]["loss"].clone(),
    );
    assert!(last.as_f64() < first.as_f64(), "{last} {first}");
    let state = std::fs::read_to_string(whole.join("trainer_state.json")).unwrap();
    let state: Value = serde_json::from_str(&state).unwrap();
    let recorded = crate::oracle::oracle().json::<Value>("sft_trainer_state_tied.json");
    if let Some(recorded) = recorded {
        has_keys_of(&recorded, &state);
    }
    assert_eq!(state["global_step"], 12);
    // The result is what PEFT would load, and can be merged.
    let (adapter, merged) = (whole.display(), folder.path().join("merged"));
    succeeds(&format!(
        "lm merge --model {model} --adapter {adapter} --out {}",
        merged.display()
    ));
    let said = fails(&format!(
        "lm merge --model {model} --adapter {adapter} --out {}",
        merged.display()
    ));
    assert!(said.contains("--overwrite-output-dir"), "{said}");
}

#[test]
fn playing_goes_on_where_it_was_killed_or_interrupted() {
    let folder = tempfile::tempdir().unwrap();
    let (_, model) = made(folder.path());
    let command = format!(
        "lm grpo --model {model} --world trust --task task1 --episodes 4 --num-train-epochs 3 --learning-rate 1e-3 \
         --num-generations 3 --groups-per-update 2 --max-completion-length 6 --format-weight 1 --beta 0.01 \
         --num-iterations 2 --save-steps 2"
    );
    same_after(&command, folder.path(), 12);
    let whole = folder.path().join("whole");
    let first = &curve(&whole)[0];
    let state = std::fs::read_to_string(whole.join("trainer_state.json")).unwrap();
    let state: Value = serde_json::from_str(&state).unwrap();
    let recorded = crate::oracle::oracle().json::<Value>("grpo_trainer_state_sample.json");
    if let Some(recorded) = recorded {
        has_keys_of(&recorded, &state);
    }
    let rewards = ["environment", "valid_format"];
    for name in rewards.map(|reward| format!("rewards/{reward}")) {
        for what in ["mean", "std"] {
            let name = format!("{name}/{what}");
            assert!(state["log_history"][0][&name].is_number(), "{name}");
        }
    }
    // Nothing that so small a model says is an action, which is counted and warned about.
    assert_eq!(first["completions/invalid_rate"], 1.0);
    let events = std::fs::read_to_string(folder.path().join("whole/events.jsonl")).unwrap();
    assert!(events.contains("groups have equal rewards"));
}

#[test]
fn a_stand_in_is_opt_in_and_marked_everywhere() {
    let folder = tempfile::tempdir().unwrap();
    let (corpus, _) = made(folder.path());
    let out = folder.path().join("out");
    let run = format!(
        "lm sft --model no/such-model --data {corpus} --max-steps 1 --batch-size 1 --allow-fallback --output-dir {}",
        out.display()
    );
    let said = succeeds(&run);
    assert!(said.contains("fallback"), "{said}");
    for (file, mark) in [
        ("README.md", "Fallback"),
        ("events.jsonl", "\"fallback\":true"),
        ("trainer_state.json", "\"fallback\": true"),
    ] {
        let text = std::fs::read_to_string(out.join(file)).unwrap();
        assert!(text.contains(mark), "{file}");
    }
}
