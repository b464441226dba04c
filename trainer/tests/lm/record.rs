//! `sentinel record` and `sentinel lm rollout` with a language model: outputs and rejected options.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

/// Returns the path of a recorded model or adapter.
fn oracle(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/oracle/qwen2");
    folder.join(name)
}

fn sentinel_in(folder: &Path, words: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sentinel"));
    command.args(words.split_whitespace()).current_dir(folder);
    // Prevents downloads and the use of a local cache.
    command
        .env("HF_HUB_OFFLINE", "1")
        .env("HF_HUB_CACHE", folder.join("none"));
    command.output().unwrap()
}

/// Returns the standard output and the standard error of a successful run.
#[track_caller]
fn succeeds(folder: &Path, words: &str) -> (String, String) {
    let found = sentinel_in(folder, words);
    let stderr = String::from_utf8(found.stderr).unwrap();
    assert!(found.status.success(), "{words}: {stderr}");
    (String::from_utf8(found.stdout).unwrap(), stderr)
}

#[track_caller]
fn fails(folder: &Path, words: &str, parts: &[&str]) {
    let found = sentinel_in(folder, words);
    let stderr = String::from_utf8(found.stderr).unwrap();
    assert!(
        !found.status.success() && stderr.starts_with("error: "),
        "{words}: {stderr}"
    );
    let is_usage = found.status.code() == Some(2);
    assert!(is_usage || stderr.lines().count() == 1, "{stderr}");
    for part in parts {
        assert!(stderr.contains(part), "{words}: no {part:?} in {stderr}");
    }
}

fn rows(file: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(file).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// An untrained model generates no valid action: every row is a fallback, which all outputs report.
#[test]
fn invalid_completions_are_recorded_as_fallbacks() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let model = oracle("model_tied");
    let record = format!(
        "record --model {} --tasks task1 --seeds 1000..1002 --streams independent --max-completion-length 12 \
         --out a.jsonl --manifest manifest.json",
        model.display()
    );
    let (output, stderr) = succeeds(folder, &record);
    let rows = rows(&folder.join("a.jsonl"));
    let count = rows.len();
    let counted = format!("in words: rows {count}, repaired 0, fallbacks {count}");
    assert!(
        output.contains("fits") && output.contains(&counted),
        "{output}"
    );
    let warned = format!("warning: {count} of {count} completions were not actions");
    assert!(stderr.contains(&warned), "{stderr}");
    for row in &rows {
        assert_eq!(row["model_source"], "model_tied");
        assert_eq!(row["fallback"], true);
        assert!(row["prompt"].as_str().unwrap().starts_with("trust task1"));
        assert!(row["completion"].is_string());
    }
    // The command in the manifest reproduces the same file.
    let manifest = std::fs::read_to_string(folder.join("manifest.json")).unwrap();
    let manifest: Value = serde_json::from_str(&manifest).unwrap();
    let command = manifest["files"][0]["command"].as_str().unwrap();
    for part in [
        "--prompt compact",
        "--parser strict",
        "--temperature 0",
        "--max-completion-length 12",
        "--generation-batch-size 64",
        "--device cpu",
    ] {
        assert!(command.contains(part), "{command}");
    }
    assert_eq!(manifest["files"][0]["policy"], "model_tied");
    assert_eq!(manifest["files"][0]["fallbacks"], count);
    let before = std::fs::read(folder.join("a.jsonl")).unwrap();
    succeeds(
        folder,
        &format!("{} --force", command.strip_prefix("sentinel ").unwrap()),
    );
    assert_eq!(std::fs::read(folder.join("a.jsonl")).unwrap(), before);
    // The replay can be verified, and played as policy `trained`.
    let (output, _) = succeeds(folder, "replay verify a.jsonl");
    assert!(output.contains(&counted), "{output}");
    let eval = "eval --policies trained --replay a.jsonl --task task1 --seeds 1000..1002 --streams independent";
    let (output, stderr) = succeeds(folder, eval);
    let recorded = format!("{count} recorded actions from a.jsonl, 0 replay misses");
    let fallbacks = format!("{count} of the recorded actions are the fallback's");
    assert!(
        output.contains(&recorded) && output.contains(&fallbacks),
        "{output}{stderr}"
    );
    fails(folder, &record, &["a.jsonl exists", "--force"]);
}

#[test]
fn record_uses_adapter_and_refuses_foreign_one() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let record = |model: &str, adapter: &str, more: &str| {
        format!(
            "record --model {} --adapter {} --tasks task1 --seeds 1000 --max-completion-length 12 {more} --force \
             --out a.jsonl",
            oracle(model).display(),
            oracle(adapter).display()
        )
    };
    succeeds(folder, &record("model_tied", "adapter_tied", ""));
    let best = rows(&folder.join("a.jsonl"));
    assert!(
        best.iter()
            .all(|row| row["model_source"] == "model_tied+adapter_tied")
    );
    let first_completion = |seed: &str| {
        let more = format!("--temperature 1.5 --seed {seed} --prompt compact --parser repair");
        succeeds(folder, &record("model_tied", "adapter_tied", &more));
        rows(&folder.join("a.jsonl"))[0]["completion"].clone()
    };
    let (one, same, other) = (
        first_completion("1"),
        first_completion("1"),
        first_completion("2"),
    );
    assert!(
        one == same && one != other && one != best[0]["completion"],
        "{one} {other}"
    );
    succeeds(
        folder,
        "lm init --output-dir other --hidden-size 32 --intermediate-size 64 --num-hidden-layers 1 --num-attention-heads 2 --num-key-value-heads 1",
    );
    let model = oracle("model_tied").display().to_string();
    let other = record("model_tied", "adapter_tied", "").replace(&model, "other");
    fails(
        folder,
        &other,
        &["adapter_tied", "does not fit the model", "base model"],
    );
    let cold = record("model_tied", "adapter_tied", "--temperature -1");
    assert!(!sentinel_in(folder, &cold).status.success());
}

/// In PolyGuard an invalid completion is a step of the model's own; the cluster world has a
/// fallback like the trust world.
#[test]
fn language_models_are_recorded_in_other_worlds() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    for (world, task, fallback) in [("cluster", "task1", true), ("polyguard", "DDI-easy", false)] {
        succeeds(
            folder,
            &format!("lm corpus --world {world} --task {task} --seeds 100000 --out {world}.jsonl"),
        );
        succeeds(
            folder,
            &format!(
                "lm init --output-dir {world} --data {world}.jsonl --vocab-size 400 --hidden-size 32 \
                 --intermediate-size 64 --num-hidden-layers 1 --num-attention-heads 2 --num-key-value-heads 1"
            ),
        );
        let record = format!(
            "record --world {world} --rules hardened --tasks {task} --model {world} --seeds 0 \
             --max-completion-length 4 --prompt compact --out {world}-replay.jsonl"
        );
        let (output, stderr) = succeeds(folder, &record);
        let rows = rows(&folder.join(format!("{world}-replay.jsonl")));
        let fallbacks = if fallback { rows.len() } else { 0 };
        let counted = format!("rows {}, repaired 0, fallbacks {fallbacks}", rows.len());
        assert!(
            output.contains("fits") && output.contains(&counted),
            "{output}"
        );
        assert_eq!(stderr.contains("warning:"), fallback, "{stderr}");
        assert!(rows.iter().all(|row| row["model_source"] == world));
        succeeds(folder, &format!("replay verify {world}-replay.jsonl"));
    }
}

#[test]
fn record_refuses_invalid_model_and_options() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let model = oracle("model_tied");
    let with = |model: &str, more: &str| {
        format!("record --model {model} --tasks task1 --seeds 0 {more} --out a.jsonl")
    };
    std::fs::create_dir(folder.join("empty")).unwrap();
    let both = [
        "empty",
        "neither a compact model",
        "nor a language model",
        "sentinel train",
        "config.json",
    ];
    fails(folder, &with("empty", ""), &both);
    fails(
        folder,
        &with("nowhere", ""),
        &[
            "nowhere",
            "neither the folder of a compact model",
            "nor a language model",
        ],
    );
    let adapter = oracle("adapter_tied");
    fails(
        folder,
        &with(&adapter.display().to_string(), ""),
        &["adapter_tied", "LoRA adapter", "--adapter"],
    );
    let compact = Path::new(env!("CARGO_MANIFEST_DIR")).join("../replays/grpo");
    let compact = compact.display().to_string();
    fails(
        folder,
        &with(&compact, "--temperature 1"),
        &["compact model", "--temperature"],
    );
    fails(
        folder,
        &with(&compact, "--prompt compact"),
        &["compact model", "--prompt"],
    );
    let adapter = format!("--adapter {}", adapter.display());
    fails(
        folder,
        &with(&compact, &adapter),
        &["compact model", "--adapter"],
    );
    fails(
        folder,
        "record --policy random --seeds 0 --temperature 1 --out a.jsonl",
        &["--model"],
    );
    let language = model.display().to_string();
    let none = with(&language, "--batch-size 0");
    fails(folder, &none, &["generation-batch-size"]);
    let lax = with(&language, "--parser lax");
    fails(folder, &lax, &["lax", "possible values: strict"]);
    fails(
        folder,
        &format!("eval --policies trained --model {language} --seeds 0..1"),
        &["language model", "lm eval", "sentinel record"],
    );
    assert!(!folder.join("a.jsonl").exists());
}

#[test]
fn rollout_with_model_reports_score_and_signals() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let model = oracle("model_tied").display().to_string();
    let rollout =
        format!("lm rollout --model {model} --task task1 --episodes 2 --max-completion-length 12");
    let (output, _) = succeeds(folder, &rollout);
    let found: Value = serde_json::from_str(&output).unwrap();
    assert_eq!(found["policy"], "model_tied");
    assert_eq!(
        (&found["episodes"], &found["avg_score"]),
        (&2.into(), &0.0.into())
    );
    assert_eq!(found["signals"]["invalid_rate"], 1.0);
    fails(
        folder,
        &format!("{rollout} --dry-run"),
        &["--dry-run", "--model"],
    );
    fails(
        folder,
        &format!("{rollout} --policy bayes"),
        &["--policy", "--model"],
    );
    fails(folder, "lm rollout --dry-run --temperature 1", &["--model"]);
    fails(folder, "lm rollout --model nowhere", &["nowhere"]);
}

/// With constrained decoding an untrained model plays legal actions only, and all outputs are
/// marked.
#[test]
fn constrained_decoding_plays_legal_actions_only() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let model = oracle("model_tied");
    let model = model.display();
    let play =
        "--seeds 1000..1002 --streams independent --max-completion-length 250 --temperature 1";
    let measure = format!("lm eval --model {model} {play}");
    let (free, _) = succeeds(folder, &measure);
    let free: Value = serde_json::from_str(&free).unwrap();
    assert_eq!(
        (&free["validity"], &free["constrained"]),
        (&0.0.into(), &Value::Null)
    );
    let (limited, _) = succeeds(folder, &format!("{measure} --constrained"));
    let limited: Value = serde_json::from_str(&limited).unwrap();
    assert_eq!(
        (&limited["validity"], &limited["constrained"]),
        (&1.0.into(), &true.into())
    );
    succeeds(
        folder,
        &format!("record --model {model} --tasks task1 {play} --constrained --out a.jsonl"),
    );
    let rows = rows(&folder.join("a.jsonl"));
    let mut actions = std::collections::BTreeSet::new();
    for row in &rows {
        assert_eq!(row["model_source"], "model_tied+constrained");
        assert!(row["fallback"].as_bool() != Some(true), "{row}");
        actions.insert(row["completion"].to_string());
    }
    assert!(actions.len() > 3, "{actions:?}");
    fails(
        folder,
        "eval --policies random --constrained --seeds 1000..1001",
        &["--constrained"],
    );
}
