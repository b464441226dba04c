//! Runs that cannot start or continue: a one-line error names the problem and the remedy.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::runs::{adapter, curve, fails, made, succeeds};

/// Checks that there is one error, on the last line, which contains all `parts`.
#[track_caller]
pub(crate) fn assert_contains(message: &str, parts: &[&str]) {
    let errors = message.lines().filter(|line| line.starts_with("error: "));
    assert_eq!(errors.count(), 1, "{message}");
    let last = message.lines().last().unwrap();
    for part in parts {
        assert!(last.contains(part), "{part:?} is not in: {last}");
    }
}

#[test]
fn run_errors_name_cause_and_remedy() {
    let folder = tempfile::tempdir().unwrap();
    let (corpus, model) = made(folder.path());
    let out = folder.path().join("out").display().to_string();
    let message = fails(&format!(
        "lm sft --model {model} --data {corpus} --max-length 64 --output-dir {out}"
    ));
    assert!(
        message.contains("rows are longer than 64 tokens") && message.contains("--too-long drop"),
        "{message}"
    );
    let message = fails(&format!(
        "lm sft --model no/such-model --data {corpus} --output-dir {out}"
    ));
    assert!(message.contains("no model \"no/such-model\""), "{message}");
    let message = fails(&format!(
        "lm grpo --model {model} --num-generations 1 --output-dir {out}"
    ));
    assert!(message.contains("num-generations"), "{message}");
    let message = fails(&format!(
        "lm sft --resume --model {model} --data no.jsonl --output-dir {out}"
    ));
    let lines: Vec<&str> = message.lines().collect();
    let [begins, missing] = lines.as_slice() else {
        panic!("{message}");
    };
    assert!(begins.contains("no checkpoint in"), "{message}");
    assert!(missing.contains("cannot read no.jsonl"), "{message}");
}

#[test]
fn row_that_the_template_rejects_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let (_, model) = made(folder.path());
    let path = |name: &str| folder.path().join(name).display().to_string();
    let template = "{% for m in messages %}{% if 'x' in m.content %}{{ raise_exception('no x') }}{% endif %}\
                    {{ m.content }}{% endfor %}";
    fs::write(Path::new(&model).join("chat_template.jinja"), template).unwrap();
    let row = |question: &str| {
        format!(
            "{{\"messages\":[{{\"role\":\"user\",\"content\":\"{question}\"}},{{\"role\":\"assistant\",\"content\":\"b\"}}]}}\n"
        )
    };
    fs::write(path("rows.jsonl"), row("a") + "\n" + &row("x")).unwrap();
    let (data, out) = (path("rows.jsonl"), path("out"));
    let message = fails(&format!(
        "lm sft --model {model} --data {data} --output-dir {out}"
    ));
    assert_contains(
        &message,
        &["rows.jsonl line 3: ", "chat template of", "no x"],
    );
}

/// A value that is not finite stops the run; the previous checkpoint remains, and is finite.
#[test]
fn diverging_run_keeps_last_finite_checkpoint() {
    let folder = tempfile::tempdir().unwrap();
    let (corpus, model) = made(folder.path());
    let out = folder.path().join("out").display().to_string();
    let run = format!(
        "lm sft --model {model} --data {corpus} --full --learning-rate 1e30 --max-grad-norm 0 \
         --max-steps 30 --save-steps 1 --output-dir {out}"
    );
    let message = fails(&run);
    assert!(
        message.contains("is not finite") && message.contains("the last good checkpoint"),
        "{message}"
    );
    assert_finite_checkpoint(&folder.path().join("out"));

    // Weights that overflow in the step after which they would be saved.
    let other = folder.path().join("other");
    let run = run
        .replace("1e30", "1e39")
        .replace(&out, &other.display().to_string());
    let message = fails(&run);
    assert_contains(&message, &["weight is not finite", "nothing was saved yet"]);
    assert!(!other.join("checkpoint.safetensors").exists());
}

/// Checks that all values of a checkpoint are finite.
fn assert_finite_checkpoint(folder: &Path) {
    let all = crate::oracle::tensors(&folder.join("checkpoint.safetensors"));
    assert!(!all.is_empty());
    for (name, tensor) in all {
        assert!(
            tensor.values.iter().all(|value| value.is_finite()),
            "{name}"
        );
    }
}

#[test]
fn adapter_or_tokenizer_of_other_model_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (corpus, other) = made(folder.path());
    let at = |name: &str| folder.path().join(name).display().to_string();
    let (out, model) = (at("out"), at("smaller"));
    // The same width and depth, with different weights and fewer tokens.
    succeeds(&format!(
        "lm init --output-dir {model} --data {corpus} --vocab-size 300 --hidden-size 32 --intermediate-size 64 \
         --num-hidden-layers 1 --num-attention-heads 2 --num-key-value-heads 1 --seed 1"
    ));
    succeeds(&format!(
        "lm sft --model {other} --data {corpus} --max-steps 1 --output-dir {out}"
    ));
    for run in [
        format!("lm sft --data {corpus} --output-dir {}", at("new")),
        format!(
            "lm grpo --task task1 --episodes 1 --output-dir {}",
            at("new")
        ),
        format!("lm merge --out {}", at("merged")),
        "lm eval --task task1 --seeds 100000..100001".to_owned(),
    ] {
        let message = fails(&format!("{run} --model {model} --adapter {out}"));
        assert_contains(&message, &[&out, "does not fit the model", "other weights"]);
    }
    fs::copy(
        Path::new(&other).join("tokenizer.json"),
        Path::new(&model).join("tokenizer.json"),
    )
    .unwrap();
    for run in [
        format!("lm sft --data {corpus} --output-dir {}", at("new")),
        format!("lm grpo --task task1 --output-dir {}", at("new")),
        "lm eval --task task1 --seeds 100000..100001".to_owned(),
    ] {
        let message = fails(&format!("{run} --model {model}"));
        let (path, holds) = (format!("{model}/tokenizer.json"), "vocabulary holds 304");
        assert_contains(
            &message,
            &[&path, "largest id 399", holds, "belongs to the model"],
        );
    }
}

#[test]
fn data_without_trainable_rows_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (corpus, model) = made(folder.path());
    let out = folder.path().join("out").display().to_string();
    let none = folder.path().join("none.jsonl");
    fs::write(&none, "\n\n").unwrap();
    let run = format!("lm sft --model {model} --output-dir {out}");
    let message = fails(&format!("{run} --data {}", none.display()));
    assert_contains(
        &message,
        &["none.jsonl", "holds no example", "sentinel lm corpus"],
    );
    let message = fails(&format!(
        "{run} --data {corpus} --max-length 8 --too-long drop"
    ));
    assert_contains(&message, &["data", "a row that fits --max-length"]);
    assert!(!Path::new(&out).exists());
}

/// Rows that are too long are counted and reported in every output; none is truncated without
/// request.
#[test]
fn too_long_rows_are_refused_dropped_or_cut_and_counted() {
    let folder = tempfile::tempdir().unwrap();
    let (corpus, model) = made(folder.path());
    let lines = fs::read_to_string(&corpus).unwrap();
    let mut long: Value = serde_json::from_str(lines.lines().next().unwrap()).unwrap();
    long["completion"][0]["content"] = "word ".repeat(700).into();
    let both = folder.path().join("both.jsonl");
    fs::write(&both, format!("{lines}{long}\n")).unwrap();
    let rows = lines.lines().count();
    let out = folder.path().join("out");
    let run = format!(
        "lm sft --model {model} --data {} --max-length 700 --max-steps 1 --output-dir {}",
        both.display(),
        out.display()
    );
    let message = fails(&run);
    assert_contains(
        &message,
        &[&format!("1 of {} rows", rows + 1), "--too-long drop"],
    );
    for (how, kept, key, word) in [
        ("drop", rows, "dropped", "left out"),
        ("cut", rows + 1, "cut", "cut off"),
    ] {
        succeeds(&format!("{run} --too-long {how} --force"));
        let events = fs::read_to_string(out.join("events.jsonl")).unwrap();
        let events: Vec<Value> = events
            .lines()
            .map(|e| serde_json::from_str(e).unwrap())
            .collect();
        let data = events
            .iter()
            .find(|event| event["event"] == "data")
            .unwrap();
        assert_eq!(data["counts"]["rows"], kept as f64);
        assert_eq!(data["counts"][key], 1.0);
        let warning = events
            .iter()
            .find(|event| event["event"] == "warning")
            .unwrap();
        let text = warning["text"].as_str().unwrap();
        assert!(
            text.starts_with("1 rows longer than 700") && text.contains(word),
            "{text}"
        );
        assert!(text.contains(&format!("line {}", rows + 1)), "{text}");
    }
    // Prompts of a world cannot be left out.
    let message = fails(&format!(
        "lm grpo --model {model} --task task1 --max-length 40 --max-completion-length 8 --output-dir {}",
        folder.path().join("played").display()
    ));
    assert_contains(
        &message,
        &["prompts are longer than 32 tokens", "the longest has"],
    );
}

/// Groups with equal rewards are counted and reported, and do not change the model.
#[test]
fn groups_without_reward_variance_keep_weights() {
    let folder = tempfile::tempdir().unwrap();
    let (_, model) = made(folder.path());
    let out = folder.path().join("out");
    let run = "--world trust --task task1 --episodes 2 --batch-size 1 --num-generations 3 --groups-per-update 2";
    // The mean of three times -0.7 is not exactly -0.7; the rounding error must not become an
    // advantage.
    for (scale, penalty) in [
        ("group", "0"),
        ("group", "-0.7"),
        ("batch", "-0.7"),
        ("none", "0"),
    ] {
        succeeds(&format!(
            "lm grpo --model {model} {run} --scale-rewards {scale} --invalid-penalty={penalty} \
             --max-completion-length 4 --force --output-dir {}",
            out.display()
        ));
        let steps = curve(&out);
        assert_eq!(steps.len(), 2);
        for step in &steps {
            // Four tokens of so small a model are never an action, so every completion has the same
            // reward.
            assert!(step["reward_std"].as_f64().unwrap() < 1e-12);
            assert_eq!(step["frac_reward_zero_std"], 1.0);
            assert_eq!(step["groups/zero_variance"], step["groups"]);
            assert_eq!(
                (&step["loss"], &step["grad_norm"]),
                (&0.0.into(), &0.0.into())
            );
        }
        let events = fs::read_to_string(out.join("events.jsonl")).unwrap();
        assert!(events.contains("groups have equal rewards: they teach nothing"));
        // A new adapter's B is zero, and stays zero.
        for (name, values) in adapter(&out) {
            assert!(
                !name.contains("lora_B") || values.iter().all(|value| *value == 0.0),
                "{name}"
            );
        }
    }
}
