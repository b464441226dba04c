//! Adapters of other tools: every form that PEFT writes, and what is refused.

use std::fs;
use std::path::Path;

use sentinel_trainer::lm::{
    BaseCheck, Batch, CausalLm, ForwardOptions, LmError, Lora, LoraConfig, find_model,
};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::adapter::merge;
use crate::oracle::{LOGITS, close, device, numbers, oracle_of};

#[derive(Deserialize)]
struct Recorded {
    ids: Vec<u32>,
    forms: Vec<Form>,
}

#[derive(Deserialize)]
struct Form {
    form: String,
    model: String,
    logits: Vec<f32>,
}

fn recorded() -> Option<Recorded> {
    oracle_of("peft").json("logits.json")
}

/// Returns the model of a form, named as `qwen3/model_tied`, and the folder of its adapter.
fn folders(form: &Form) -> [std::path::PathBuf; 2] {
    let (family, model) = form.model.split_once('/').unwrap();
    let base = oracle_of(family).checkpoint(model).unwrap();
    [base, oracle_of("peft").adapter(&form.form).unwrap()]
}

/// Returns the logits after the last token.
fn last_logits(model: &CausalLm, ids: &[u32]) -> Vec<f32> {
    let mask = vec![true; ids.len()];
    let batch = Batch::new(model.config(), ids.to_vec(), mask, ids.len()).unwrap();
    let logits = numbers(model.forward(&batch, ForwardOptions::EVALUATION));
    logits[logits.len() - model.config().vocab_size..].to_vec()
}

#[test]
fn every_form_has_the_logits_of_peft_before_and_after_merging() {
    let Some(Recorded { ids, forms }) = recorded() else {
        return;
    };
    assert_eq!(forms.len(), 20);
    for form in forms {
        let [base, adapter] = folders(&form);
        let mut model = CausalLm::load(&base, &device()).unwrap();
        Lora::load(&mut model, &adapter, BaseCheck::Weights).unwrap();
        close(&form.form, &last_logits(&model, &ids), &form.logits, LOGITS);

        let target = tempfile::tempdir().unwrap();
        let merged = target.path().join("merged");
        merge(&model, &base, &merged, false).unwrap();
        let merged = CausalLm::load(&merged, &device()).unwrap();
        close(
            &form.form,
            &last_logits(&merged, &ids),
            &form.logits,
            LOGITS,
        );

        // An adapter can be saved again, and trained, unless it has changed the base model.
        let again = target.path().join("again");
        let digest = model.base_digest().unwrap();
        let changes_base = form.form.contains("head")
            || form.form.contains("saved")
            || ["embedding", "biases"].contains(&form.form.as_str());
        match Lora::save(&model, &again, &digest) {
            Ok(()) => {
                assert!(!changes_base, "{}", form.form);
                let mut model = CausalLm::load(&base, &device()).unwrap();
                Lora::load(&mut model, &again, BaseCheck::Weights).unwrap();
                close(&form.form, &last_logits(&model, &ids), &form.logits, LOGITS);
                let config = LoraConfig::load(&again).unwrap();
                let count = config.parameter_count(model.config()).unwrap();
                let of_adapter = model.parameters().into_iter();
                let of_adapter = of_adapter.filter(|p| p.name().contains(".lora_"));
                let sizes = of_adapter.map(|p| p.shape().iter().product::<usize>());
                assert_eq!(count, sizes.sum::<usize>(), "{}", form.form);
            }
            Err(error) => {
                assert!(changes_base, "{}: {error}", form.form);
                let message = error.to_string();
                assert!(message.contains("sentinel lm merge"), "{message}");
                let error = Lora::load(&mut model, &adapter, BaseCheck::Weights).unwrap_err();
                assert!(
                    error.to_string().contains("load the model again"),
                    "{error}"
                );
            }
        }
    }
}

/// Copies the adapter of a form.
fn copy(form: &str) -> Option<tempfile::TempDir> {
    let folder = oracle_of("peft").adapter(form)?;
    let copy = tempfile::tempdir().unwrap();
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), copy.path().join(entry.file_name())).unwrap();
    }
    Some(copy)
}

fn set(folder: &Path, key: &str, value: Value) {
    let path = folder.join("adapter_config.json");
    let mut config: Map<String, Value> = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    config.insert(key.to_owned(), value);
    fs::write(path, Value::Object(config).to_string()).unwrap();
}

#[test]
fn other_kinds_of_adapters_are_refused_with_a_way_out() {
    let merged = "merge it with PEFT's merge_and_unload, save it with the tokenizer";
    let cases = [
        ("peft_type", json!("LOHA"), merged),
        ("r", json!(0), "at least 1"),
        ("lora_alpha", Value::Null, "is missing"),
        ("modules_to_save", json!(["lm_head"]), "lacks tensor"),
        ("modules_to_save", json!(["self_attn"]), "of no layer"),
        ("use_dora", json!(true), merged),
        ("lora_bias", json!(true), merged),
        ("layer_replication", json!([[0, 1]]), merged),
        ("trainable_token_indices", json!([3]), merged),
        ("alora_invocation_tokens", json!([3, 4]), merged),
        ("init_lora_weights", json!("pissa"), merged),
        ("rank_pattern", json!({"v_proj": "2"}), "write a number"),
        ("rank_pattern", json!({"v_proj": 0}), "at least 1"),
        ("alpha_pattern", json!({"(v": 2}), "has a pattern"),
        ("layers_to_transform", json!([-1]), "from 0 on"),
        ("exclude_modules", json!([1]), "a list of texts"),
        ("target_modules", json!("(q_proj"), "has a pattern"),
        ("target_modules", json!([]), "is empty"),
        ("target_modules", Value::Null, "is missing"),
        ("target_modules", json!(["W_pack"]), "of no layer"),
        ("rank_pattern", json!({"v_proj": 2}), "has shape"),
        (
            "target_modules",
            json!(["q_proj"]),
            "has no place in the model",
        ),
        ("exclude_modules", json!("x"), ""),
        ("loftq_config", json!({}), ""),
    ];
    for (key, value, part) in cases {
        let (Some(folder), Some(base)) = (copy("rank_pattern"), oracle_of("qwen3").model("tied"))
        else {
            return;
        };
        set(folder.path(), key, value.clone());
        let mut model = CausalLm::load(&base, &device()).unwrap();
        match Lora::load(&mut model, folder.path(), BaseCheck::Weights) {
            Ok(()) => assert_eq!(part, "", "{key}: {value}"),
            Err(error) => {
                let message = error.to_string();
                assert!(!part.is_empty() && message.contains(part), "{message}");
            }
        }
    }
}

#[test]
fn a_path_that_is_no_adapter_says_what_it_is() {
    let (Some(folder), Some(base)) = (copy("plain"), oracle_of("qwen3").model("tied")) else {
        return;
    };
    let fails = |path: &Path, parts: &[&str]| {
        let error = LoraConfig::load(path).unwrap_err().to_string();
        for part in parts {
            assert!(error.contains(part), "{part:?} is not in: {error}");
        }
    };
    let weights = folder.path().join("adapter_model.safetensors");
    fails(
        &weights,
        &["it is a file", &folder.path().display().to_string()],
    );
    fails(
        Path::new("me/adapter"),
        &["sentinel pull me/adapter --out DIR"],
    );
    fails(&base, &["it is a model", "--model"]);
    let place = tempfile::tempdir().unwrap();
    let (_, model) = crate::runs::made(place.path());
    let played = format!("lm eval --model {model} --adapter me/adapter");
    let message = crate::runs::fails(&played);
    assert!(message.contains("sentinel pull me/adapter"), "{message}");
    fs::rename(&weights, folder.path().join("adapter_model.bin")).unwrap();
    fails(folder.path(), &["adapter_model.bin", "save it again"]);

    let asked = folder.path().display().to_string();
    let found = find_model(&asked, &sentinel_trainer::lm::HubOptions::default())
        .unwrap()
        .folder;
    let error: LmError = CausalLm::load(&found, &device()).unwrap_err();
    let message = error.to_string();
    let wanted = format!("--model qwen3/model_tied --adapter {asked}");
    assert!(
        message.contains("it is an adapter") && message.contains(&wanted),
        "{message}"
    );
}
