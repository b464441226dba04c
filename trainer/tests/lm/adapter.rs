//! Adapters: model output, merging and files.

use std::fs;
use std::path::Path;

use sentinel_base::provenance::Provenance;
use sentinel_lm::{
    BaseCheck, Batch, CausalLm, ForwardOptions, GenerationDefaults, LmError, Lora, LoraConfig,
    MergeReport, ModelConfig, ModuleNames, Target, TrainedPart,
};
use serde_json::{Value, json};

use crate::oracle::{LOGITS, close, device, every_adapter, numbers, oracle, tensors};

/// Merges the adapter of a model into `base`, without variables of the chat template.
pub(crate) fn merge(
    model: &CausalLm,
    base: &Path,
    merged: &Path,
    overwrite: bool,
) -> Result<MergeReport, LmError> {
    Lora::merge_into(model, base, None, merged, &Provenance::new(), overwrite)
}

#[test]
fn adapter_and_merged_logits_match_peft() {
    for (oracle, adapter) in every_adapter() {
        let Some(file) = oracle.tensors(&format!("lora_logits_{adapter}.safetensors")) else {
            continue;
        };
        let variant = adapter.split('_').nth(1).unwrap();
        let (Some(base), Some(folder)) = (oracle.model(variant), oracle.adapter(&adapter)) else {
            continue;
        };
        let mut model = CausalLm::load(&base, &device()).unwrap();
        Lora::load(&mut model, &folder, BaseCheck::Weights).unwrap();
        let batch = file["input_ids"].batch(model.config(), None);
        let logits = numbers(model.forward(&batch, ForwardOptions::EVALUATION));
        close(&adapter, &logits, &file["logits"].values, LOGITS);

        let plain = CausalLm::load(&base, &device()).unwrap();
        let plain = numbers(plain.forward(&batch, ForwardOptions::EVALUATION));
        let reference = numbers(model.forward(&batch, ForwardOptions::REFERENCE));
        assert_eq!(plain, reference, "the reference is the base model");

        let target = tempfile::tempdir().unwrap();
        let merged = target.path().join("merged");
        let report = merge(&model, &base, &merged, false).unwrap();
        assert!(report.difference <= report.tolerance);
        let read = CausalLm::load(&merged, &device()).unwrap();
        let logits = numbers(read.forward(&batch, ForwardOptions::EVALUATION));
        close(&adapter, &logits, &file["merged_logits"].values, LOGITS);
        for (name, recorded) in &file {
            let Some(name) = name.strip_prefix("merged.") else {
                continue;
            };
            let parameters = read.parameters();
            let ours = parameters.iter().find(|p| p.name() == name).unwrap();
            close(name, &ours.values().unwrap(), &recorded.values, 1e-6);
        }
        assert_eq!(
            merged.join("tokenizer.json").is_file(),
            base.join("tokenizer.json").is_file()
        );
        let error = merge(&model, &base, &merged, false).unwrap_err();
        let message = error.to_string();
        assert!(message.contains("--overwrite-output-dir"), "{message}");
        merge(&model, &base, &merged, true).unwrap();
    }
}

/// Returns the first recorded model that has an adapter, with the folders of both.
fn first() -> Option<(CausalLm, std::path::PathBuf, std::path::PathBuf)> {
    let oracle = oracle();
    let mut pairs = oracle.variants().into_iter().filter_map(|variant| {
        let base = oracle.model(&variant)?;
        Some((base, oracle.adapter(&format!("adapter_{variant}"))?))
    });
    let (base, adapter) = pairs.next()?;
    let mut model = CausalLm::load(&base, &device()).unwrap();
    Lora::load(&mut model, &adapter, BaseCheck::Weights).unwrap();
    Some((model, base, adapter))
}

#[test]
fn adapter_files_match_peft() {
    let Some((model, base, adapter)) = first() else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let written = folder.path().join("adapter");
    Lora::save(&model, &written, &model.base_digest().unwrap()).unwrap();
    let (ours, theirs) = ("adapter_model.safetensors", "adapter_model.safetensors");
    let (ours, theirs) = (tensors(&written.join(ours)), tensors(&adapter.join(theirs)));
    assert!(ours.keys().eq(theirs.keys()));
    for (name, ours) in &ours {
        assert_eq!(
            (&ours.shape, &ours.values),
            (&theirs[name].shape, &theirs[name].values)
        );
    }
    let read = |folder: &Path| -> Value {
        let text = fs::read(folder.join("adapter_config.json")).unwrap();
        let mut config: Value = serde_json::from_slice(&text).unwrap();
        // PEFT stores a set, so the order in the file is arbitrary.
        let targets = config["target_modules"].as_array_mut().unwrap();
        targets.sort_by_key(Value::to_string);
        config
    };
    let (ours, theirs) = (read(&written), read(&adapter));
    for (key, value) in ours.as_object().unwrap() {
        assert_eq!(value, &theirs[key], "{key}");
    }
    let mut again = CausalLm::load(&base, &device()).unwrap();
    Lora::load(&mut again, &written, BaseCheck::Weights).unwrap();
    assert_eq!(again.adapter(), model.adapter());
}

/// For a base model without `generation_config.json`, `config.json` is the only source of the stop
/// tokens.
#[test]
fn merged_model_keeps_stop_tokens_of_base() {
    let Some((model, base, _)) = first() else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let (source, target) = (folder.path().join("base"), folder.path().join("merged"));
    fs::create_dir(&source).unwrap();
    let text = fs::read(base.join("config.json")).unwrap();
    let mut config: Value = serde_json::from_slice(&text).unwrap();
    config["eos_token_id"] = json!([5, 7]);
    config["bos_token_id"] = json!(3);
    config["pad_token_id"] = json!(null);
    fs::write(source.join("config.json"), config.to_string()).unwrap();
    merge(&model, &source, &target, false).unwrap();
    let text = fs::read(target.join("config.json")).unwrap();
    let merged: Value = serde_json::from_slice(&text).unwrap();
    for key in ["eos_token_id", "bos_token_id"] {
        assert_eq!(merged[key], config[key], "{key}");
    }
    assert!(merged.get("pad_token_id").is_none());
    let ends = GenerationDefaults::load(&target).unwrap().eos_token_ids;
    assert_eq!(ends, [5, 7]);
}

#[test]
fn adapter_of_other_model_is_refused() {
    let Some((model, base, adapter)) = first() else {
        return;
    };
    let config = ModelConfig::load(&base).unwrap();
    let wider = ModelConfig {
        intermediate_size: config.intermediate_size + 2,
        ..config.clone()
    };
    let deeper = ModelConfig {
        num_hidden_layers: config.num_hidden_layers + 1,
        ..config.clone()
    };
    let shallower = ModelConfig {
        num_hidden_layers: config.num_hidden_layers - 1,
        ..config.clone()
    };
    for (other, part) in [
        (wider, "has shape"),
        (deeper, "lacks"),
        (shallower, "no place"),
    ] {
        let mut other = CausalLm::initialize(other, 0, &device()).unwrap();
        let error = Lora::load(&mut other, &adapter, BaseCheck::Weights).unwrap_err();
        assert!(matches!(error, LmError::AdapterMismatch { .. }));
        let text = error.to_string();
        assert!(
            text.contains(part) && text.contains(adapter.to_str().unwrap()),
            "{text}"
        );
        assert!(other.adapter().is_none());
    }
    // A model of the same shape is detected by the digest, which only Sentinel writes.
    let folder = tempfile::tempdir().unwrap();
    Lora::save(&model, folder.path(), &model.base_digest().unwrap()).unwrap();
    let mut other = CausalLm::initialize(config, 0, &device()).unwrap();
    let error = Lora::load(&mut other, folder.path(), BaseCheck::Weights).unwrap_err();
    assert!(error.to_string().contains("other weights"), "{error}");
    Lora::load(&mut other, folder.path(), BaseCheck::Shapes).unwrap();
}

#[test]
fn new_adapter_keeps_logits_and_sets_trainable_parameters() {
    let Some((_, base, _)) = first() else { return };
    let mut model = CausalLm::load(&base, &device()).unwrap();
    let batch = Batch::new(model.config(), vec![1, 2, 3, 4], vec![true; 4], 4).unwrap();
    let before = numbers(model.forward(&batch, ForwardOptions::EVALUATION));
    let config = LoraConfig {
        rank: 2,
        dropout: 0.5,
        targets: ModuleNames::from(&[Target::Query, Target::Down]),
        ..LoraConfig::default()
    };
    Lora::attach(&mut model, config.clone(), 5).unwrap();
    assert_eq!(
        numbers(model.forward(&batch, ForwardOptions::EVALUATION)),
        before
    );
    let layers = model.config().num_hidden_layers;
    let trained = model.parameters().into_iter().filter(|p| p.is_trainable());
    assert_eq!(trained.count(), 4 * layers);
    model.set_trained_part(TrainedPart::Nothing);
    assert_eq!(model.trainable_count(), 0);
    let wrong = LoraConfig {
        dropout: 1.0,
        ..config
    };
    assert!(
        Lora::attach(&mut model, wrong, 0)
            .unwrap_err()
            .to_string()
            .contains("dropout")
    );
}
