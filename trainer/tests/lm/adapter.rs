//! Adapters: output, merging, files.

use sentinel_trainer::lm::{BaseCheck, Lora, Pass, Qwen2};

use crate::oracle::{LOGITS, close, device, numbers, oracle};

#[test]
fn logits_are_those_of_peft() {
    let oracle = oracle();
    for adapter in oracle.named("adapter_", "") {
        let Some(file) = oracle.tensors(&format!("lora_logits_{adapter}.safetensors")) else {
            continue;
        };
        let variant = adapter.split('_').nth(1).unwrap();
        let base = oracle.path(&format!("model_{variant}")).unwrap();
        let mut model = Qwen2::load(&base, &device()).unwrap();
        let folder = oracle.path(&adapter).unwrap();
        Lora::load(&mut model, &folder, BaseCheck::Weights).unwrap();
        let batch = file["input_ids"].batch(model.config(), None);
        let logits = numbers(model.forward(&batch, Pass::EVALUATION));
        close(&adapter, &logits, &file["logits"].values, LOGITS);

        let plain = Qwen2::load(&base, &device()).unwrap();
        let plain = numbers(plain.forward(&batch, Pass::EVALUATION));
        let reference = numbers(model.forward(&batch, Pass::REFERENCE));
        assert_eq!(plain, reference, "the reference is the base model");

        let target = tempfile::tempdir().unwrap();
        let merged = target.path().join("merged");
        let report = Lora::merge_into(&model, &base, &merged, false).unwrap();
        assert!(report.difference <= report.tolerance);
        let read = Qwen2::load(&merged, &device()).unwrap();
        let logits = numbers(read.forward(&batch, Pass::EVALUATION));
        close(&adapter, &logits, &file["merged_logits"].values, LOGITS);
        for (name, recorded) in &file {
            let Some(name) = name.strip_prefix("merged.") else {
                continue;
            };
            let parameters = read.parameters();
            let ours = parameters.iter().find(|p| p.name() == name).unwrap();
            close(name, &ours.numbers().unwrap(), &recorded.values, 1e-6);
        }
        assert!(merged.join("tokenizer.json").is_file());
        let error = Lora::merge_into(&model, &base, &merged, false).unwrap_err();
        assert!(error.to_string().contains("--force"), "{error}");
        Lora::merge_into(&model, &base, &merged, true).unwrap();
    }
}
