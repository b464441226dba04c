//! New models: treatment of numbers by their tokenizer, and the families of models.

use std::path::Path;

use sentinel_base::provenance::Provenance;
use sentinel_lm::init::{InitOptions, NumberSplitting, create};
use sentinel_lm::{CausalLm, Completion, ModelConfig, ModelType, Tokenizer};
use serde_json::{Value, json};

use crate::oracle::{device, oracle_of};
use crate::runs::{fails, refused, succeeds};
use crate::text::Renderings;

/// Splits `text` with a new tokenizer that treats numbers as `numbers` says.
fn words(numbers: NumberSplitting, text: &str) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let options = InitOptions {
        numbers,
        hidden_size: Some(16),
        intermediate_size: Some(16),
        num_hidden_layers: Some(1),
        ..InitOptions::tiny(folder.path().join("model"))
    };
    let learned = "stakes 0.86 S3 0.86 A12/3 cost 4\nit's 0.5%\n".repeat(3);
    create(&options, &[learned], &Provenance::new()).unwrap();
    let tokenizer = Tokenizer::load(&options.output_dir).unwrap();
    let ids = tokenizer.encode(text).unwrap();
    assert_eq!(tokenizer.decode(&ids, false).unwrap(), text);
    let word = |id: &u32| tokenizer.decode(&[*id], false).unwrap();
    ids.iter().map(word).collect()
}

#[test]
fn whole_mode_keeps_numbers_as_one_token() {
    let cut = words(NumberSplitting::Whole, "stakes 0.86\nS3 0.86 A12/3 cost 4");
    let whole = [
        "stakes", " 0.86", "\n", "S3", " 0.86", " A12", "/", "3", " cost", " 4",
    ];
    assert_eq!(cut, whole);
}

#[test]
fn digits_mode_splits_numbers_into_digits() {
    let cut = words(NumberSplitting::Digits, "S3 0.86");
    assert_eq!(cut, ["S", "3", " ", "0", ".", "8", "6"]);
}

/// Special tokens within a completion are kept as text; the stop token is not.
#[test]
fn special_tokens_in_completion_are_kept_as_text() {
    let folder = tempfile::tempdir().unwrap();
    let options = InitOptions::tiny(folder.path().join("model"));
    create(&options, &[], &Provenance::new()).unwrap();
    let tokenizer = Tokenizer::load(&options.output_dir).unwrap();
    let completion_text = |text: &str, stopped| {
        let ids = tokenizer.encode(text).unwrap();
        let completion = Completion {
            ids,
            stopped,
            ..Completion::default()
        };
        completion.text(&tokenizer).unwrap()
    };
    assert_eq!(completion_text("{}<|im_end|>", true), "{}");
    assert_eq!(
        completion_text("<|im_start|>{}<|im_end|>", true),
        "<|im_start|>{}"
    );
    assert_eq!(
        completion_text("{}<|endoftext|>{", false),
        "{}<|endoftext|>{"
    );
    assert_eq!(completion_text("", true), "");
}

/// Unseen numbers, versions and letters after digits are split without loss.
#[test]
fn unseen_numbers_are_tokenized_without_loss() {
    for numbers in [NumberSplitting::Whole, NumberSplitting::Digits] {
        for text in ["7.31", "1.2.3", "3rd", "x²½", " 0.99  .5. 5.", "S3's 0.86%"] {
            let cut = words(numbers, text);
            assert!(!cut.is_empty(), "{text}");
        }
    }
}

/// Creates a very small model of a family.
pub(crate) fn new_model(folder: &Path, model_type: ModelType) {
    let options = InitOptions {
        model_type,
        hidden_size: Some(24),
        intermediate_size: Some(40),
        num_hidden_layers: Some(2),
        head_dim: (model_type != ModelType::Qwen2).then_some(8),
        num_attention_heads: Some(if model_type == ModelType::Qwen2 { 2 } else { 4 }),
        ..InitOptions::tiny(folder.to_owned())
    };
    create(&options, &[], &Provenance::new()).unwrap();
}

fn file(folder: &Path, name: &str) -> Value {
    serde_json::from_slice(&std::fs::read(folder.join(name)).unwrap()).unwrap()
}

#[test]
fn config_of_new_model_names_its_family() {
    let folder = tempfile::tempdir().unwrap();
    for model_type in ModelType::ALL {
        let model = folder.path().join(model_type.name());
        new_model(&model, model_type);
        let config = file(&model, "config.json");
        assert_eq!(config["model_type"], model_type.name());
        assert_eq!(config["architectures"], json!([model_type.architecture()]));
        let of_qwen = model_type != ModelType::Llama;
        let with_head = model_type != ModelType::Qwen2;
        assert_eq!(config.get("head_dim").is_some(), with_head);
        assert_eq!(config.get("attention_bias").is_some(), with_head);
        assert_eq!(config.get("use_sliding_window").is_some(), of_qwen);
        assert_eq!(config["rms_norm_eps"], if of_qwen { 1e-6 } else { 1e-5 });
        let loaded = ModelConfig::load(&model).unwrap();
        assert_eq!(loaded.head_dim(), if with_head { 8 } else { 12 });

        // Only Llama's files name the beginning of a text, and agree on it.
        let generation = file(&model, "generation_config.json");
        let tokenizer = Tokenizer::load(&model).unwrap();
        let id = |token: &str| json!(tokenizer.encode(token).unwrap()[0]);
        let begin = (!of_qwen).then(|| id("<|begin_of_text|>"));
        for found in [&config, &generation] {
            assert_eq!(found.get("bos_token_id"), begin.as_ref());
        }
        let end = id(if of_qwen { "<|im_end|>" } else { "<|eot_id|>" });
        assert_eq!(generation["eos_token_id"][0], end);
        assert_eq!(config.get("eos_token_id"), begin.map(|_| end).as_ref());

        let parameters = CausalLm::load(&model, &device()).unwrap();
        let names: Vec<String> = (parameters.parameters().iter())
            .map(|parameter| parameter.name().to_owned())
            .collect();
        let any = |end: &str| names.iter().any(|name| name.ends_with(end));
        assert_eq!(any("q_proj.bias"), model_type == ModelType::Qwen2);
        assert_eq!(any("q_norm.weight"), model_type == ModelType::Qwen3);
    }
}

/// The templates of new models render conversations without tools as those of the family's
/// checkpoints that do not reason.
#[test]
fn templates_of_new_models_match_checkpoints() {
    let folder = tempfile::tempdir().unwrap();
    for (model_type, recorded) in [
        (ModelType::Qwen3, "qwen3_instruct_2507"),
        (ModelType::Llama, "llama3"),
    ] {
        let model = folder.path().join(model_type.name());
        new_model(&model, model_type);
        let tokenizer = Tokenizer::load(&model).unwrap();
        let oracle = oracle_of(model_type.name());
        let Some(cases) = oracle.json::<Renderings>("chat_cases.json") else {
            continue;
        };
        let mut compared = 0;
        for case in &cases.chat {
            // Roles of tools are written by the checkpoint's template only.
            if case.template != recorded || case.tools.is_some() || case.has_tool_message() {
                continue;
            }
            if case.chat_template_kwargs.is_some() {
                continue;
            }
            let rendered = tokenizer
                .template()
                .unwrap()
                .render(&case.messages, None, case.add_generation_prompt)
                .unwrap();
            assert_eq!(rendered.text, case.text);
            compared += 1;
        }
        assert_eq!(compared, 6, "{recorded}");
    }
}

/// A new model of every family is trained, with an adapter and in full, and plays.
#[test]
fn new_models_of_all_families_train_and_play() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let corpus = path("corpus.jsonl");
    succeeds(&format!(
        "lm corpus --world trust --task task1 --seeds 100000..100002 --out {corpus}"
    ));
    for family in ["qwen2", "qwen3", "llama"] {
        let model = path(family);
        let head = if family == "qwen2" {
            ""
        } else {
            "--head-dim 24"
        };
        succeeds(&format!(
            "lm init --model-type {family} --output-dir {model} --data {corpus} --vocab-size 400 --hidden-size 32 \
             --intermediate-size 64 --num-hidden-layers 1 --num-attention-heads 2 --num-key-value-heads 1 {head}"
        ));
        let (full, adapter) = (format!("{model}-full"), format!("{model}-adapter"));
        for (part, output) in [("--full", &full), ("", &adapter)] {
            succeeds(&format!(
                "lm sft --model {model} {part} --data {corpus} --max-steps 2 --learning-rate 1e-2 --output-dir {output}"
            ));
        }
        let trained = file(Path::new(&full), "config.json");
        assert_eq!(trained["model_type"], family);
        let original = file(Path::new(&model), "config.json");
        assert_eq!(trained.get("bos_token_id"), original.get("bos_token_id"));
        for (played, adapter) in [
            (&full, String::new()),
            (&model, format!("--adapter {adapter}")),
        ] {
            let found = succeeds(&format!(
                "lm rollout --model {played} {adapter} --world trust --task task1 --episodes 1 \
                 --max-completion-length 4"
            ));
            assert!(!found.is_empty());
        }
    }
}

#[test]
fn sizes_that_do_not_match_the_family_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("model").display().to_string();
    for odd in [
        "--head-dim 8",
        "--model-type qwen3 --head-dim 0",
        "--model-type llama --head-dim 7",
        "--model-type llama --num-attention-heads 3",
        "--num-attention-heads 18446744073709551615",
    ] {
        let error = fails(&format!("lm init --output-dir {output} {odd}"));
        assert!(error.contains("head-dim"), "{odd}: {error}");
    }
    let error = fails(&format!(
        "lm init --output-dir {output} --model-type llama --vocab-size 260"
    ));
    assert!(error.contains("261"), "{error}");
    let error = refused(&format!("lm init --output-dir {output} --model-type gpt2"));
    assert!(error.contains("llama"), "{error}");
    assert!(!Path::new(&output).exists());
}
