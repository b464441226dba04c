//! Adapters with a tokenizer and a chat template of their own, as other trainers write them beside the weights.

use std::fs;
use std::path::Path;

use sentinel_language::agent::{GenerationArgs, LoadedModel, ModelEngine, ModelEngineOptions};
use sentinel_lm::Tokenizer;
use sentinel_server::completions::CompletionEngine;
use sentinel_server::completions::protocol::CompletionRequest;
use serde_json::{Map, Value, json};

use crate::runs::{fails, made, succeeds};

const TEMPLATE: &str =
    "{% for m in messages %}### {{ m.role }}: {{ m.content }}{{ eos_token }}\n{% endfor %}";

fn change(path: &Path, key: &str, value: Value) {
    let bytes = fs::read(path).unwrap_or_else(|_| b"{}".to_vec());
    let mut all: Map<String, Value> = serde_json::from_slice(&bytes).unwrap();
    all.insert(key.to_owned(), value);
    fs::write(path, Value::Object(all).to_string()).unwrap();
}

struct Folders {
    root: tempfile::TempDir,
    corpus: String,
    model: String,
    adapter: String,
}

impl Folders {
    fn at(&self, name: &str) -> String {
        self.root.path().join(name).display().to_string()
    }

    fn sft(&self, name: &str, options: &str) -> String {
        let (output, Self { corpus, model, .. }) = (self.at(name), self);
        let sft = format!("lm sft --model {model} --data {corpus} --max-steps 1 {options}");
        succeeds(&format!("{sft} --output-dir {output}"));
        output
    }
}

/// Creates a model, and an adapter that has another template, and another end of texts.
fn folders() -> Folders {
    let root = tempfile::tempdir().unwrap();
    let (corpus, model) = made(root.path());
    let mut folders = Folders {
        root,
        corpus,
        model,
        adapter: String::new(),
    };
    folders.adapter = folders.sft("adapter", "");
    let adapter = Path::new(&folders.adapter);
    fs::write(adapter.join("chat_template.jinja"), TEMPLATE).unwrap();
    let end = json!("<|endoftext|>");
    change(&adapter.join("tokenizer_config.json"), "eos_token", end);
    folders
}

/// Returns the prompt that a model with an adapter is given.
fn prompt(model: &str, adapter: Option<&str>) -> String {
    let options = GenerationArgs {
        adapter: adapter.map(Into::into),
        max_completion_length: Some(1),
        ..GenerationArgs::default()
    };
    let loaded = LoadedModel::load(model, &options).unwrap();
    let mut agent = loaded.agent().with_recorded_generations();
    agent.complete("Hi").unwrap();
    let tokenizer = Tokenizer::load(Path::new(model)).unwrap();
    let prompt = &agent.generations[0].prompt;
    tokenizer.decode(prompt, false).unwrap()
}

#[test]
fn tokenizer_of_the_adapter_is_used_and_merged() {
    let folders = folders();
    let Folders { model, adapter, .. } = &folders;
    let expected = "### user: Hi<|endoftext|>\n";
    assert!(prompt(model, None).starts_with("<|im_start|>"));
    assert_eq!(prompt(model, Some(adapter)), expected);
    let merged = folders.at("merged");
    succeeds(&format!(
        "lm merge --model {model} --adapter {adapter} --output-dir {merged}"
    ));
    assert_eq!(prompt(&merged, None), expected);
    // The adapter that is trained further keeps it, and records it.
    let further = folders.sft("further", &format!("--adapter {adapter}"));
    assert_eq!(prompt(model, Some(&further)), expected);
    let provenance = fs::read(Path::new(&further).join("sentinel.json")).unwrap();
    let provenance: Value = serde_json::from_slice(&provenance).unwrap();
    let template = &provenance["inputs"]["chat_template.jinja of the adapter"];
    assert!(template.is_string(), "{provenance}");
    // A template in tokenizer_config.json counts before one of the model in a file of its own.
    let own = Path::new(adapter);
    fs::remove_file(own.join("chat_template.jinja")).unwrap();
    let config = own.join("tokenizer_config.json");
    change(&config, "chat_template", json!(TEMPLATE));
    assert_eq!(prompt(model, Some(adapter)), expected);
}

#[test]
fn files_of_the_adapter_that_cannot_be_used_are_named() {
    let folders = folders();
    let Folders { model, adapter, .. } = &folders;
    let eval = format!(
        "lm eval --model {model} --adapter {adapter} --task task1 --seeds 5200 --max-completion-length 4"
    );
    let own = Path::new(adapter);
    let more: Vec<String> = (0..500).map(|i| format!("<|new{i}|>")).collect();
    let config = own.join("tokenizer_config.json");
    change(&config, "extra_special_tokens", json!(more));
    let merged = folders.at("merged");
    let merge = format!("lm merge --model {model} --adapter {adapter} --output-dir {merged}");
    for command in [&eval, &merge] {
        let message = fails(command);
        let named = message.contains(&own.join("tokenizer.json").display().to_string());
        assert!(named && message.contains("vocabulary"), "{message}");
    }
    assert!(!Path::new(&merged).exists());
    // Without a tokenizer, no one knows what the other files belong to.
    fs::remove_file(own.join("tokenizer.json")).unwrap();
    let message = fails(&eval);
    for part in [adapter.as_str(), "its tokenizer_config.json", "remove"] {
        assert!(message.contains(part), "{part:?} is not in: {message}");
    }
    fs::remove_file(config).unwrap();
    assert!(fails(&eval).contains("its chat_template.jinja"));
    fs::remove_file(own.join("chat_template.jinja")).unwrap();
    succeeds(&eval);
}

#[test]
fn served_adapter_has_its_own_stop_tokens_and_tokenizer() {
    let folders = folders();
    let Folders { model, adapter, .. } = &folders;
    let all: Vec<u32> = (0..400).collect();
    let generation = Path::new(adapter).join("generation_config.json");
    change(&generation, "eos_token_id", json!(all));
    let options = ModelEngineOptions {
        name: Some("base".to_owned()),
        adapter_root: Some(folders.root.path().to_owned()),
        max_adapters: 1,
    };
    let engine = ModelEngine::load(model, options).unwrap();
    engine.load_adapter("own", Path::new(adapter)).unwrap();
    let complete = |name: &str| {
        let request = json!({"model": name, "prompt": "a b c", "max_tokens": 4, "temperature": 0});
        let request: CompletionRequest = serde_json::from_value(request).unwrap();
        engine.complete(&request).unwrap().remove(0)
    };
    let own = complete("own");
    assert_eq!((own.ids.len(), own.stopped), (1, true));
    assert_eq!(complete("base").ids.len(), 4);
}
