//! Frozen weights, and also activations, in bf16 beside an adapter in f32.

use sentinel_language::grpo::{Accumulated, Objective, Sample, accumulate};
use sentinel_lm::{
    AdamOptions, Batch, CausalLm, ForwardOptions, GenerateOptions, GenerationDefaults, Lora,
    LoraConfig, ModelConfig, Optimizer, Precision, check_precision,
};
use sentinel_rl::config::LossConfig;
use sentinel_run::distributed::ProcessGroup;

use crate::oracle::{device, numbers, print_note};
use crate::runs::{adapter, curve, fails, made, succeeds};
use crate::segments::{config, ids};

/// Creates a model with an adapter that changes its output.
fn model() -> CausalLm {
    let config = ModelConfig {
        hidden_size: 32,
        intermediate_size: 48,
        max_position_embeddings: 64,
        tie_word_embeddings: true,
        initializer_range: 0.2,
        ..config()
    };
    let mut model = CausalLm::initialize(config, 7, &device()).unwrap();
    Lora::attach(&mut model, LoraConfig::default(), 3).unwrap();
    // A new adapter has no effect, because its B matrices are 0.
    let grads = accumulated_step(&model, ForwardOptions::training(0)).grads;
    let mut optimizer = Optimizer::new(&AdamOptions::default());
    optimizer.step(&mut model, grads, 0.02).unwrap();
    model
}

/// Computes the gradients of a step on some completions.
fn accumulated_step(model: &CausalLm, pass: ForwardOptions) -> Accumulated {
    let sample = |row: u32| Sample {
        prompt: ids(row / 4, 9),
        completion: ids(row, 5),
        advantage: f64::from(row) - 3.5,
        ..Sample::default()
    };
    let samples: Vec<Sample> = (0..8).map(sample).collect();
    let samples: Vec<&Sample> = samples.iter().collect();
    let objective = Objective {
        loss: LossConfig::default(),
        temperature: 1.0,
        num_items: 40.0,
        pad: 0,
    };
    accumulate(
        model,
        &samples,
        4,
        &objective,
        pass,
        &ProcessGroup::default(),
    )
    .unwrap()
}

/// Returns the largest difference relative to the largest expected value.
fn apart(found: &[f32], expected: &[f32]) -> f32 {
    assert_eq!(found.len(), expected.len());
    let most = expected.iter().fold(1e-9_f32, |most, x| most.max(x.abs()));
    let far = |(a, b): (&f32, &f32)| (a - b).abs();
    let pairs = found.iter().zip(expected);
    pairs.map(far).fold(0.0_f32, f32::max) / most
}

#[test]
fn bf16_logits_and_gradients_are_close_to_f32() {
    let whole = model();
    for precision in [Precision::Bf16Weights, Precision::Bf16] {
        let mut half = whole.clone();
        half.lower_precision(precision).unwrap();
        assert_eq!(
            half.base_digest().unwrap(),
            whole.base_digest().unwrap(),
            "an adapter still belongs to its base"
        );
        assert_close(&half, &whole);
        // Numbers that were rounded cannot be restored.
        half.lower_precision(Precision::F32).unwrap();
        assert_eq!(half.precision(), precision);
    }
}

/// Checks that logits and gradients differ from those in f32, and not by much.
fn assert_close(half: &CausalLm, whole: &CausalLm) {
    let rows = [ids(1, 20), ids(2, 12)];
    let batch = Batch::left_padded(whole.config(), &rows, 0).unwrap();
    let logits = |model: &CausalLm| numbers(model.forward(&batch, ForwardOptions::EVALUATION));
    let far = apart(&logits(half), &logits(whole));
    assert!(far > 1e-5 && far < 0.08, "{far}");

    for by_block in [false, true] {
        let pass = ForwardOptions::training(0).with_gradient_checkpointing(by_block);
        let (found, expected) = (accumulated_step(half, pass), accumulated_step(whole, pass));
        for (place, parameter) in whole.parameters().into_iter().enumerate() {
            let Some(expected) = expected.grads.get(place) else {
                assert!(found.grads.get(place).is_none());
                continue;
            };
            let slope = found.grads.get(place).unwrap().clone();
            let far = apart(&numbers(slope), &numbers(expected.clone()));
            assert!(far < 0.1, "{} {far}", parameter.name());
        }
    }
}

/// Decoding in bf16 works: with few rows the product is transposed, and the adapter is added to the
/// weights.
#[test]
fn bf16_generation_picks_near_best_tokens() {
    for precision in [Precision::Bf16Weights, Precision::Bf16] {
        let mut half = model();
        half.lower_precision(precision).unwrap();
        assert_near_best(&half);
    }
}

/// Checks that greedy decoding picks tokens whose logits are near the best of a training pass.
fn assert_near_best(half: &CausalLm) {
    let mut options = GenerateOptions::new(8, &GenerationDefaults::default(), 1);
    options.greedy = true;
    let rows = [ids(1, 20), ids(2, 12)];
    let completions = half.generate(&rows, &options).unwrap();
    for (row, completion) in rows.iter().zip(&completions) {
        let text = [row.as_slice(), &completion.ids].concat();
        let batch = Batch::left_padded(half.config(), &[text], 0).unwrap();
        let logits = numbers(half.forward(&batch, ForwardOptions::EVALUATION));
        let logits: Vec<&[f32]> = logits.chunks(half.config().vocab_size).collect();
        for (at, id) in completion.ids.iter().enumerate() {
            let seen = logits[row.len() + at - 1];
            let best = seen.iter().copied().fold(f32::MIN, f32::max);
            assert!(seen[*id as usize] > best - 0.05 * best.abs().max(1.0));
        }
    }
}

#[test]
fn bf16_runs_train_adapter_of_f32_model() {
    let folder = tempfile::tempdir().unwrap();
    let (corpus, model) = made(folder.path());
    let at = |name: &str| folder.path().join(name).display().to_string();
    let sft = format!("lm sft --model {model} --data {corpus} --bf16 --learning-rate 1e-2");
    succeeds(&format!("{sft} --max-steps 4 --output-dir {}", at("sft")));
    let losses: Vec<f64> = curve(&folder.path().join("sft"))
        .iter()
        .filter_map(|step| step.get("loss")?.as_f64())
        .collect();
    assert!(losses[3] < losses[0], "{losses:?}");
    let out = folder.path().join("played.json");
    let measure = format!(
        "lm eval --model {model} --adapter {} --task task1 --seeds 1000..1001 --max-completion-length 4 \
         --out {}",
        at("sft"),
        out.display()
    );
    let printed = succeeds(&measure);
    assert_eq!(std::fs::read_to_string(&out).unwrap(), printed);
    succeeds(&measure);
    std::fs::write(&out, "{\"mine\": 1}").unwrap();
    let message = fails(&measure);
    assert!(message.contains("is not a result of lm eval"), "{message}");
    // The KL term compares with the continued adapter, whose merged weights are bf16 too.
    succeeds(&format!(
        "lm grpo --model {model} --adapter {} --bf16 --beta 0.1 --task task1 --episodes 1 --batch-size 1 \
         --num-generations 2 --groups-per-update 1 --max-completion-length 4 --output-dir {}",
        at("sft"),
        at("grpo")
    ));
    // A resumed run cannot change this option.
    let plain = format!("lm sft --model {model} --data {corpus} --max-steps 1");
    succeeds(&format!("{plain} --output-dir {}", at("plain")));
    let message = fails(&format!(
        "lm sft --resume --bf16 --output-dir {}",
        at("plain")
    ));
    assert!(message.contains("precision"), "{message}");
    assert!(!adapter(&folder.path().join("grpo")).is_empty());
    let message = fails(&format!("{sft} --full --output-dir {}", at("full")));
    assert!(
        message.contains("precision") && message.contains("full"),
        "{message}"
    );
    let file = folder.path().join("options.json");
    std::fs::write(&file, r#"{"full": true}"#).unwrap();
    let message = fails(&format!(
        "{sft} --config {} --output-dir {}",
        file.display(),
        at("full")
    ));
    assert!(
        message.contains("precision") && message.contains("full"),
        "{message}"
    );
}

/// Fine-tuning with activations in bf16 follows that in f32, and a run of GRPO logs log-probabilities
/// that its saved adapter gives again.
#[test]
fn bf16_runs_follow_those_in_f32() {
    let folder = tempfile::tempdir().unwrap();
    let (corpus, model) = made(folder.path());
    let at = |name: &str| folder.path().join(name).display().to_string();
    let losses = |name: &str, options: &str| {
        succeeds(&format!(
            "lm sft --model {model} --data {corpus} --learning-rate 1e-2 --max-steps 8 {options} --output-dir {}",
            at(name)
        ));
        let steps = curve(&folder.path().join(name));
        let losses = steps.iter().filter_map(|step| step.get("loss")?.as_f64());
        losses.collect::<Vec<f64>>()
    };
    for kind in ["", "--full"] {
        let whole = losses(&format!("whole{kind}"), kind);
        let half = losses(&format!("half{kind}"), &format!("--precision bf16 {kind}"));
        let fall = whole[0] - whole[7];
        assert!(fall > 0.1, "{whole:?}");
        let apart = whole.iter().zip(&half).map(|(a, b)| (a - b).abs());
        let share = apart.fold(0.0, f64::max) / fall;
        print_note(&format!(
            "lm sft {kind}: losses differ by {share:.2e} of their decrease"
        ));
        assert!(share < 0.02, "{whole:?} {half:?}");
    }
    let (checkpoints, reports) = (at("checkpoints"), at("reports"));
    succeeds(&format!(
        "lm grpo --model {model} --precision bf16 --beta 0.1 --task task1 --episodes 2 --batch-size 2 \
         --num-generations 2 --groups-per-update 2 --max-completion-length 4 --output-dir \
         {checkpoints}/grpo_adapter"
    ));
    let log = std::fs::read_to_string(format!("{checkpoints}/grpo_adapter/events.jsonl")).unwrap();
    // The reference is in the same number formats as the policy that starts from it.
    assert!(log.contains("\"kl\":0.0"), "{log}");
    let options = format!("{checkpoints}/grpo_adapter/training_options.json");
    let options = std::fs::read_to_string(options).unwrap();
    assert!(options.contains("\"precision\": \"bf16\""), "{options}");
    succeeds(&format!(
        "lm postsave --checkpoints-dir {checkpoints} --reports-dir {reports} --samples 1"
    ));
    let report = std::fs::read(format!("{reports}/postsave_inference.json")).unwrap();
    let report: serde_json::Value = serde_json::from_slice(&report).unwrap();
    let difference = &report["logprob_difference"];
    assert_eq!(difference["compared_with"], "training");
    assert!(difference["max"].as_f64().unwrap() < 1e-3, "{difference}");
}

/// A device without bf16 is refused before anything is rounded.
#[test]
fn precision_needs_device_that_supports_it() {
    let mut model = CausalLm::initialize(config(), 7, &device()).unwrap();
    let supported = device().supports_dtype(burn::tensor::DType::BF16);
    for precision in Precision::ALL {
        let expected = supported || precision == Precision::F32;
        assert_eq!(check_precision(precision, &device()).is_ok(), expected);
        assert_eq!(model.lower_precision(precision).is_ok(), expected);
    }
    if !supported {
        assert_eq!(model.precision(), Precision::F32);
        print_note("this device does not support bf16: it is refused");
    }
}
