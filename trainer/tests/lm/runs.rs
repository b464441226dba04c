//! Complete runs of the program: killed, interrupted, resumed, rejected.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use serde_json::Value;

pub(crate) fn sentinel(words: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sentinel"));
    command.args(words.split_whitespace());
    command.env_remove("SENTINEL_ALLOW_TRAIN_FALLBACK");
    // Prevents downloads during tests.
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
    let stderr = String::from_utf8_lossy(&found.stderr);
    assert!(found.status.success(), "{words}: {stderr}");
    String::from_utf8(found.stdout).unwrap()
}

/// Runs a command line that succeeds, and returns standard output and error.
#[track_caller]
pub(crate) fn warned(words: &str) -> (String, String) {
    let found = output(words);
    let stderr = String::from_utf8(found.stderr).unwrap();
    assert!(found.status.success(), "{words}: {stderr}");
    (String::from_utf8(found.stdout).unwrap(), stderr)
}

#[track_caller]
pub(crate) fn fails(words: &str) -> String {
    let found = output(words);
    assert_eq!(found.status.code(), Some(1), "{words}");
    String::from_utf8(found.stderr).unwrap()
}

/// Runs a command line that clap rejects, and returns the standard error.
#[track_caller]
pub(crate) fn refused(words: &str) -> String {
    let found = output(words);
    assert_eq!(found.status.code(), Some(2), "{words}");
    String::from_utf8(found.stderr).unwrap()
}

/// Creates a corpus, and a very small model whose tokenizer was trained on it.
pub(crate) fn made(folder: &Path) -> (String, String) {
    let (corpus, model) = (folder.join("corpus.jsonl"), folder.join("model"));
    let (corpus, model) = (corpus.display().to_string(), model.display().to_string());
    succeeds(&format!(
        "lm corpus --world trust --task task1 --seeds 100000..100004 --out {corpus}"
    ));
    succeeds(&format!(
        "lm init --output-dir {model} --data {corpus} --vocab-size 400 --hidden-size 32 --intermediate-size 64 \
         --num-hidden-layers 1 --num-attention-heads 2 --num-key-value-heads 1"
    ));
    (corpus, model)
}

/// Returns the rows of completions that a run logged at an optimizer step.
pub(crate) fn logged_completions(folder: &Path, step: usize) -> Vec<Value> {
    let path = folder.join(format!("completions/completions_{step:05}.jsonl"));
    let text = std::fs::read_to_string(path).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// Returns the metrics of every step, without times.
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

/// Returns the tensors of an adapter; the order of keys in the file's header does not matter.
pub(crate) fn adapter(folder: &Path) -> BTreeMap<String, Vec<f32>> {
    let all = crate::oracle::tensors(&folder.join("adapter_model.safetensors"));
    all.into_iter()
        .map(|(name, tensor)| (name, tensor.values))
        .collect()
}

/// Waits for a run's first checkpoint, and sends the run a signal. Returns its exit code, if there
/// is one.
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

/// Keys that transformers logs at the end of a run, which intermediate checkpoints lack.
const SUMMARY: [&str; 7] = [
    "epoch",
    "step",
    "total_flos",
    "train_loss",
    "train_runtime",
    "train_samples_per_second",
    "train_steps_per_second",
];

/// Checks that `trainer_state.json` has TRL's keys at the top level and in its entries. Rewards
/// have different names.
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

fn assert_same_after_interruption(command: &str, folder: &Path, steps: usize) {
    let (whole, killed, stopped) = (
        folder.join("whole"),
        folder.join("killed"),
        folder.join("stopped"),
    );
    let to = |place: &Path| format!("{command} --output-dir {}", place.display());
    // What a run leaves that was killed before its first checkpoint does not stop the next one.
    let left = whole.join("completions/completions_00099.jsonl");
    std::fs::create_dir_all(left.parent().unwrap()).unwrap();
    std::fs::write(&left, "{}").unwrap();
    std::fs::write(whole.join("events.jsonl"), "{\"event\":\"st").unwrap();
    succeeds(&to(&whole));
    assert!(!left.exists());
    let expected = curve(&whole);
    assert_eq!(expected.len(), steps);
    assert!(expected[0] != expected[steps - 1]);

    assert_eq!(cut_short(&to(&killed), &killed, "-KILL"), None);
    // The log continues from the checkpoint, whatever was appended after it.
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

    let message = fails(&to(&whole));
    assert!(
        message.contains("--resume-from-checkpoint") && message.contains("--overwrite-output-dir"),
        "{message}"
    );
    let message = fails(&format!(
        "{method} --resume --seed 7 --output-dir {}",
        whole.display()
    ));
    assert!(message.contains("began with seed 0, not 7"), "{message}");
}

#[test]
fn sft_resumes_after_kill_and_interrupt() {
    let folder = tempfile::tempdir().unwrap();
    let (corpus, model) = made(folder.path());
    let command = format!(
        "lm sft --model {model} --data {corpus} --learning-rate 1e-2 --lora-dropout 0.1 --batch-size 4 \
         --gradient-accumulation-steps 2 --max-steps 12 --save-steps 2 --warmup-steps 2"
    );
    assert_same_after_interruption(&command, folder.path(), 12);
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
    // PEFT can load the result, and it can be merged.
    let (adapter, merged) = (whole.display(), folder.path().join("merged"));
    succeeds(&format!(
        "lm merge --model {model} --adapter {adapter} --out {}",
        merged.display()
    ));
    let message = fails(&format!(
        "lm merge --model {model} --adapter {adapter} --out {}",
        merged.display()
    ));
    assert!(message.contains("--overwrite-output-dir"), "{message}");
}

#[test]
fn grpo_resumes_after_kill_and_interrupt() {
    let folder = tempfile::tempdir().unwrap();
    let (_, model) = made(folder.path());
    let command = format!(
        "lm grpo --model {model} --world trust --task task1 --episodes 4 --num-train-epochs 3 --learning-rate 1e-3 \
         --num-generations 3 --groups-per-update 2 --max-completion-length 6 --format-weight 1 --beta 0.01 \
         --num-iterations 2 --save-steps 2"
    );
    assert_same_after_interruption(&command, folder.path(), 12);
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
    // So small a model generates no action, which is counted and reported.
    assert_eq!(first["completions/invalid_rate"], 1.0);
    let events = std::fs::read_to_string(folder.path().join("whole/events.jsonl")).unwrap();
    assert!(events.contains("groups have equal rewards"));
}

/// The model with the best validation score is saved, and a run without improvement stops early.
#[test]
fn early_stopping_keeps_best_model() {
    let folder = tempfile::tempdir().unwrap();
    let model = crate::common::lm::model_naming_actions(folder.path());
    let out = folder.path().join("out");
    // So large a learning rate damages the model: no later step is better than step 0.
    let run = format!(
        "lm grpo --model {model} --world trust --task task1 --episodes 8 --batch-size 1 --learning-rate 1 \
         --num-generations 4 --groups-per-update 4 --max-completion-length 40 --eval-steps 1 \
         --eval-episodes 2 --early-stopping-patience 3 --save-steps 1 --output-dir {}",
        out.display()
    );
    succeeds(&run);
    assert_eq!(curve(&out).len(), 3, "it ended after three evaluations");
    let state = std::fs::read_to_string(out.join("trainer_state.json")).unwrap();
    let state: Value = serde_json::from_str(&state).unwrap();
    assert_eq!(state["best_global_step"], 0);
    assert_eq!(state["best_model_checkpoint"], "checkpoint-0");
    assert_eq!(state["eval_steps"], 1);
    let evaluated = state["log_history"].as_array().unwrap().iter();
    assert_eq!(
        evaluated.filter(|e| e.get("eval_reward").is_some()).count(),
        4
    );
    let snapshots = sentinel_run::snapshot::steps(&out).unwrap();
    assert_eq!(snapshots, [0, 2, 3], "two latest and the best");
    let at = |step: usize| adapter(&out.join(format!("checkpoint-{step}")));
    assert!(adapter(&out) == at(0) && at(0) != at(3));
    // Resuming a finished run changes nothing.
    succeeds(&format!("lm grpo --resume --output-dir {}", out.display()));
    assert!(adapter(&out) == at(0) && curve(&out).len() == 3);
    // Resuming from an earlier checkpoint repeats the same steps.
    let (steps, last) = (curve(&out), at(3));
    let checkpoint = out.join("checkpoint-2");
    succeeds(&format!(
        "lm grpo --resume-from-checkpoint {} --output-dir {}",
        checkpoint.display(),
        out.display()
    ));
    assert!(curve(&out) == steps && at(3) == last);
    let message = fails(&format!(
        "lm grpo --resume-from-checkpoint {model} --output-dir {}",
        out.display()
    ));
    assert!(message.contains("no checkpoint-N of the run"), "{message}");
    let message = fails(&format!(
        "lm grpo --model {model} --early-stopping-patience 3 --output-dir {}",
        folder.path().join("other").display()
    ));
    assert!(message.contains("early-stopping-patience"), "{message}");
}

/// From rollouts to weights: completions with a larger reward than their group are reinforced.
#[test]
fn grpo_update_reinforces_higher_rewards() {
    let folder = tempfile::tempdir().unwrap();
    let model = crate::common::lm::model_naming_actions(folder.path());
    let out = folder.path().join("out");
    succeeds(&format!(
        "lm grpo --model {model} --world trust --task task1 --episodes 2 --batch-size 2 --learning-rate 5e-3 \
         --num-generations 4 --groups-per-update 4 --max-completion-length 40 --num-iterations 2 \
         --output-dir {}",
        out.display()
    ));
    // Two steps of one update: its completions are logged once, under the number of the last step.
    let rows = logged_completions(&out, 2);
    let number = |row: &Value, name: &str| row[name].as_f64().unwrap();
    let mut uneven = 0;
    for group in rows.chunk_by(|a, b| a["group"] == b["group"]) {
        assert_eq!(group.len(), 4);
        assert!(group.iter().all(|row| row["prompt"] == group[0]["prompt"]));
        let rewards: Vec<f64> = group.iter().map(|row| number(row, "environment")).collect();
        let mean = rewards.iter().sum::<f64>() / 4.0;
        let squares = rewards.iter().map(|reward| (reward - mean).powi(2));
        let deviation = (squares.sum::<f64>() / 3.0).sqrt();
        for (row, reward) in group.iter().zip(&rewards) {
            let expected = (reward - mean) / (deviation + 1e-4);
            assert!((number(row, "advantage") - expected).abs() < 1e-6, "{row}");
        }
        uneven += usize::from(deviation > 0.0);
    }
    assert!(uneven > 0, "all rewards were equal");
    let steps = curve(&out);
    let losses: Vec<f64> = steps.iter().map(|s| s["loss"].as_f64().unwrap()).collect();
    assert!(losses.len() == 2 && losses[1] < losses[0], "{losses:?}");
    assert!(steps[0]["grad_norm"].as_f64().unwrap() > 1e-4);
    let moved = adapter(&out)
        .into_iter()
        .filter(|(name, values)| name.contains("lora_B") && values.iter().any(|x| *x != 0.0));
    assert!(moved.count() > 0, "the adapter never moved");
}

/// With plain GRPO all completions of an episode are credited with its score.
#[test]
fn episode_credit_is_equal_for_all_completions() {
    let folder = tempfile::tempdir().unwrap();
    let model = crate::common::lm::model_naming_actions(folder.path());
    let out = folder.path().join("out");
    succeeds(&format!(
        "lm grpo --model {model} --world trust --task task1 --episodes 2 --episodes-per-update 2 \
         --credit episode --num-generations 3 --groups-per-update 12 --max-completion-length 40 \
         --num-completions-to-log 36 --output-dir {}",
        out.display()
    ));
    let logged = logged_completions(&out, 1);
    let scores = logged.iter().map(|row| row["environment"].to_string());
    let (rows, scores) = (logged.len(), scores.collect::<BTreeSet<_>>());
    assert!(
        rows > 6 && scores.len() <= 6,
        "{rows} rows with the scores {scores:?} of six episodes"
    );
    assert!(scores.len() > 1, "all episodes have the score {scores:?}");
}

/// The sampler is the policy itself, so its correction is about 1, up to rounding from another
/// order of sums. The additional loss options are recorded with the run.
#[test]
fn importance_sampling_correction_is_near_one_for_own_policy() {
    let folder = tempfile::tempdir().unwrap();
    let (_, model) = made(folder.path());
    let run = |options: &str, name: &str| {
        let out = folder.path().join(name);
        let out = out.display();
        succeeds(&format!(
            "lm grpo --model {model} --task task1 --episodes 2 --learning-rate 1e-3 --num-generations 3 \
             --groups-per-update 2 --max-completion-length 6 --credit single-step --format-weight 1 --max-steps 2 \
             --num-iterations 2 {options} --output-dir {out}"
        ));
        curve(&folder.path().join(name))
    };
    let plain = run("", "plain");
    assert!(!plain[0].keys().any(|name| name.starts_with("sampling/")));
    for (mode, more) in [
        ("token_truncate", ""),
        ("sequence_mask", "--loss-type vespo --vespo-k-pos 1.5"),
    ] {
        let options = format!("--importance-sampling-mode {mode} {more}");
        let found = run(&options, mode);
        for step in &found {
            let ratio = step["sampling/importance_sampling_ratio/mean"]
                .as_f64()
                .unwrap();
            let apart = step["sampling/sampling_logp_difference/max"]
                .as_f64()
                .unwrap();
            assert!(
                (ratio - 1.0).abs() < 1e-3 && apart < 1e-3,
                "{ratio} {apart}"
            );
        }
    }
    let state = |name: &str| folder.path().join(name).join("training_options.json");
    let options = std::fs::read_to_string(state("sequence_mask")).unwrap();
    assert!(options.contains("\"vespo_k_pos\": 1.5"), "{options}");
}

#[test]
fn allowed_fallback_model_is_marked_in_run_outputs() {
    let folder = tempfile::tempdir().unwrap();
    let (corpus, _) = made(folder.path());
    let out = folder.path().join("out");
    let run = format!(
        "lm sft --model no/such-model --data {corpus} --max-steps 1 --batch-size 1 --allow-fallback --output-dir {}",
        out.display()
    );
    let output = succeeds(&run);
    assert!(output.contains("fallback"), "{output}");
    for (file, mark) in [
        ("README.md", "Fallback"),
        ("events.jsonl", "\"fallback\":true"),
        ("trainer_state.json", "\"fallback\": true"),
    ] {
        let text = std::fs::read_to_string(out.join(file)).unwrap();
        assert!(text.contains(mark), "{file}");
    }
}
