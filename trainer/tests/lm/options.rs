//! Options of `sentinel lm grpo` that are checked before a model is loaded.

use crate::runs::{fails, refused, succeeds};

/// Streams that reveal hidden state must not be used for training.
#[test]
fn training_on_reference_streams_is_refused() {
    for world in ["trust", "cluster"] {
        let message = fails(&format!(
            "lm grpo --world {world} --streams reference --model none"
        ));
        assert!(
            message.contains("streams should be independent"),
            "{message}"
        );
    }
}

#[test]
fn invalid_numbers_error_names_option() {
    for (option, value) in [("temperature", "1e-46"), ("learning-rate", "0")] {
        let message = fails(&format!("lm grpo --model none --{option} {value}"));
        assert!(message.contains(option), "{message}");
    }
    for option in [
        "num-generations",
        "groups-per-update",
        "per-device-train-batch-size",
    ] {
        let message = fails(&format!(
            "lm grpo --estimate --{option} 18446744073709551615"
        ));
        assert!(
            message.contains(option) && message.contains("1048576"),
            "{message}"
        );
    }
    // Options are stored as JSON, which cannot represent these values.
    for option in ["format-weight", "beta", "epsilon-high", "invalid-penalty"] {
        for value in ["nan", "inf", "1e999"] {
            let message = refused(&format!("lm grpo --model none --{option}={value}"));
            assert!(
                message.contains(option) && message.contains("finite"),
                "{message}"
            );
        }
    }
}

/// Bounds require a correction mode, and must be in order.
#[test]
fn clip_bounds_require_importance_sampling_mode() {
    for (options, what) in [
        (
            "--importance-sampling-clip-max 2",
            "without importance-sampling-mode",
        ),
        (
            "--importance-sampling-mode token_mask --importance-sampling-clip-min 4",
            "the first below the second",
        ),
        (
            "--loss-type sapo --sapo-temperature-pos 0",
            "sapo_temperature_pos",
        ),
        ("--delta -1", "delta"),
    ] {
        let options = options.replace(" -1", "=-1");
        let message = fails(&format!("lm grpo --model none {options}"));
        assert!(message.contains(what), "{message}");
    }
    let message = refused("lm grpo --model none --importance-sampling-mode sometimes");
    assert!(message.contains("token_truncate"), "{message}");
}

/// A dry run uses the options of a configuration file, and rejects values that no run accepts.
#[test]
fn dry_run_uses_and_validates_run_options() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("options.json");
    let file = file.display();
    let write = |text: &str| std::fs::write(file.to_string(), text).unwrap();
    write(r#"{"episodes": 3, "task": "task1", "continue": "greedy"}"#);
    let output = succeeds(&format!("lm grpo --dry-run --config {file}"));
    assert!(output.contains("\"episodes\": 3,"), "{output}");
    let output = succeeds(&format!("lm grpo --dry-run --config {file} --episodes 2"));
    assert!(output.contains("\"episodes\": 2,"), "{output}");
    let output = succeeds("lm grpo --dry-run");
    assert!(output.contains("\"episodes\": 5,"), "{output}");
    let message = refused("lm grpo --dry-run --episodes 0");
    assert!(message.contains("--episodes"), "{message}");
    let message = fails("lm grpo --dry-run --seed 18446744073709551615");
    assert!(message.contains("--seed"), "{message}");
}

#[test]
fn memory_estimate_needs_no_network() {
    let table = succeeds("lm grpo --estimate");
    for word in [
        "Qwen2.5-3B-Instruct",
        "16 GB",
        "80 GB",
        "KV cache",
        "yes",
        "no",
    ] {
        assert!(table.contains(word), "{word}: {table}");
    }
    // The weights of 3 billion parameters, in GiB.
    assert!(
        table.contains(" 11.6") && !table.contains("bf16"),
        "{table}"
    );
    let half = succeeds("lm grpo --estimate --bf16");
    assert!(half.contains(" 5.8") && half.contains("bf16"), "{half}");
    // A model of the table need not be available locally.
    assert_eq!(
        succeeds("lm grpo --estimate --model Qwen/Qwen2.5-0.5B-Instruct"),
        table
    );
    let message = fails("lm grpo --estimate --model Someone/Else");
    assert!(message.contains("Someone/Else"), "{message}");
}

/// The rank in the estimate is the adapter's own.
#[test]
fn memory_estimate_uses_rank_of_adapter() {
    let folder = tempfile::tempdir().unwrap();
    let config = r#"{"peft_type": "LORA", "r": 4, "lora_alpha": 4, "target_modules": ["q_proj"]}"#;
    std::fs::write(folder.path().join("adapter_config.json"), config).unwrap();
    let adapter = folder.path().display();
    let table = succeeds(&format!("lm grpo --estimate --adapter {adapter}"));
    assert!(table.contains("LoRA rank 4"), "{table}");
}
