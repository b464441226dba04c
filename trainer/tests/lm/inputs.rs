//! Inputs of a run: options that would be ignored, and files that changed before it was resumed.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::run_errors::assert_contains;
use crate::runs::{curve, fails, made, succeeds};

/// Returns the command of a run with one step.
fn short(corpus: &Path, model: &Path, out: &Path, more: &str) -> String {
    format!(
        "lm sft --model {} --data {} --max-steps 1 --batch-size 2 {more} --output-dir {}",
        model.display(),
        corpus.display(),
        out.display()
    )
}

fn paths(folder: &Path) -> (PathBuf, PathBuf) {
    let (corpus, model) = made(folder);
    (corpus.into(), model.into())
}

fn events(out: &Path, kind: &str) -> Vec<Value> {
    let text = fs::read_to_string(out.join("events.jsonl")).unwrap();
    let events = text
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    events.filter(|event| event["event"] == kind).collect()
}

fn object(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

fn set(path: &Path, key: &str, value: Value) {
    let mut all = object(path);
    all[key] = value;
    fs::write(path, all.to_string()).unwrap();
}

#[test]
fn resume_refuses_changed_input_files() {
    let folder = tempfile::tempdir().unwrap();
    let (corpus, model) = paths(folder.path());
    let (first, out) = (folder.path().join("first"), folder.path().join("out"));
    succeeds(&short(&corpus, &model, &first, "--lora-r 4"));
    let more = format!("--adapter {}", first.display());
    succeeds(&short(&corpus, &model, &out, &more));
    let resume = format!("lm sft --resume --output-dir {}", out.display());
    succeeds(&resume);
    for (path, what) in [
        (corpus.clone(), "the corpus"),
        (model.join("tokenizer.json"), "tokenizer.json of the model"),
        (
            model.join("chat_template.jinja"),
            "chat_template.jinja of the model",
        ),
        (
            first.join("adapter_config.json"),
            "adapter_config.json of the adapter",
        ),
    ] {
        let before = fs::read(&path).unwrap();
        fs::write(&path, [&before[..], b"\n"].concat()).unwrap();
        assert_contains(
            &fails(&resume),
            &[what, "not as it was", "--overwrite-output-dir"],
        );
        fs::write(&path, before).unwrap();
    }
    fs::remove_file(model.join("generation_config.json")).unwrap();
    assert_contains(&fails(&resume), &["generation_config.json of the model"]);
    // A checkpoint from before digests were recorded accepts any files.
    let checkpoint = out.join("checkpoint.safetensors");
    let bytes = fs::read(&checkpoint).unwrap();
    let file = safetensors::SafeTensors::deserialize(&bytes).unwrap();
    let (_, header) = safetensors::SafeTensors::read_metadata(&bytes).unwrap();
    let mut texts = header.metadata().clone().unwrap();
    let text = texts.get_mut("sentinel-lm-checkpoint").unwrap();
    let mut header: Value = serde_json::from_str(text).unwrap();
    assert!(header.as_object_mut().unwrap().remove("inputs").is_some());
    *text = header.to_string();
    let older = safetensors::serialize(file.tensors(), Some(texts)).unwrap();
    fs::write(&checkpoint, older).unwrap();
    succeeds(&resume);
}

/// Options in a file of another kind, or with values of another type, are named.
#[test]
fn options_of_other_kinds_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let (corpus, model) = paths(folder.path());
    let file = folder.path().join("options.json");
    let out = folder.path().join("out");
    let options = format!("--config {}", file.display());
    let run = short(&corpus, &model, &out, &options);
    for (text, parts) in [
        (r#"{"output_dir":"x"}"#, ["output_dir", "command line"]),
        (r#"{"learning_rate":"5e-6"}"#, ["learning_rate", "5e-6"]),
        (
            r#"{"lora_target_modules":["q_proj"]}"#,
            ["lora_target_modules", "a string"],
        ),
    ] {
        fs::write(&file, text).unwrap();
        assert_contains(&fails(&run), &parts);
    }
    fs::write(&file, "\u{feff}{\"max_length\":7}").unwrap();
    assert_contains(&fails(&run), &["longer than 7 tokens"]);
    let yaml = folder.path().join("options.yaml");
    fs::write(&yaml, "full: true\n").unwrap();
    let with_yaml = run.replace("options.json", "options.yaml");
    assert_contains(
        &fails(&with_yaml),
        &["options.yaml", "YAML", "TOML or JSON"],
    );
    assert!(!out.exists());
}

/// A continued adapter has its own rank: the outputs report it, and other values are rejected.
#[test]
fn lora_options_that_conflict_with_adapter_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (corpus, model) = paths(folder.path());
    let (first, out) = (folder.path().join("first"), folder.path().join("out"));
    let options = "--lora-r 4 --lora-alpha 6 --lora-targets q_proj,v_proj --lora-dropout 0.25";
    succeeds(&short(&corpus, &model, &first, options));
    let adapter = format!("--adapter {}", first.display());
    for (option, value) in [
        ("lora-r", "32"),
        ("lora-alpha", "16"),
        ("lora-dropout", "0.5"),
        ("lora-target-modules", "q_proj"),
    ] {
        let message = fails(&short(
            &corpus,
            &model,
            &out,
            &format!("{adapter} --{option} {value}"),
        ));
        assert_contains(&message, &[option, "left out with --adapter"]);
    }
    succeeds(&short(
        &corpus,
        &model,
        &out,
        &format!("{adapter} {options}"),
    ));
    succeeds(&short(&corpus, &model, &out, &format!("{adapter} --force")));
    let config = &events(&out, "started")[0]["config"];
    let names = [
        "lora_r",
        "lora_alpha",
        "lora_dropout",
        "lora_target_modules",
    ];
    let values = [json!(4), json!(6.0), json!(0.25), json!("q_proj,v_proj")];
    let card = fs::read_to_string(out.join("README.md")).unwrap();
    for (name, value) in names.into_iter().zip(values) {
        assert_eq!(config[name], value, "{name}");
        assert!(card.contains(&format!("| `{name}` | {value} |")), "{name}");
    }
    succeeds(&format!("lm sft --resume --output-dir {}", out.display()));

    // Options in a file are treated as on the command line.
    let file = folder.path().join("options.json");
    let other = folder.path().join("other");
    let run = short(
        &corpus,
        &model,
        &other,
        &format!("{adapter} --config {}", file.display()),
    );
    fs::write(&file, r#"{"full":true}"#).unwrap();
    assert_contains(&fails(&run), &["adapter", "left out with full"]);
    for text in ["[1]", "\"full\"", "null", "7", ""] {
        fs::write(&file, text).unwrap();
        assert_contains(
            &fails(&run),
            &["options.json", "not a JSON object of options"],
        );
    }
    let huge = "--batch-size 4294967296 --gradient-accumulation-steps 4294967296";
    let run = short(&corpus, &model, &other, "").replace("--batch-size 2", huge);
    assert_contains(
        &fails(&run),
        &["per-device-train-batch-size", "their product"],
    );
    assert!(!other.exists());
}

#[test]
fn rows_longer_than_model_context_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (corpus, _) = paths(folder.path());
    let (model, out) = (folder.path().join("short"), folder.path().join("out"));
    succeeds(&format!(
        "lm init --output-dir {} --data {} --vocab-size 400 --hidden-size 32 --intermediate-size 64 --num-hidden-layers 1 \
         --num-attention-heads 2 --num-key-value-heads 1 --max-position-embeddings 64",
        model.display(),
        corpus.display()
    ));
    let parts = ["the model reads 64", "lower --max-length from 1024 to 64"];
    assert_contains(&fails(&short(&corpus, &model, &out, "")), &parts);
    assert_contains(&fails(&short(&corpus, &model, &out, "--packing")), &parts);
    assert!(!out.exists());
    let cut = "--max-length 64 --too-long cut --train-on-prompt";
    succeeds(&short(&corpus, &model, &out, cut));
    assert_eq!(events(&out, "data")[0]["counts"]["longest"], 64.0);
}

/// Rows without a rendered answer are counted and reported; without other rows, training fails.
#[test]
fn rows_without_trainable_tokens_are_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let (corpus, model) = paths(folder.path());
    let path = model.join("chat_template.jinja");
    let template = fs::read_to_string(&path).unwrap();
    let shown = "{{- '<|im_start|>' + m";
    let skips = "{%- if message.content == 'nothing' %}{%- continue %}{%- endif %}";
    let silent = template.replace(shown, &format!("{skips}{shown}"));
    assert_ne!(silent, template);
    fs::write(&path, silent).unwrap();
    let row =
        r#"{"messages":[{"role":"user","content":"x"},{"role":"assistant","content":"nothing"}]}"#;
    let lines = fs::read_to_string(&corpus).unwrap();
    let rows = lines.lines().count();
    let out = folder.path().join("out");
    fs::write(&corpus, format!("{row}\n{lines}{row}\n")).unwrap();
    succeeds(&short(&corpus, &model, &out, "--no-shuffle"));
    let counts = &events(&out, "data")[0]["counts"];
    assert_eq!(
        (&counts["rows"], &counts["unlabeled"]),
        (&json!(rows as f64), &json!(2.0))
    );
    let warning = events(&out, "warning")[0]["text"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(
        warning.starts_with("2 rows without a token to train"),
        "{warning}"
    );
    assert!(warning.contains("line 1)"), "{warning}");

    fs::write(&corpus, row).unwrap();
    let other = folder.path().join("other");
    let message = fails(&short(&corpus, &model, &other, ""));
    assert_contains(&message, &["data", "something to learn"]);
}

/// Each file can name the stop tokens. A trained model keeps those of its base, and a model
/// without any causes a warning.
#[test]
fn stop_tokens_are_kept_and_missing_ones_warned() {
    let folder = tempfile::tempdir().unwrap();
    let (corpus, model) = paths(folder.path());
    let out = folder.path().join("out");
    fs::remove_file(model.join("generation_config.json")).unwrap();
    set(&model.join("config.json"), "eos_token_id", json!([2, 0]));
    succeeds(&short(&corpus, &model, &out, "--full"));
    assert_eq!(
        object(&out.join("config.json"))["eos_token_id"],
        json!([2, 0])
    );
    assert!(events(&out, "warning").is_empty());

    set(&model.join("config.json"), "eos_token_id", json!(null));
    succeeds(&format!("{} --force", short(&corpus, &model, &out, "")));
    assert!(events(&out, "warning").is_empty(), "the tokenizer has one");
    set(
        &model.join("tokenizer_config.json"),
        "eos_token",
        json!(null),
    );
    let grpo = format!(
        "lm grpo --model {} --task task1 --episodes 1 --num-generations 2 --groups-per-update 1 \
         --max-completion-length 4 --output-dir {}",
        model.display(),
        out.display()
    );
    for run in [short(&corpus, &model, &out, ""), grpo] {
        succeeds(&format!("{run} --force"));
        let text = &events(&out, "warning")[0]["text"];
        let missed = "the model names no token that ends a text";
        assert!(text.as_str().unwrap().starts_with(missed), "{text}");
    }
}

/// An adapter of a fallback model names that as its base, and the fallback accepts prompts that the
/// model would accept.
#[test]
fn fallback_model_is_named_and_accepts_long_prompts() {
    let folder = tempfile::tempdir().unwrap();
    let corpus = folder.path().join("corpus.jsonl");
    succeeds(&format!(
        "lm corpus --world cluster --task task1 --prompt reference --seeds 100000 --out {}",
        corpus.display()
    ));
    let out = folder.path().join("out");
    let run = short(
        &corpus,
        Path::new("no/such-model"),
        &out,
        "--allow-fallback",
    );
    let run = run.replace("--batch-size 2", "--batch-size 1");
    assert!(succeeds(&run).contains("fallback"));
    let stand_in = out.join("fallback-model");
    let config = object(&out.join("adapter_config.json"));
    assert_eq!(
        config["base_model_name_or_path"],
        stand_in.to_str().unwrap()
    );
    let card = fs::read_to_string(out.join("README.md")).unwrap();
    let base = format!("base_model: {:?}\n", stand_in.display().to_string());
    assert!(
        card.contains(&base) && card.contains("`no/such-model`, could not"),
        "{card}"
    );
    // The tokenizer has learned words, not only bytes.
    let text = fs::read_to_string(&corpus).unwrap();
    let bytes = text.lines().map(str::len).max().unwrap() as f64;
    let longest = events(&out, "data")[0]["counts"]["longest"]
        .as_f64()
        .unwrap();
    assert!(longest * 2.0 < bytes, "{longest} {bytes}");
    succeeds(&format!("lm sft --resume --output-dir {}", out.display()));
    // A new run trains the tokenizer on the new corpus.
    fs::write(&corpus, r#"{"prompt":"aaaa aaaa","completion":"aaaa"}"#).unwrap();
    let before = fs::read(stand_in.join("tokenizer.json")).unwrap();
    succeeds(&format!("{run} --force"));
    assert!(before != fs::read(stand_in.join("tokenizer.json")).unwrap());

    // These prompts would be too long as single bytes.
    let grpo = "lm grpo --model no/such-model --allow-fallback --world cluster --task task1 --episodes 2 \
                --batch-size 1 --max-steps 1 --num-generations 2 --groups-per-update 1 --prompt reference \
                --max-completion-length 4";
    let played = folder.path().join("played");
    succeeds(&format!("{grpo} --output-dir {}", played.display()));
}

/// A run that stops at a prompt that is too long keeps its progress, and can be resumed with a
/// larger limit.
#[test]
fn run_stopped_at_long_prompt_resumes_with_larger_limit() {
    let folder = tempfile::tempdir().unwrap();
    let (_, model) = made(folder.path());
    let out = folder.path().join("out");
    let run = |more: &str| format!("lm grpo --output-dir {} {more}", out.display());
    // Prompts of task1 fit into 496 tokens, those of task3 do not; this seed begins with task1.
    let message = fails(&run(&format!(
        "--model {model} --world cluster --task task1,task3 --seed 1 --episodes 6 --batch-size 1 \
         --num-generations 2 --groups-per-update 2 --max-completion-length 4 --max-length 500"
    )));
    assert!(message.contains("longer than 496 tokens"), "{message}");
    assert!(message.contains("--max-length"), "{message}");
    let steps = curve(&out).len();
    assert!((1..6).contains(&steps), "{steps}");
    let message = fails(&run("--resume"));
    assert!(message.contains("longer than 496 tokens"), "{message}");
    succeeds(&run("--resume --max-length 600"));
    assert_eq!(curve(&out).len(), 6);
}
