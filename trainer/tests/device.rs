//! Training on a GPU, or on software Vulkan: the same as on the processor.
//!
//! Not part of the usual build, which would take some ten minutes longer:
//! `cargo test --release -p sentinel-trainer --features wgpu --test device`, or on CUDA
//! `SENTINEL_TEST_DEVICE=cuda cargo test --release -p sentinel-trainer --features cuda --test device`.
#![cfg(any(feature = "wgpu", feature = "cuda"))]

use sentinel_compact::config::TrainConfig;
use sentinel_compact::learn::Learn;
use sentinel_compact::run::Threads;
use sentinel_compact::trainer::Trainer;
use sentinel_env::trust::TrustEnv;
use sentinel_policy::nn::Weights;
use sentinel_policy::trust::learned::TrustNet;
use sentinel_tensor::device::DeviceName;

/// Returns the weights after a few updates.
fn trained(device: DeviceName) -> Weights<TrustNet> {
    let config = TrainConfig {
        device,
        hidden: 16,
        max_steps: 5,
        episodes_per_update: 12,
        num_generations: 4,
        num_iterations: 1,
        mini_batches: 2,
        ..TrainConfig::default()
    };
    let start = Weights::init(TrustEnv::net(&config), config.seed);
    let mut trainer = Trainer::<TrustEnv>::new(config, start).expect("a device of this build");
    while !trainer.finished() {
        trainer.update(&Threads).expect("an update");
    }
    trainer.weights().clone()
}

#[test]
fn device_training_matches_cpu() {
    let name = std::env::var("SENTINEL_TEST_DEVICE").unwrap_or_else(|_| "wgpu".to_owned());
    let device: DeviceName = name.parse().expect("the name of a device");
    let (cpu, gpu) = (trained(DeviceName::Cpu), trained(device));
    let fresh = Weights::init(*cpu.config(), 1);
    let distance = |a: &Weights<TrustNet>, b: &Weights<TrustNet>| {
        let pairs = (a.iter().flat_map(|(_, v)| v)).zip(b.iter().flat_map(|(_, v)| v));
        pairs.map(|(a, b)| (a - b).abs()).fold(0.0_f32, f32::max)
    };
    let moved = distance(&cpu, &fresh);
    let apart = distance(&cpu, &gpu);
    assert!(moved > 5e-3, "training moved the weights by {moved} only");
    // Products of f32 are in TF32 on CUDA: 3.3e-4 on an H200.
    let allowed = if device == DeviceName::Cuda {
        1e-3
    } else {
        1e-4
    };
    assert!(
        apart < allowed,
        "the devices are {apart} apart, of {moved} moved"
    );
}
