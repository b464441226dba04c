//! How fast a small Qwen2 writes: 16 prompts of 128 tokens, completions of 32, f32. The shape is the
//! one whose figures for transformers and TRL are known: 5 million parameters.
#![allow(missing_docs)]

use burn::tensor::Device;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use sentinel_trainer::lm::{
    GenerateOptions, GenerationDefaults, Lora, LoraConfig, ModelConfig, Qwen2,
};

const ROWS: u32 = 16;
const PROMPT: u32 = 128;
const COMPLETION: usize = 32;

fn config() -> ModelConfig {
    ModelConfig {
        vocab_size: 4096,
        hidden_size: 256,
        intermediate_size: 896,
        num_hidden_layers: 4,
        num_attention_heads: 4,
        num_key_value_heads: 2,
        max_position_embeddings: 512,
        rope_theta: 1e6,
        rms_norm_eps: 1e-6,
        tie_word_embeddings: true,
        initializer_range: 0.02,
    }
}

/// Prompts, of which so many are different.
fn prompts(different: u32) -> Vec<Vec<u32>> {
    let prompt = |row: u32| (0..PROMPT).map(move |at| (row % different * 97 + at * 31) % 4096);
    (0..ROWS).map(|row| prompt(row).collect()).collect()
}

fn generate(c: &mut Criterion) {
    let mut model = Qwen2::initialise(config(), 0, &Device::flex()).expect("a valid shape");
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

criterion_group!(benches, generate);
criterion_main!(benches);
