//! Frozen weights in bf16 beside an adapter in f32.

use sentinel_trainer::algo::lm_grpo::{Accumulated, Objective, Sample, accumulate};
use sentinel_trainer::distributed::ProcessGroup;
use sentinel_trainer::lm::{
    AdamOptions, Batch, CausalLm, ForwardOptions, GenerateOptions, GenerationDefaults, Lora,
    LoraConfig, ModelConfig, Optimizer, Precision,
};
use sentinel_trainer::rl::config::LossConfig;

use crate::oracle::{device, numbers};
use crate::runs::{adapter, curve, fails, made, refused, succeeds};
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
    let mut half = whole.clone();
    half.lower_precision(Precision::Bf16Weights).unwrap();
    assert_eq!(
        half.base_digest().unwrap(),
        whole.base_digest().unwrap(),
        "an adapter still belongs to its base"
    );
    let rows = [ids(1, 20), ids(2, 12)];
    let batch = Batch::left_padded(whole.config(), &rows, 0).unwrap();
    let logits = |model: &CausalLm| numbers(model.forward(&batch, ForwardOptions::EVALUATION));
    let far = apart(&logits(&half), &logits(&whole));
    assert!(far > 1e-5 && far < 0.08, "{far}");

    for by_block in [false, true] {
        let pass = ForwardOptions::training(0).with_gradient_checkpointing(by_block);
        let (found, expected) = (
            accumulated_step(&half, pass),
            accumulated_step(&whole, pass),
        );
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
    let mut half = model();
    half.lower_precision(Precision::Bf16Weights).unwrap();
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
    assert!(message.contains("bf16"), "{message}");
    assert!(!adapter(&folder.path().join("grpo")).is_empty());
    refused(&format!("{sft} --full --output-dir {}", at("full")));
    let file = folder.path().join("options.json");
    std::fs::write(&file, r#"{"full": true}"#).unwrap();
    let message = fails(&format!(
        "{sft} --config {} --output-dir {}",
        file.display(),
        at("full")
    ));
    assert!(
        message.contains("bf16") && message.contains("full"),
        "{message}"
    );
}
