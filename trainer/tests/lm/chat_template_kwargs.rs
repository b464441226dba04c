//! Variables of a chat template: in every command that formats conversations, and in the models that
//! were trained with them.

use std::path::Path;

use sentinel_language::agent::{GenerationArgs, LoadedModel};
use sentinel_lm::{ModelType, Tokenizer};
use serde_json::{Value, json};

use crate::init::new_model;
use crate::oracle::oracle_of;
use crate::runs::{fails, refused, succeeds};
use crate::text::Renderings;

const OFF: &str = r#"--chat-template-kwargs {"enable_thinking":false}"#;
/// The text that Qwen3's template adds to the beginning of an answer without reasoning.
const NO_THOUGHT: &str = "<think>\n\n</think>\n\n";
const FILE: &str = "chat_template_kwargs.json";

struct Folders {
    root: tempfile::TempDir,
    corpus: String,
    model: String,
}

impl Folders {
    fn path(&self, name: &str) -> String {
        self.root.path().join(name).display().to_string()
    }

    /// Trains for a step and returns the folder; `options` follow the name of the command.
    fn sft(&self, name: &str, options: &str) -> String {
        let output = self.path(name);
        let corpus = &self.corpus;
        succeeds(&format!(
            "lm sft {options} --data {corpus} --max-steps 1 --max-length 2048 --output-dir {output}"
        ));
        output
    }
}

/// Creates a corpus, and a very small model with the chat template of Qwen3.
fn folders() -> Option<Folders> {
    let cases: Renderings = oracle_of("qwen3").json("chat_cases.json")?;
    let root = tempfile::tempdir().unwrap();
    let path = |name: &str| root.path().join(name).display().to_string();
    let (corpus, model) = (path("corpus.jsonl"), path("model"));
    succeeds(&format!(
        "lm corpus --world trust --task task1 --seeds 100000..100001 --out {corpus}"
    ));
    new_model(Path::new(&model), ModelType::Qwen3);
    let template = Path::new(&model).join("chat_template.jinja");
    std::fs::write(template, &cases.templates["qwen3"]).unwrap();
    Some(Folders {
        root,
        corpus,
        model,
    })
}

fn json_file(path: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

/// Returns the number of trained tokens of a run.
fn labels(run: &str) -> f64 {
    let events = std::fs::read_to_string(Path::new(run).join("events.jsonl")).unwrap();
    let mut events = events
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let data = events.find(|event| event["event"] == "data").unwrap();
    data["counts"]["labels"].as_f64().unwrap()
}

/// Returns the prompt that a model with an adapter is given by default, or with `kwargs`.
fn prompt(model: &str, adapter: Option<&str>, kwargs: Option<&str>) -> String {
    let options = GenerationArgs {
        adapter: adapter.map(Into::into),
        max_completion_length: Some(1),
        chat_template_kwargs: kwargs.map(|kwargs| kwargs.parse().unwrap()),
        ..GenerationArgs::default()
    };
    let loaded = LoadedModel::load(model, &options).unwrap();
    let mut agent = loaded.agent().with_recorded_generations();
    agent.complete("Hi").unwrap();
    let tokenizer = Tokenizer::load(Path::new(model)).unwrap();
    tokenizer
        .decode(&agent.generations[0].prompt, false)
        .unwrap()
}

#[test]
fn trained_models_keep_the_variables() {
    let Some(folders) = folders() else {
        return;
    };
    let model = &folders.model;
    let on = "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n";
    let off = format!("{on}{NO_THOUGHT}");
    assert_eq!(prompt(model, None, None), on);
    assert_eq!(
        prompt(model, None, Some(r#"{"enable_thinking":false}"#)),
        off
    );

    // All weights: the files are those of a model.
    let full = folders.sft("full", &format!("--model {model} --full {OFF}"));
    let saved = json!({"enable_thinking": false});
    assert_eq!(json_file(&Path::new(&full).join(FILE)), saved);
    let options = json_file(&Path::new(&full).join("training_options.json"));
    assert_eq!(options["chat_template_kwargs"], saved);
    assert_eq!(
        json_file(&Path::new(&full).join("checkpoint-1").join(FILE)),
        saved
    );
    assert_eq!(prompt(&full, None, None), off);
    assert_eq!(prompt(&full, None, Some("{}")), on);

    // An adapter has its own, also if the base model has others.
    let adapter = folders.sft("adapter", &format!("--model {model} {OFF}"));
    assert_eq!(prompt(model, Some(&adapter), None), off);
    let other = folders.sft(
        "other",
        &format!("--model {full} --chat-template-kwargs {{}}"),
    );
    assert_eq!(prompt(&full, Some(&other), None), on);
    // Without reasoning, its empty text is a part of the prompt, which is not trained.
    assert!(labels(&adapter) < labels(&other));
    let further = folders.sft("further", &format!("--model {model} --adapter {adapter}"));
    assert_eq!(prompt(model, Some(&further), None), off);

    for (base, adapter, expected) in [(model, &adapter, &off), (&full, &other, &on.to_owned())] {
        let merged = format!("{adapter}-merged");
        succeeds(&format!(
            "lm merge --model {base} --adapter {adapter} --output-dir {merged}"
        ));
        assert_eq!(&prompt(&merged, None, None), expected);
    }

    // A new run in the folder of an earlier one leaves nothing of it.
    let again = folders.sft(
        "full",
        &format!("--model {model} --full --overwrite-output-dir"),
    );
    assert!(!Path::new(&again).join(FILE).exists());
    assert_eq!(prompt(&again, None, None), on);
}

#[test]
fn every_command_passes_the_variables() {
    let Some(folders) = folders() else {
        return;
    };
    let model = &folders.model;
    let world = "--world trust --task task1";
    let grpo = folders.path("grpo");
    let run = format!(
        "lm grpo --model {model} {world} --episodes 2 --episodes-per-update 1 --num-generations 2 \
         --groups-per-update 1 --max-completion-length 4 --save-steps 1 --output-dir {grpo}"
    );
    succeeds(&format!("{run} --max-steps 1 {OFF}"));
    assert!(prompt(model, Some(&grpo), None).ends_with(NO_THOUGHT));
    // The run is resumed with the same variables only.
    let other = r#"--chat-template-kwargs {"enable_thinking":true}"#;
    let error = fails(&format!("{run} --resume-from-checkpoint {other}"));
    assert!(error.contains("chat_template_kwargs"), "{error}");

    let eval = |options: &str| -> Value {
        let found = succeeds(&format!(
            "lm eval --model {model} {options} {world} --seeds 1000..1001 --max-completion-length 4"
        ));
        serde_json::from_str(&found).unwrap()
    };
    let off = json!({"enable_thinking": false});
    assert_eq!(eval(OFF)["chat_template_kwargs"], off);
    assert_eq!(
        eval(&format!("--adapter {grpo}"))["chat_template_kwargs"],
        off
    );
    assert!(eval("").get("chat_template_kwargs").is_none());

    succeeds(&format!(
        "lm rollout --model {model} {OFF} {world} --episodes 1 --max-completion-length 4"
    ));
    let (replay, manifest) = (folders.path("r.jsonl"), folders.path("manifest.json"));
    succeeds(&format!(
        "record --model {model} {OFF} {world} --seeds 0..1 --streams independent --max-completion-length 4 \
         --out {replay} --manifest {manifest}"
    ));
    let manifest = std::fs::read_to_string(manifest).unwrap();
    assert!(manifest.contains("enable_thinking"), "{manifest}");
}

#[test]
fn variables_are_a_json_object() {
    for command in [
        "lm sft",
        "lm grpo",
        "lm eval --model m",
        "lm rollout --model m",
        "record --model m --out r.jsonl",
    ] {
        for value in [
            "7",
            "enable_thinking=false",
            "[]",
            r#"{"messages":[]}"#,
            "{",
        ] {
            let error = refused(&format!("{command} --chat-template-kwargs {value}"));
            assert!(error.contains("--chat-template-kwargs"), "{error}");
        }
    }
    let error = fails("serve --port 0 --policy bayes --chat-template-kwargs 7");
    assert!(error.contains("--chat-template-kwargs"), "{error}");
    let error = fails("serve --port 0 --policy bayes --chat-template-kwargs {}");
    assert!(error.contains("for language models"), "{error}");

    // Files: JSON has an object, TOML a text.
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    for (name, text, valid) in [
        (
            "a.toml",
            "chat-template-kwargs = '{\"enable_thinking\": false}'",
            true,
        ),
        (
            "b.json",
            r#"{"chat_template_kwargs": {"enable_thinking": false}}"#,
            true,
        ),
        ("c.toml", "chat-template-kwargs = 7", false),
        (
            "d.json",
            r#"{"chat_template_kwargs": {"tools": []}}"#,
            false,
        ),
        ("e.toml", "chat-template-kwargs = {a = 1}", false),
    ] {
        let file = path(name);
        std::fs::write(&file, text).unwrap();
        let error = fails(&format!(
            "lm sft --config {file} --model none --output-dir {}",
            path("out")
        ));
        let named =
            error.contains("chat_template_kwargs") || error.contains("chat-template-kwargs");
        assert_eq!(named, !valid, "{name}: {error}");
    }
}
