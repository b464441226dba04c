//! Damaged and unsupported files: the error names the file, the problem and the remedy.

use std::fs;
use std::path::Path;

use safetensors::Dtype;
use safetensors::tensor::TensorView;
use sentinel_lm::{CausalLm, GenerationDefaults, ModelConfig};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::oracle::{Oracle, device, every_variant, oracle, oracle_of};

/// Copies the recorded Qwen2 model with this name, or the first one.
fn copy(name: Option<&str>) -> Option<TempDir> {
    copy_of(&oracle(), name)
}

/// Copies the recorded model of a family with this name, or the first one.
fn copy_of(oracle: &Oracle, name: Option<&str>) -> Option<TempDir> {
    let folder = match name {
        Some(name) => oracle.checkpoint(name)?,
        None => (oracle.variants().iter()).find_map(|variant| oracle.model(variant))?,
    };
    let copy = tempfile::tempdir().unwrap();
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), copy.path().join(entry.file_name())).unwrap();
    }
    Some(copy)
}

fn config(folder: &Path) -> Value {
    serde_json::from_slice(&fs::read(folder.join("config.json")).unwrap()).unwrap()
}

fn set(folder: &Path, key: &str, value: Value) {
    let mut all = config(folder);
    all[key] = value;
    fs::write(folder.join("config.json"), all.to_string()).unwrap();
}

#[track_caller]
fn fails(folder: &Path, parts: &[&str]) {
    let error = CausalLm::load(folder, &device()).unwrap_err().to_string();
    for part in parts {
        assert!(error.contains(part), "{part:?} is not in: {error}");
    }
}

#[test]
fn unsupported_config_value_error_names_key() {
    let Some(folder) = copy(None) else { return };
    let number = |key: &str| config(folder.path())[key].as_u64().unwrap();
    let (heads, layers) = (number("num_attention_heads"), number("num_hidden_layers"));
    let cases = [
        ("hidden_size", json!(null), "is missing"),
        ("hidden_size", json!("64"), "whole number"),
        ("hidden_size", json!(3 * heads), "even width"),
        ("num_hidden_layers", json!(0), "at least 1"),
        ("num_key_value_heads", json!(heads + 1), "divisor"),
        ("model_type", json!("mistral"), "\"qwen3\", \"llama\""),
        (
            "architectures",
            json!(["Qwen2ForSequenceClassification"]),
            "Qwen2ForCausalLM",
        ),
        ("head_dim", json!(6), "remove the key"),
        ("attention_bias", json!(true), "without it"),
        ("hidden_act", json!("gelu"), "silu"),
        ("torch_dtype", json!("float8"), "convert"),
        (
            "layer_types",
            json!(vec!["full_attention"; layers as usize + 1]),
            "num_hidden_layers",
        ),
        (
            "rope_parameters",
            json!({"rope_type": "longrope", "rope_theta": 1.0}),
            "take another model",
        ),
        (
            "rope_scaling",
            json!({"type": "linear", "factor": 0}),
            "above 0",
        ),
        ("rope_theta", json!(1.5), "make them equal"),
        ("rms_norm_eps", json!(-1), "above 0"),
        ("quantization_config", json!({"bits": 4}), "quantized"),
        ("tie_word_embeddings", json!("no"), "true or false"),
    ];
    for (key, value, part) in cases {
        let Some(folder) = copy(None) else { return };
        set(folder.path(), key, value);
        fails(folder.path(), &["config.json", key, part]);
    }
    let Some(folder) = copy(None) else { return };
    fs::write(folder.path().join("config.json"), "[1]").unwrap();
    fails(folder.path(), &["config.json", "not an object"]);
    fs::remove_file(folder.path().join("config.json")).unwrap();
    fails(folder.path(), &["cannot read", "config.json"]);
}

/// Sets options that only some families have, one at a time.
#[test]
fn unsupported_config_value_of_family_names_key() {
    let llama3 = |changes: Value| {
        let mut all = json!({"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0,
            "high_freq_factor": 4.0, "original_max_position_embeddings": 256});
        for (key, value) in changes.as_object().unwrap() {
            all[key] = value.clone();
        }
        all
    };
    let cases = [
        ("qwen2", "is_causal", json!(false), "see no later ones"),
        ("llama", "is_causal", json!(null), "see no later ones"),
        ("qwen3", "attention_bias", json!(true), "without it"),
        (
            "qwen3",
            "layer_types",
            json!(["full_attention", "sliding_attention"]),
            "sliding_attention",
        ),
        ("qwen3", "head_dim", json!(7), "even number"),
        // transformers then takes a width of 128.
        ("qwen3", "head_dim", json!(null), "self_attn.q_proj.weight"),
        ("llama", "attention_bias", json!(true), "without it"),
        ("llama", "mlp_bias", json!(true), "without it"),
        ("llama", "partial_rotary_factor", json!(0.5), "as a whole"),
        (
            "llama",
            "rope_parameters",
            json!({"rope_type": "longrope", "factor": 2.0}),
            "longrope",
        ),
        (
            "llama",
            "rope_parameters",
            llama3(json!({"factor": null})),
            "\"rope_parameters.factor\" is missing",
        ),
        (
            "llama",
            "rope_parameters",
            llama3(json!({"original_max_position_embeddings": 0.5})),
            "original_max_position_embeddings",
        ),
        (
            "llama",
            "rope_parameters",
            llama3(json!({"high_freq_factor": 1.0})),
            "above low_freq_factor",
        ),
        (
            "llama",
            "rope_scaling",
            llama3(json!({"factor": 4.0})),
            "differs from rope_scaling",
        ),
    ];
    // A window that cuts the longest sequence, from the first layer on.
    if let Some(folder) = copy_of(&oracle_of("qwen3"), None) {
        for (key, value) in [
            ("layer_types", json!(null)),
            ("max_window_layers", json!(0)),
            ("sliding_window", json!(64)),
            ("use_sliding_window", json!(true)),
        ] {
            set(folder.path(), key, value);
        }
        fails(folder.path(), &["use_sliding_window", "full attention"]);
    }
    for (family, key, value, part) in cases {
        let Some(folder) = copy_of(&oracle_of(family), None) else {
            continue;
        };
        set(folder.path(), key, value);
        fails(folder.path(), &["config.json", part]);
    }
}

/// The weights of one family are not run as those of another.
#[test]
fn weights_must_belong_to_family() {
    let Some(folder) = copy_of(&oracle_of("qwen3"), None) else {
        return;
    };
    let name = "model.layers.1.self_attn.k_norm.weight";
    set(folder.path(), "model_type", json!("llama"));
    fails(folder.path(), &["architectures", "LlamaForCausalLM"]);
    set(folder.path(), "architectures", json!(null));
    fails(folder.path(), &["do not belong", name]);
    set(folder.path(), "model_type", json!("qwen2"));
    fails(folder.path(), &["config.json", "head_dim"]);
    let Some(folder) = copy_of(&oracle_of("llama"), None) else {
        return;
    };
    set(folder.path(), "architectures", json!([]));
    set(folder.path(), "model_type", json!("qwen3"));
    fails(folder.path(), &["missing", name]);
}

#[test]
fn missing_or_mismatched_tensor_error_names_tensor() {
    let Some(folder) = copy(None) else { return };
    let path = folder.path();
    let layers = config(path)["num_hidden_layers"].as_u64().unwrap();
    let without_types = |layers: u64| {
        set(path, "layer_types", json!(null));
        set(path, "num_hidden_layers", json!(layers));
    };
    without_types(layers + 1);
    let next = format!("model.layers.{layers}.input_layernorm.weight");
    fails(path, &["missing", &next, "more"]);
    without_types(layers);
    let file = path.join("model.safetensors");
    let bytes = fs::read(&file).unwrap();
    fs::write(&file, with(&bytes, &next, "model.norm.weight")).unwrap();
    fails(path, &["do not belong", &next, "config.json"]);
    fs::write(&file, bytes).unwrap();
    let vocabulary = config(path)["vocab_size"].as_u64().unwrap();
    set(path, "vocab_size", json!(vocabulary + 1));
    fails(
        path,
        &[
            "model.safetensors",
            "model.embed_tokens.weight",
            "config.json asks for",
        ],
    );
}

#[test]
fn lm_head_must_agree_with_tie_word_embeddings() {
    if let Some(folder) = copy(Some("model_untied")) {
        set(folder.path(), "tie_word_embeddings", json!(true));
        fails(
            folder.path(),
            &["lm_head.weight", "differs", "tie_word_embeddings to false"],
        );
    }
    let Some(folder) = copy(Some("model_tied")) else {
        return;
    };
    // Add a head although the embedding serves as head.
    let tied = CausalLm::load(folder.path(), &device()).unwrap();
    set(folder.path(), "tie_word_embeddings", json!(false));
    fails(
        folder.path(),
        &["lm_head.weight", "missing", "tie_word_embeddings to true"],
    );
    let file = folder.path().join("model.safetensors");
    let bytes = fs::read(&file).unwrap();
    fs::write(
        &file,
        with(&bytes, "lm_head.weight", "model.embed_tokens.weight"),
    )
    .unwrap();
    let untied = CausalLm::load(folder.path(), &device()).unwrap();
    assert_eq!(untied.parameters().len(), tied.parameters().len() + 1);
    set(folder.path(), "tie_word_embeddings", json!(true));
    let again = CausalLm::load(folder.path(), &device()).unwrap();
    assert_eq!(again.base_digest().unwrap(), tied.base_digest().unwrap());
}

/// Returns the file with a copy of tensor `of` under the name `name`.
fn with(bytes: &[u8], name: &str, of: &str) -> Vec<u8> {
    let file = safetensors::SafeTensors::deserialize(bytes).unwrap();
    let mut tensors: Vec<(String, _)> = file.tensors();
    tensors.push((name.to_owned(), file.tensor(of).unwrap()));
    safetensors::serialize(tensors, None).unwrap()
}

#[test]
fn damaged_or_missing_weights_error_names_file() {
    let Some(folder) = copy(None) else { return };
    let file = folder.path().join("model.safetensors");
    let bytes = fs::read(&file).unwrap();
    for length in [0, 4, 100, bytes.len() - 1] {
        fs::write(&file, &bytes[..length]).unwrap();
        fails(
            folder.path(),
            &["model.safetensors", "not a whole safetensors file"],
        );
    }
    let mut holed = bytes.clone();
    let end = holed.len();
    holed[end - 4..].copy_from_slice(&f32::NAN.to_le_bytes());
    fs::write(&file, holed).unwrap();
    let unusable = "model.safetensors is not a file of weights that can be used";
    fails(folder.path(), &[unusable, "not finite"]);
    let zeros = [0; 8];
    let double = TensorView::new(Dtype::F64, vec![1], &zeros).unwrap();
    let bytes = safetensors::serialize([("model.norm.weight", double)], None).unwrap();
    fs::write(&file, bytes).unwrap();
    fails(
        folder.path(),
        &[
            unusable,
            "model.norm.weight is F64",
            "save the model as float32",
        ],
    );
    fs::remove_file(&file).unwrap();
    fails(folder.path(), &["model.safetensors.index.json"]);
    fs::write(folder.path().join("pytorch_model.bin"), "").unwrap();
    fails(folder.path(), &["save it as safetensors"]);
}

#[test]
fn shards_must_match_index() {
    let Some(folder) = copy(Some("model_untied_sharded")) else {
        return;
    };
    let path = folder.path().join("model.safetensors.index.json");
    let text = fs::read_to_string(&path).unwrap();
    let index: Value = serde_json::from_str(&text).unwrap();
    let shard = index["weight_map"]["model.norm.weight"]
        .as_str()
        .unwrap()
        .to_owned();
    let with = |name: &str, file: Value| {
        let mut index = index.clone();
        index["weight_map"][name] = file;
        fs::write(&path, index.to_string()).unwrap();
    };
    with("model.norm.weight", json!("../elsewhere.safetensors"));
    fails(folder.path(), &["weight_map", "not a plain name"]);
    with("model.extra.weight", json!(shard));
    fails(
        folder.path(),
        &[&shard, "index expects", "model.extra.weight"],
    );
    fs::write(&path, text).unwrap();
    fs::remove_file(folder.path().join(&shard)).unwrap();
    fails(folder.path(), &["cannot read", &shard]);
}

#[test]
fn model_roundtrips_through_save() {
    for (oracle, variant) in every_variant() {
        let Some(folder) = oracle.model(&variant) else {
            continue;
        };
        let model = CausalLm::load(&folder, &device()).unwrap();
        let written = tempfile::tempdir().unwrap();
        model.save(written.path()).unwrap();
        let again = CausalLm::load(written.path(), &device()).unwrap();
        assert_eq!(again.base_digest().unwrap(), model.base_digest().unwrap());
        assert_eq!(again.config(), model.config());
    }
}

#[test]
fn stop_tokens_follow_generation_config() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, value: Value| {
        fs::write(folder.path().join(name), value.to_string()).unwrap();
        GenerationDefaults::load(folder.path())
    };
    let plain = write("config.json", json!({"eos_token_id": 5})).unwrap();
    assert_eq!(plain.eos_token_ids, [5]);
    let name = "generation_config.json";
    let list = json!({"eos_token_id": [7, 8], "pad_token_id": 8, "top_k": 0, "temperature": 0.7});
    let list = write(name, list).unwrap();
    assert_eq!(
        (list.eos_token_ids, list.pad_token_id, list.top_k),
        (vec![7, 8], Some(8), None)
    );
    // A missing key does not override the other file; a key that is null means that there is no
    // such token.
    let other = write(name, json!({"pad_token_id": 3})).unwrap();
    assert_eq!(
        (other.eos_token_ids, other.pad_token_id),
        (vec![5], Some(3))
    );
    let none = write(name, json!({"eos_token_id": null})).unwrap();
    assert!(none.eos_token_ids.is_empty());
    let error = write(name, json!({"eos_token_id": "end"}))
        .unwrap_err()
        .to_string();
    assert!(
        error.contains(name) && error.contains("eos_token_id"),
        "{error}"
    );
}

#[test]
fn initialized_weights_depend_on_seed() {
    let Some(folder) = copy(None) else { return };
    let config = ModelConfig::load(folder.path()).unwrap();
    let new = |seed| CausalLm::initialize(config.clone(), seed, &device()).unwrap();
    assert_eq!(new(1).base_digest().unwrap(), new(1).base_digest().unwrap());
    assert_ne!(new(1).base_digest().unwrap(), new(2).base_digest().unwrap());
    let model = new(1);
    let embedding = model.parameters()[0].values().unwrap();
    let squares: f64 = embedding.iter().map(|x| f64::from(*x).powi(2)).sum();
    let deviation = (squares / embedding.len() as f64).sqrt();
    assert!(
        (deviation / config.initializer_range - 1.0).abs() < 0.05,
        "{deviation}"
    );
}
