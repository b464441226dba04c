//! Forms of checkpoints that other tools write, and that load with the numbers of transformers.

use std::fs;
use std::path::Path;

use sentinel_lm::{
    Batch, CausalLm, ForwardOptions, GenerationDefaults, Message, ModelConfig, Tokenizer,
};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tempfile::TempDir;

use crate::oracle::{LOGITS, close, device, numbers, oracle};

/// Copies the recorded model with the files of its tokenizer.
pub(crate) fn copy() -> Option<TempDir> {
    let folder = oracle().checkpoint("model_tied")?;
    let copy = tempfile::tempdir().unwrap();
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), copy.path().join(entry.file_name())).unwrap();
    }
    Some(copy)
}

pub(crate) fn change(folder: &Path, name: &str, changes: &Value) {
    let path = folder.join(name);
    let bytes = fs::read(&path).unwrap_or_else(|_| b"{}".to_vec());
    let mut all: Map<String, Value> = serde_json::from_slice(&bytes).unwrap();
    all.extend(changes.as_object().unwrap().clone());
    fs::write(path, Value::Object(all).to_string()).unwrap();
}

#[derive(Deserialize)]
struct Rope {
    ids: Vec<u32>,
    positions: Vec<usize>,
    cases: Vec<RopeCase>,
}

#[derive(Deserialize)]
struct RopeCase {
    name: String,
    config: Map<String, Value>,
    logits: Vec<Vec<f32>>,
}

#[test]
fn scaled_rotary_frequencies_match_transformers() {
    let recorded: Option<Rope> = oracle().json("rope_tied.json");
    let (Some(rope), Some(folder)) = (recorded, copy()) else {
        return;
    };
    assert_eq!(rope.cases.len(), 7);
    let plain = fs::read(folder.path().join("config.json")).unwrap();
    for case in rope.cases {
        fs::write(folder.path().join("config.json"), &plain).unwrap();
        let mut config = case.config;
        if !config.contains_key("rope_parameters") {
            config.insert("rope_parameters".to_owned(), Value::Null);
            config.insert("rope_theta".to_owned(), json!(1e6));
        }
        change(folder.path(), "config.json", &Value::Object(config));
        let model = CausalLm::load(folder.path(), &device()).unwrap();
        let (ids, count) = (rope.ids.clone(), rope.ids.len());
        let batch = Batch::new(model.config(), ids, vec![true; count], count).unwrap();
        let logits = numbers(model.forward(&batch, ForwardOptions::EVALUATION));
        let rows: Vec<&[f32]> = logits.chunks(model.config().vocab_size).collect();
        for (position, expected) in rope.positions.iter().zip(&case.logits) {
            let name = format!("{} at {position}", case.name);
            close(&name, &rows[*position][..expected.len()], expected, LOGITS);
        }
        // What is saved says the same.
        let saved = tempfile::tempdir().unwrap();
        model.save(saved.path()).unwrap();
        assert_eq!(&ModelConfig::load(saved.path()).unwrap(), model.config());
    }
}

#[test]
fn values_that_change_nothing_are_accepted() {
    let Some(folder) = copy() else { return };
    let expected = ModelConfig::load(folder.path()).unwrap();
    let plain = fs::read(folder.path().join("config.json")).unwrap();
    let cases = [
        json!({"torch_dtype": "auto"}),
        json!({"torch_dtype": "torch.bfloat16"}),
        json!({"hidden_act": "swish"}),
        json!({"architectures": ["Qwen2Model"]}),
        json!({"num_hidden_layers": 2.0}),
        json!({"use_sliding_window": true, "sliding_window": null}),
        json!({"use_sliding_window": true, "sliding_window": 512}),
        json!({"use_sliding_window": true, "sliding_window": 64, "layer_types": null}),
        json!({"rope_scaling": {"type": "dynamic", "factor": 2.0}, "rope_parameters": null,
               "rope_theta": 1e6}),
    ];
    for case in cases {
        fs::write(folder.path().join("config.json"), &plain).unwrap();
        change(folder.path(), "config.json", &case);
        let mut found = ModelConfig::load(folder.path()).unwrap();
        found.rope_scaling = None;
        assert_eq!(found, expected, "{case}");
        CausalLm::load(folder.path(), &device()).unwrap();
    }
    fs::write(folder.path().join("config.json"), &plain).unwrap();
    let case = json!({"top_k": 20.0, "pad_token_id": -1, "eos_token_id": [754, 3]});
    change(folder.path(), "generation_config.json", &case);
    let found = GenerationDefaults::load(folder.path()).unwrap();
    assert_eq!((found.top_k, found.pad_token_id), (Some(20), None));
    assert_eq!(found.eos_token_ids, [754, 3]);
}

#[test]
fn weights_are_read_as_other_tools_save_them() {
    let Some(folder) = copy() else { return };
    let file = folder.path().join("model.safetensors");
    let expected = CausalLm::load(folder.path(), &device()).unwrap();
    let expected = expected.base_digest().unwrap();
    let bytes = fs::read(&file).unwrap();
    let whole = safetensors::SafeTensors::deserialize(&bytes).unwrap();
    let digest = || {
        let model = CausalLm::load(folder.path(), &device()).unwrap();
        model.base_digest().unwrap()
    };
    let write = |name: &str, tensors: Vec<(String, safetensors::tensor::TensorView<'_>)>| {
        let bytes = safetensors::serialize(tensors, None).unwrap();
        fs::write(folder.path().join(name), bytes).unwrap();
    };
    let embedding = || whole.tensor("model.embed_tokens.weight").unwrap();
    // By the class without a head.
    let bare = whole.tensors().into_iter();
    let bare = bare.map(|(name, tensor)| (name.trim_start_matches("model.").to_owned(), tensor));
    write("model.safetensors", bare.collect());
    assert_eq!(digest(), expected);
    // With the value head of PPO.
    let mut headed = whole.tensors();
    let norm = whole.tensor("model.norm.weight").unwrap();
    headed.push(("v_head.summary.bias".to_owned(), norm.clone()));
    headed.push(("v_head.summary.weight".to_owned(), norm));
    write("model.safetensors", headed);
    assert_eq!(digest(), expected);
    // As a shard with a copy of the embedding that the index does not list.
    fs::remove_file(&file).unwrap();
    let names = whole.tensors().into_iter().map(|(name, _)| name);
    let map: Map<String, Value> = names.map(|name| (name, json!("a.safetensors"))).collect();
    let index = json!({"metadata": {}, "weight_map": map}).to_string();
    fs::write(folder.path().join("model.safetensors.index.json"), index).unwrap();
    let mut shard = whole.tensors();
    shard.push(("lm_head.weight".to_owned(), embedding()));
    write("a.safetensors", shard);
    assert_eq!(digest(), expected);
    // A tensor that is nowhere listed and belongs to nothing is still refused.
    let mut shard = whole.tensors();
    shard.push(("model.other.weight".to_owned(), embedding()));
    write("a.safetensors", shard);
    let error = CausalLm::load(folder.path(), &device()).unwrap_err();
    assert!(error.to_string().contains("model.other.weight"), "{error}");
}

#[test]
fn texts_in_place_of_weights_are_named() {
    let Some(folder) = copy() else { return };
    let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:17600954\nsize 793297\n";
    for (text, part) in [
        (pointer, "git lfs pull"),
        ("<!DOCTYPE html>\n<html><body>404</body></html>", "web page"),
        ("\n<html lang=\"en\">", "web page"),
    ] {
        fs::write(folder.path().join("model.safetensors"), text).unwrap();
        let error = CausalLm::load(folder.path(), &device()).unwrap_err();
        assert!(error.to_string().contains(part), "{error}");
    }
}

#[test]
fn templates_are_rendered_as_by_jinja2() {
    let Some(folder) = copy() else { return };
    let path = folder.path().join("chat_template.jinja");
    let rendered = |source: &str| {
        fs::write(&path, source).unwrap();
        let tokenizer = Tokenizer::load(folder.path()).unwrap();
        let messages = [Message::new("user", "a\r\nb")];
        let template = tokenizer.template().unwrap();
        template.render(&messages, None, true).unwrap().text
    };
    // Every line ending of a template is \n, also inside of its texts; those of messages are kept.
    let unix =
        "{% for m in messages %}\n<{{ m.role }}>\n{{ m.content }}{{ '\n' }}{% endfor %}\nend";
    let expected = "<user>\na\r\nb\nend";
    assert_eq!(rendered(unix), expected);
    assert_eq!(rendered(&unix.replace('\n', "\r\n")), expected);
    assert_eq!(rendered(&unix.replace('\n', "\r")), expected);
    // None is not iterable, an undefined value is.
    let iterable = "{{ tools is iterable }} {{ nothing is iterable }} {{ 'a' is iterable }} \
                    {{ 1 is iterable }} {{ messages is iterable }} \
                    {{ tools is iterable and tools | length > 0 }}";
    assert_eq!(rendered(iterable), "False True True False True False");
    // A text and an object are sequences; lists and objects are printed as by Python.
    let sequence =
        "{{ messages[0].content is sequence }} {{ messages[0] is sequence }} {{ 1 is sequence }}";
    assert_eq!(rendered(sequence), "True True False");
    let printed = "[{'role': 'user', 'content': 'a\\r\\nb'}]";
    assert_eq!(rendered("{{ messages }}"), printed);
    assert_eq!(rendered("{{ messages | string }}"), printed);
    assert_eq!(
        rendered("{{ [messages, none, 1e16] | join(' ') }}"),
        format!("{printed} None 1e+16")
    );
}
