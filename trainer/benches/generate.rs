//! The generation speed of a small Qwen2 in f32: 16 prompts of 128 tokens, completions of 32. Its
//! shape (5 million parameters) is the one for which figures of transformers and TRL are known.
#![allow(missing_docs)]

use burn::tensor::Device;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use sentinel_language::grpo::{Objective, Sample, accumulate};
use sentinel_lm::{
    AdamOptions, CausalLm, ForwardOptions, GenerateOptions, GenerationDefaults, Lora, LoraConfig,
    ModelConfig, ModelType, Optimizer, TrainedPart,
};
use sentinel_rl::config::LossConfig;
use sentinel_run::distributed::ProcessGroup;

/// The same allocator as in the program.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const ROWS: u32 = 16;
const PROMPT: u32 = 128;
const COMPLETION: usize = 32;

fn config() -> ModelConfig {
    ModelConfig {
        model_type: ModelType::Qwen2,
        vocab_size: 4096,
        hidden_size: 256,
        intermediate_size: 896,
        num_hidden_layers: 4,
        num_attention_heads: 4,
        num_key_value_heads: 2,
        head_dim: None,
        max_position_embeddings: 512,
        rope_theta: 1e6,
        rope_scaling: None,
        rms_norm_eps: 1e-6,
        tie_word_embeddings: true,
        initializer_range: 0.02,
    }
}

/// Returns [`ROWS`] prompts, `different` of them distinct, with equal ones next to each other.
fn prompts(different: u32) -> Vec<Vec<u32>> {
    let prompt =
        |row: u32| (0..PROMPT).map(move |at| (row * different / ROWS * 97 + at * 31) % 4096);
    (0..ROWS).map(|row| prompt(row).collect()).collect()
}

fn generate(c: &mut Criterion) {
    let mut model = CausalLm::initialize(config(), 0, &Device::flex()).expect("a valid shape");
    let options = GenerateOptions::new(COMPLETION, &GenerationDefaults::default(), 0);
    let mut group = c.benchmark_group("generate");
    group.sample_size(10);
    group.throughput(Throughput::Elements(u64::from(ROWS) * COMPLETION as u64));
    for (name, different) in [
        ("16 prompts", 16),
        ("4 groups of 4", 4),
        ("2 groups of 8", 2),
    ] {
        let prompts = prompts(different);
        group.bench_function(name, |b| {
            b.iter(|| {
                model
                    .generate(&prompts, &options)
                    .expect("prompts that fit")
            });
        });
    }
    Lora::attach(&mut model, LoraConfig::default(), 0).expect("valid options");
    let prompts = prompts(16);
    group.bench_function("16 prompts, LoRA", |b| {
        b.iter(|| {
            model
                .generate(&prompts, &options)
                .expect("prompts that fit")
        });
    });
    group.finish();
}

/// Benchmarks the training part of a GRPO step with 4 groups of 4 completions of 32 tokens: all
/// weights or LoRA, in micro-batches of 16 (with and without checkpointing) or 4.
fn step(c: &mut Criterion) {
    let mut model = CausalLm::initialize(config(), 0, &Device::flex()).expect("a valid shape");
    let token = |row: u32, at: u32| (row * 53 + at * 17) % 4096;
    let samples: Vec<Sample> = (prompts(4).into_iter().zip(0..))
        .map(|(prompt, row)| Sample {
            prompt,
            completion: (0..COMPLETION as u32).map(|at| token(row, at)).collect(),
            advantage: f64::from(row % 4) - 1.5,
            ..Sample::default()
        })
        .collect();
    let samples: Vec<&Sample> = samples.iter().collect();
    let objective = Objective {
        loss: LossConfig::default(),
        temperature: 1.0,
        num_items: 512.0,
        pad: 0,
    };
    let mut group = c.benchmark_group("step");
    group.sample_size(10);
    for lora in [false, true] {
        model.set_trained_part(TrainedPart::Everything);
        if lora {
            Lora::attach(&mut model, LoraConfig::default(), 0).expect("valid options");
        }
        for (micro, by_block) in [(16, false), (16, true), (4, false)] {
            let what = if lora { "LoRA" } else { "full" };
            let kept = if by_block { "checkpointed" } else { "whole" };
            group.bench_function(format!("{what}, {micro} rows, {kept}"), |b| {
                let mut optimizer = Optimizer::new(&AdamOptions::default());
                let pass = ForwardOptions::training(0).with_gradient_checkpointing(by_block);
                b.iter(|| {
                    let found = accumulate(
                        &model,
                        &samples,
                        micro,
                        &objective,
                        pass,
                        &ProcessGroup::default(),
                    );
                    let grads = found.expect("samples that fit").grads;
                    optimizer.step(&mut model, grads, 1e-9).expect("a device")
                });
            });
        }
    }
    group.finish();
}

criterion_group!(benches, generate, step);
criterion_main!(benches);
