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

/// The policy that plays on belongs to the options that use it, must exist, and sees observations only.
#[test]
fn continuation_policy_errors_name_the_option() {
    let model = "lm grpo --model none --world trust";
    for (options, what) in [
        (
            "--continuation-policy bayes",
            "continuation-policy and -model",
        ),
        (
            "--credit lookahead --continuation-policy nobody",
            "unknown policy",
        ),
        (
            "--credit lookahead --continuation-policy oracle_lite",
            "reads hidden state",
        ),
        (
            "--credit step --continuation scripted --continuation-model none",
            "--continuation-policy trained",
        ),
        (
            "--credit lookahead --lookahead-rollouts 0",
            "lookahead-rollouts",
        ),
        (
            "--credit lookahead --lookahead-actions 2000000",
            "lookahead-actions",
        ),
        ("--credit lookahead --loss-type grpo", "dapo"),
        ("--credit lookahead --beta 0.1", "beta"),
        (
            "--credit lookahead --lookahead-temperature 0",
            "lookahead-temperature",
        ),
        (
            "--credit lookahead --lookahead-exploration 0.6 --lookahead-expert-share 0.5",
            "lookahead-expert-share",
        ),
        (
            "--credit lookahead --importance-sampling-mode token_mask",
            "left out with --credit lookahead",
        ),
    ] {
        let message = fails(&format!("{model} {options}"));
        assert!(message.contains(what), "{options}: {message}");
    }
    let message = refused(&format!(
        "{model} --credit lookahead --lookahead-exploration 2"
    ));
    assert!(message.contains("lookahead-exploration"), "{message}");
    let message = refused("train --credit lookahead");
    assert!(message.contains("reward_to_go"), "{message}");
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
    assert_eq!(
        succeeds("lm grpo --estimate --precision bf16-weights"),
        half
    );
    fails("lm grpo --estimate --full --precision bf16-weights");
    let computed = succeeds("lm grpo --estimate --precision bf16");
    assert!(computed.contains("computed in bf16"), "{computed}");
    assert!(refused("lm grpo --estimate --precision f16").contains("bf16-weights"));
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), r#"{"bf16": true}"#).unwrap();
    let recorded = format!("lm grpo --estimate --config {}", file.path().display());
    assert_eq!(succeeds(&recorded), half, "options of earlier runs");
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

/// The configurations of published checkpoints are read, and their numbers of parameters follow.
#[test]
fn memory_estimate_reads_other_families() {
    let common = r#""hidden_act": "silu", "attention_bias": false, "rms_norm_eps": 1e-5,
        "num_key_value_heads": 8, "tie_word_embeddings": true, "torch_dtype": "bfloat16""#;
    let qwen3 = r#""architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3", "vocab_size": 151936,
        "hidden_size": 1024, "intermediate_size": 3072, "num_hidden_layers": 28,
        "num_attention_heads": 16, "head_dim": 128, "max_position_embeddings": 40960,
        "max_window_layers": 28, "rope_scaling": null, "rope_theta": 1000000, "sliding_window": null,
        "use_sliding_window": false"#;
    let llama = r#""architectures": ["LlamaForCausalLM"], "model_type": "llama", "vocab_size": 128256,
        "hidden_size": 2048, "intermediate_size": 8192, "num_hidden_layers": 16,
        "num_attention_heads": 32, "head_dim": 64, "max_position_embeddings": 131072,
        "mlp_bias": false, "pretraining_tp": 1, "rope_theta": 500000.0, "rope_scaling": {
        "factor": 32.0, "high_freq_factor": 4.0, "low_freq_factor": 1.0,
        "original_max_position_embeddings": 8192, "rope_type": "llama3"}"#;
    for (own, billions) in [(qwen3, "0.596B"), (llama, "1.236B")] {
        let folder = tempfile::tempdir().unwrap();
        let config = format!("{{{common}, {own}}}");
        std::fs::write(folder.path().join("config.json"), config).unwrap();
        let model = folder.path().display();
        let table = succeeds(&format!("lm grpo --estimate --model {model}"));
        assert!(table.contains(billions), "{table}");
    }
}
