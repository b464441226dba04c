//! Base models, whose chat template ends a message with a token at which completions do not stop.

use std::fs;
use std::path::Path;

use sentinel_lm::{GenerationDefaults, Tokenizer};
use serde_json::{Value, json};

use crate::runs::{fails, made, warned};

fn read(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

/// Turns a model into one like Qwen2.5's base models: the template ends a message with `<|im_end|>`, and both
/// files name `<|endoftext|>` as the end. Returns the ids of both.
fn make_base(model: &Path) -> [u32; 2] {
    let path = model.join("generation_config.json");
    let ends = read(&path)["eos_token_id"].clone();
    let ends: [u32; 2] = serde_json::from_value(ends).unwrap();
    fs::write(&path, json!({"eos_token_id": ends[1]}).to_string()).unwrap();
    let path = model.join("tokenizer_config.json");
    let mut config = read(&path);
    config["eos_token"] = json!("<|endoftext|>");
    fs::write(path, config.to_string()).unwrap();
    ends
}

const WARNING: &str = "the chat template ends a message with <|im_end|>, which is no stop token (those are \
                       <|endoftext|>)";

#[test]
fn end_of_template_that_is_no_stop_token_is_warned_of_and_can_be_named() {
    let folder = tempfile::tempdir().unwrap();
    let (corpus, model) = made(folder.path());
    let [end_of_turn, end_of_text] = make_base(Path::new(&model));
    let at = |name: &str| folder.path().join(name).display().to_string();
    let (plain, adapter, full) = (at("plain"), at("adapter"), at("full"));
    let sft = format!("lm sft --model {model} --data {corpus} --max-steps 1 --output-dir");
    let eval = "lm eval --task task1 --seeds 5200 --max-completion-length 4 --model";

    for run in [format!("{sft} {plain}"), format!("{eval} {model}")] {
        let (out, warning) = warned(&run);
        assert!(warning.contains(WARNING), "{run}: {warning}");
        assert!(warning.contains("--eos-token '<|im_end|>'"), "{warning}");
        if let Ok(report) = serde_json::from_str::<Value>(&out) {
            let text = report["sentinel"]["warnings"][0].as_str().unwrap();
            assert!(WARNING.contains(text.split(',').next().unwrap()), "{text}");
        }
    }
    let named = "--eos-token <|im_end|>";
    let merged = at("merged");
    for run in [
        format!("{sft} {adapter} {named}"),
        format!("{sft} {full} {named} --full"),
        format!("lm merge --model {model} --adapter {adapter} --output-dir {merged}"),
        format!("{eval} {model} {named}"),
        format!("{eval} {model} --adapter {adapter}"),
        format!("{eval} {full}"),
        format!("{eval} {merged}"),
    ] {
        let (_, warning) = warned(&run);
        assert!(!warning.contains("stop token"), "{run}: {warning}");
    }
    // Training the adapter further keeps its stop tokens.
    let further = at("further");
    let (_, warning) = warned(&format!("{sft} {further} --adapter {adapter}"));
    assert!(!warning.contains("stop token"), "{warning}");
    for folder in [&full, &adapter, &merged, &further] {
        let folder = Path::new(folder);
        let ends = &read(&folder.join("generation_config.json"))["eos_token_id"];
        assert_eq!(*ends, json!([end_of_turn, end_of_text]), "{folder:?}");
        let token = &read(&folder.join("tokenizer_config.json"))["eos_token"];
        assert_eq!(*token, "<|im_end|>");
        let config = folder.join("config.json");
        if config.is_file() {
            assert_eq!(read(&config)["eos_token_id"], end_of_turn);
        }
    }
    let message = fails(&format!("{sft} {} --eos-token <|end|>", at("no")));
    assert!(message.contains("eos_token is \"<|end|>\""), "{message}");
}

/// The tokenizer's end counts, as in TRL's GRPO.
#[test]
fn stop_tokens_of_all_files_are_collected() {
    let folder = tempfile::tempdir().unwrap();
    let (_, model) = made(folder.path());
    let model = Path::new(&model);
    let [end_of_turn, end_of_text] = make_base(model);
    let tokenizer = Tokenizer::load(model).unwrap();
    assert_eq!(tokenizer.message_end().unwrap().first(), Some(&end_of_turn));
    let stops = |adapter, token| {
        let found = GenerationDefaults::resolve(model, adapter, &tokenizer, token);
        found.unwrap().eos_token_ids
    };
    assert_eq!(stops(None, None), [end_of_text]);
    assert_eq!(stops(None, Some("<|im_end|>")), [end_of_turn, end_of_text]);
    let adapter = folder.path().join("adapter");
    fs::create_dir(&adapter).unwrap();
    assert_eq!(stops(Some(&adapter), None), [end_of_text]);
    let text = json!({"eos_token_id": [7, end_of_text]}).to_string();
    fs::write(adapter.join("generation_config.json"), text).unwrap();
    assert_eq!(stops(Some(&adapter), None), [7, end_of_text]);
    fs::write(model.join("generation_config.json"), "{}").unwrap();
    assert_eq!(stops(None, None), [end_of_text]);
}

/// As in TRL, the token becomes that of the tokenizer, which ends plain texts.
#[test]
fn named_token_ends_plain_texts() {
    let folder = tempfile::tempdir().unwrap();
    let (_, model) = made(folder.path());
    let at = |name: &str| folder.path().join(name).display().to_string();
    let corpus = at("texts.jsonl");
    fs::write(&corpus, "{\"prompt\": \"a\", \"completion\": \" b\"}\n").unwrap();
    let loss = |name: &str, options: &str| {
        let output = at(name);
        let run = format!("lm sft --model {model} --data {corpus} --max-steps 1 --output-dir");
        warned(&format!("{run} {output} {options}"));
        let steps = crate::runs::curve(Path::new(&output));
        steps[0]["loss"].as_f64().unwrap()
    };
    let expected = loss("instruct", "");
    make_base(Path::new(&model));
    let named = loss("named", "--eos-token <|im_end|>");
    assert!((named - expected).abs() < 1e-9, "{named} {expected}");
    assert!((loss("base", "") - expected).abs() > 1e-6);
}
