//! Adapters of other tools: every form that PEFT writes, and what is refused.

use std::fs;
use std::path::Path;

use sentinel_base::provenance::Provenance;
use sentinel_lm::{
    BaseCheck, Batch, CausalLm, ForwardOptions, LmError, Lora, LoraConfig, find_model,
};
use serde::Deserialize;
use serde_json::{Map, Value, json};

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
    assert_eq!(forms.len(), 30);
    for form in forms {
        let [base, adapter] = folders(&form);
        let mut model = CausalLm::load(&base, &device()).unwrap();
        Lora::load(&mut model, &adapter, BaseCheck::Weights).unwrap();
        close(&form.form, &last_logits(&model, &ids), &form.logits, LOGITS);

        let target = tempfile::tempdir().unwrap();
        let merged = target.path().join("merged");
        let provenance = Provenance::new();
        Lora::merge_into(&model, &base, Some(&adapter), &merged, &provenance, false).unwrap();
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
            || form.form.contains("embedding")
            || ["expression_tied", "biases"].contains(&form.form.as_str());
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

/// The state of a model in PEFT has the name of the adapter in that of each matrix.
#[test]
fn names_of_tensors_can_have_the_name_of_the_adapter() {
    let Some(Recorded { ids, forms }) = recorded() else {
        return;
    };
    let form = forms.iter().find(|form| form.form == "embedding").unwrap();
    let (folder, [base, _]) = (copy("embedding").unwrap(), folders(form));
    let path = folder.path().join("adapter_model.safetensors");
    let bytes = fs::read(&path).unwrap();
    let whole = safetensors::SafeTensors::deserialize(&bytes).unwrap();
    let named = whole.tensors().into_iter().map(|(name, tensor)| {
        let name = ["lora_A", "lora_B", "lora_embedding_A", "lora_embedding_B"]
            .iter()
            .fold(name, |name, part| {
                name.replace(part, &format!("{part}.default"))
            });
        (name, tensor)
    });
    let bytes = safetensors::serialize(named, None).unwrap();
    assert!(String::from_utf8_lossy(&bytes).contains("lora_embedding_A.default"));
    fs::write(&path, bytes).unwrap();
    let mut model = CausalLm::load(&base, &device()).unwrap();
    Lora::load(&mut model, folder.path(), BaseCheck::Weights).unwrap();
    close(&form.form, &last_logits(&model, &ids), &form.logits, LOGITS);
}

/// The first pattern of the file that matches counts, and an alpha may be 0 or below, as in PEFT.
#[test]
fn patterns_are_read_in_the_order_of_the_file() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("adapter_model.safetensors"), "").unwrap();
    let text = r#"{"peft_type": "LORA", "r": 4, "lora_alpha": 0, "target_modules": ["q_proj"],
        "alpha_pattern": {"self_attn.q_proj": 32, "q_proj": -1, "0.self_attn.q_proj": 3},
        "rank_pattern": {"q_proj": 4, ".*q_proj": 8}}"#;
    fs::write(folder.path().join("adapter_config.json"), text).unwrap();
    let config = LoraConfig::load(folder.path()).unwrap();
    let alphas = [
        ("self_attn.q_proj", 32.0),
        ("q_proj", -1.0),
        ("0.self_attn.q_proj", 3.0),
    ];
    let alphas = alphas.map(|(pattern, alpha)| (pattern.to_owned(), alpha));
    assert_eq!(
        (config.alpha, config.alpha_pattern.as_slice()),
        (0.0, alphas.as_slice())
    );
    let ranks = [("q_proj", 4), (".*q_proj", 8)];
    assert_eq!(
        config.rank_pattern,
        ranks.map(|(pattern, rank)| (pattern.to_owned(), rank))
    );
    let message = config.check().unwrap_err().to_string();
    assert!(message.contains("lora_alpha"), "{message}");
}

#[test]
fn other_kinds_of_adapters_are_refused_with_a_way_out() {
    let merged = "merge it with PEFT's merge_and_unload, save it with the tokenizer";
    let cases = [
        ("peft_type", json!("LOHA"), merged),
        ("r", json!(0), "at least 1"),
        ("r", json!("8"), "is \"8\""),
        ("peft_type", Value::Null, "is missing"),
        ("lora_alpha", Value::Null, "is missing"),
        ("lora_alpha", json!(true), "is true"),
        ("lora_alpha", json!("x"), "is \"x\""),
        ("lora_dropout", json!(1.5), "is 1.5; write at least 0"),
        ("modules_to_save", json!(["lm_head"]), "lacks tensor"),
        (
            "modules_to_save",
            json!(["self_attn"]),
            "is [\"q_proj\",\"v_proj\"], which chooses no linear layer",
        ),
        ("use_dora", json!(true), merged),
        ("lora_bias", json!(true), merged),
        ("layer_replication", json!([[0, 1]]), merged),
        ("trainable_token_indices", json!([3]), merged),
        ("alora_invocation_tokens", json!([3, 4]), merged),
        ("init_lora_weights", json!("pissa"), merged),
        ("rank_pattern", json!({"v_proj": "2"}), "write a number"),
        (
            "rank_pattern",
            json!({"v_proj": 0}),
            "is {\"v_proj\":0}; write ranks of at least 1",
        ),
        (
            "alpha_pattern",
            json!({"(v": 2}),
            "is {\"(v\":2}, in which \"(v\" cannot be used",
        ),
        ("modules_to_save", json!(["(v"]), "is [\"(v\"]"),
        ("layers_pattern", json!("(v"), "is \"(v\", in which"),
        ("layers_to_transform", json!([-1]), "from 0 on"),
        ("exclude_modules", json!([1]), "a list of texts"),
        ("target_modules", json!("(q_proj"), "cannot be used"),
        ("target_modules", json!([]), "is []; write names"),
        ("target_modules", Value::Null, "is missing"),
        (
            "target_modules",
            json!(["W_pack"]),
            "key \"target_modules\" is [\"W_pack\"], which",
        ),
        ("ensure_weight_tying", json!(1), "is 1"),
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
                assert!(
                    message.contains(folder.path().to_str().unwrap()),
                    "{message}"
                );
                let place = message.contains(key) || message.contains("tensor base_model.");
                assert!(place || message.contains("target_modules"), "{message}");
                for debug in ["Some(", "Number(", "String(", "List(", "Pattern("] {
                    assert!(!message.contains(debug), "{message}");
                }
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
    for path in ["/none/adapter", "out/run-1/adapter", "./adapter", "adapter"] {
        let error = LoraConfig::load(Path::new(path)).unwrap_err().to_string();
        assert!(error.ends_with("there is no such folder"), "{error}");
    }
    fails(
        Path::new(env!("CARGO_MANIFEST_DIR")),
        &["it holds no adapter_config.json"],
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
    let found = find_model(&asked, &sentinel_lm::HubOptions::default())
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
