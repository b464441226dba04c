//! Recorded models of all families, written as GGUF and imported again.

use std::path::{Path, PathBuf};

use super::writer::{File, Tensor, Value, tokenizer_keys};
use crate::gguf::GgufModel;
use crate::gguf::names::gguf_name;
use crate::weights::{StoredDtype, read_checkpoint, tensor_specs};
use crate::{CausalLm, ModelConfig, ModelType, RopeScaling, Tokenizer};

/// Returns the recorded models whose rotary frequencies are not scaled.
fn recorded() -> impl Iterator<Item = PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/oracle");
    let names = [
        "qwen2/model_untied",
        "qwen2/model_tied",
        "qwen3/model_untied",
        "qwen3/model_tied",
        "llama/model_untied",
    ];
    names.into_iter().map(move |name| root.join(name))
}

/// Returns the keys of a model's shape.
fn shape_keys(config: &ModelConfig) -> Vec<(String, Value)> {
    let family = config.model_type.name();
    let number = |number: usize| Value::U32(u32::try_from(number).unwrap());
    let name = match config.model_type {
        ModelType::Llama => "llama",
        ModelType::Qwen2 => "qwen2",
        ModelType::Qwen3 => "qwen3",
    };
    let mut keys = vec![(
        "general.architecture".to_owned(),
        Value::Text(name.as_bytes()),
    )];
    let shape = [
        ("block_count", number(config.num_hidden_layers)),
        ("context_length", number(config.max_position_embeddings)),
        ("embedding_length", number(config.hidden_size)),
        ("feed_forward_length", number(config.intermediate_size)),
        ("attention.head_count", number(config.num_attention_heads)),
        (
            "attention.head_count_kv",
            number(config.num_key_value_heads),
        ),
        ("attention.key_length", number(config.head_dim())),
        ("rope.freq_base", Value::F32(config.rope_theta as f32)),
        (
            "attention.layer_norm_rms_epsilon",
            Value::F32(config.rms_norm_eps as f32),
        ),
    ];
    keys.extend(shape.map(|(name, value)| (format!("{family}.{name}"), value)));
    keys
}

/// Returns a recorded model as a file, with the rows of queries and keys in the order of Llama's own files.
fn gguf_of(folder: &Path, config: &ModelConfig) -> File {
    let stored = read_checkpoint(folder).unwrap();
    let tensors = tensor_specs(config).into_iter().map(|spec| {
        let mut numbers = stored[&spec.name].read().unwrap();
        let is_rotated = spec.name.contains(".q_proj.") || spec.name.contains(".k_proj.");
        if is_rotated && config.model_type == ModelType::Llama {
            numbers = permuted(&numbers, spec.shape[1], config.head_dim());
        }
        let shape = spec.shape.iter().map(|axis| *axis as u64).collect();
        Tensor::f32(&gguf_name(&spec.name).unwrap(), shape, &numbers)
    });
    let mut file = File {
        version: 2,
        keys: shape_keys(config),
        tensors: tensors.collect(),
        counts: None,
    };
    file.keys.extend(tokenizer_keys());
    file
}

/// Puts the rows that are rotated together next to each other, as llama.cpp's converter does: row `s * half + j` of
/// a head becomes row `2 j + s`.
fn permuted(numbers: &[f32], columns: usize, head: usize) -> Vec<f32> {
    let mut out = numbers.to_vec();
    for (row, values) in numbers.chunks(columns).enumerate() {
        let (first, within) = (row / head * head, row % head);
        let (side, pair) = (within / (head / 2), within % (head / 2));
        let to = (first + 2 * pair + side) * columns;
        out[to..to + columns].copy_from_slice(values);
    }
    out
}

/// Writes a file as a folder, and returns it.
fn imported(file: &File, dtype: StoredDtype) -> tempfile::TempDir {
    let (_folder, path) = file.write();
    let out = tempfile::tempdir().unwrap();
    GgufModel::open(&path)
        .unwrap()
        .write(out.path(), dtype)
        .unwrap();
    out
}

#[test]
fn recorded_models_come_back_to_the_bit() {
    for folder in recorded() {
        let mut config = ModelConfig::load(&folder).unwrap();
        let mut file = gguf_of(&folder, &config);
        shrink_vocabulary(&mut file, config.vocab_size);
        let out = imported(&file, StoredDtype::Float32);
        let found = ModelConfig::load(out.path()).unwrap();
        config.initializer_range = found.initializer_range;
        assert_eq!(found, config, "{}", folder.display());
        let (ours, theirs) = (
            read_checkpoint(out.path()).unwrap(),
            read_checkpoint(&folder).unwrap(),
        );
        for spec in tensor_specs(&config) {
            let [ours, theirs] = [&ours, &theirs].map(|all| all[&spec.name].read().unwrap());
            let bits = |numbers: &[f32]| numbers.iter().map(|n| n.to_bits()).collect::<Vec<_>>();
            assert_eq!(
                bits(&ours),
                bits(&theirs),
                "{}: {}",
                folder.display(),
                spec.name
            );
        }
        CausalLm::load(out.path(), &burn::tensor::Device::flex()).unwrap();
    }
}

/// Leaves as many tokens as an embedding has rows.
fn shrink_vocabulary(file: &mut File, rows: usize) {
    for (key, value) in &mut file.keys {
        match value {
            Value::Texts(texts) if key.ends_with(".tokens") => texts.truncate(rows),
            Value::Texts(merges) if key.ends_with(".merges") && rows < 263 => merges.clear(),
            Value::Integers(types) => types.truncate(rows),
            _ => {}
        }
    }
}

#[test]
fn tokenizer_has_the_special_tokens_and_rules_of_the_file() {
    let out = imported(&File::tiny(), StoredDtype::Float32);
    let tokenizer = Tokenizer::load(out.path()).unwrap();
    assert_eq!(tokenizer.warning(), None);
    // The last token only fills the embedding.
    assert_eq!((tokenizer.len(), tokenizer.token(263)), (263, None));
    assert_eq!(tokenizer.special_tokens()["eos_token"], "<|im_end|>");
    assert!(tokenizer.is_special(2) && !tokenizer.is_special(3));
    assert_eq!(
        tokenizer.encode(" the<|im_end|><think>the").unwrap(),
        [262, 2, 3, 261]
    );
    let digits = tokenizer.encode("  12").unwrap();
    let one_by_one = ["  ", "1", "2"].map(|text| tokenizer.encode(text).unwrap());
    assert_eq!(digits, one_by_one.concat());
    let rendered =
        tokenizer
            .template()
            .unwrap()
            .render(&[crate::Message::new("user", "a")], None, false);
    assert_eq!(rendered.unwrap().text, "user: a");
    assert_eq!(
        crate::GenerationDefaults::load(out.path())
            .unwrap()
            .eos_token_ids,
        [2]
    );
}

#[test]
fn unused_tokens_leave_no_hole() {
    let mut file = File::tiny();
    let mut types = vec![1; 264];
    types[..4].copy_from_slice(&[3, 3, 3, 4]);
    (types[10], types[263]) = (5, 5);
    file.set("tokenizer.ggml.token_type", Value::Integers(types));
    let out = imported(&file, StoredDtype::Float32);
    let text = std::fs::read_to_string(out.path().join("tokenizer.json")).unwrap();
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    let vocab = json["model"]["vocab"].as_object().unwrap();
    let mut ids: Vec<_> = vocab.values().filter_map(|id| id.as_u64()).collect();
    ids.sort_unstable();
    assert!(ids.into_iter().eq(0..263));
}

#[test]
fn texts_begin_with_a_token_if_the_file_says_so() {
    let mut file = File::tiny();
    file.set("tokenizer.ggml.pre", Value::Text(b"llama-bpe"));
    let prompt = |file: &File| {
        let out = imported(file, StoredDtype::Float32);
        Tokenizer::load(out.path())
            .unwrap()
            .encode_prompt("the")
            .unwrap()
    };
    assert_eq!(prompt(&file), [261]);
    // Llama 3 does unless a file says otherwise.
    file.remove("tokenizer.ggml.add_bos_token");
    assert_eq!(prompt(&file), [1, 261]);
    file.set("tokenizer.ggml.add_eos_token", Value::Flag(1));
    assert_eq!(prompt(&file), [1, 261, 2]);
}

#[test]
fn qwen2_tokenizer_is_that_of_its_class() {
    let mut file = File::tiny();
    file.set("tokenizer.ggml.pre", Value::Text(b"qwen2"));
    let out = imported(&file, StoredDtype::Float32);
    let tokenizer = Tokenizer::load(out.path()).unwrap();
    assert_eq!(tokenizer.warning(), None);
    assert_eq!(tokenizer.encode("the the").unwrap(), [261, 262]);
}

#[test]
fn bfloat16_weights_are_rounded_to_the_nearest() {
    let mut file = File::tiny();
    let numbers = [1.003_f32, 1.005, -1.005, 0.0, 1e-30, 3.0, 2.5, 7.0];
    *file.tensor("output_norm.weight") = Tensor::f32("output_norm.weight", vec![8], &numbers);
    let out = imported(&file, StoredDtype::Bfloat16);
    let stored = read_checkpoint(out.path()).unwrap();
    let rounded = numbers.map(|number| half::bf16::from_f32(number).to_f32());
    assert_eq!(stored["model.norm.weight"].read().unwrap(), rounded);
    let text = std::fs::read_to_string(out.path().join("config.json")).unwrap();
    assert!(
        text.contains("\"dtype\": \"bfloat16\"") && text.contains("\"torch_dtype\": \"bfloat16\"")
    );
}

#[test]
fn factors_of_llama_3_become_its_scaling() {
    let mut file = File::tiny();
    file.set("llama.rope.freq_base", Value::F32(500_000.0));
    let factors = Tensor::f32("rope_freqs.weight", vec![2], &[1.0, 7.5]);
    file.tensors.push(factors);
    let (_folder, path) = file.write();
    let error = GgufModel::open(&path).unwrap_err().to_string();
    assert!(error.contains("rope_freqs.weight"), "{error}");
    // The frequencies of this head are 1, which is high, and 1e-6, whose wave is longer than the context of 8192.
    file.set("llama.rope.freq_base", Value::F32(1e12));
    let mut set = |factors: [f32; 2]| {
        file.tensor("rope_freqs.weight").data = factors.map(f32::to_le_bytes).concat();
        let (_folder, path) = file.write();
        GgufModel::open(&path).map(|model| model.config().rope_scaling)
    };
    let Ok(Some(RopeScaling::Llama3(scaling))) = set([1.0, 32.0]) else {
        panic!("no scaling of Llama 3");
    };
    assert_eq!(scaling.factor.to_bits(), 32_f64.to_bits());
    for factors in [
        [1.0, f32::INFINITY],
        [1.0, f32::NAN],
        [1.0, 0.5],
        [8.0, 32.0],
    ] {
        assert!(set(factors).is_err(), "{factors:?}");
    }
    set([1.0, 32.0]).unwrap();
    file.set("llama.rope.scaling.type", Value::Text(b"linear"));
    let (_folder, path) = file.write();
    let error = GgufModel::open(&path).unwrap_err().to_string();
    assert!(error.contains("rope.scaling.type"), "{error}");
}

#[test]
fn rotary_factor_without_a_type_is_linear() {
    let mut file = File::tiny();
    file.set("llama.rope.scaling.factor", Value::F32(4.0));
    let (_folder, path) = file.write();
    let config = GgufModel::open(&path).unwrap().config().clone();
    assert!(matches!(config.rope_scaling, Some(RopeScaling::Linear { factor }) if factor > 3.9));
    file.set("llama.rope.scaling.factor", Value::F32(1.0));
    let (_folder, path) = file.write();
    let config = GgufModel::open(&path).unwrap().config().clone();
    assert!(config.rope_scaling.is_none());
}
