//! Measures the time of learning of an update, without playing: with burn and with plain matrices.
//!
//! `cargo run --release -p sentinel-compact --example learning_time`

#![allow(clippy::print_stdout)]

use std::time::Instant;

use sentinel_compact::optimizer::Optimizer;
use sentinel_compact::parameter_tensors::{DefaultTensor, ParameterTensors};
use sentinel_compact::plain::{Cpu, Matrix};
use sentinel_compact::step::{StepOptions, step};
use sentinel_compact::{Error, Learn, Method, Sequential, Tensor, TrainConfig, grpo};
use sentinel_env::cluster::ClusterEnv;
use sentinel_env::polyguard::PolyguardEnv;
use sentinel_env::trust::TrustEnv;
use sentinel_policy::nn::{Architecture as _, Weights};
use sentinel_tensor::device::cpu;

/// The number of updates that are timed.
const REPEATS: usize = 9;

/// Returns the median time in milliseconds of the optimizer steps of an update.
fn median<W: Learn, T: Tensor>(
    config: &TrainConfig,
    collected: &grpo::Collected<W>,
    device: &T::Device,
) -> Result<f64, Error> {
    let start = Weights::init(W::net(config), config.seed);
    let mut net = ParameterTensors::<W::Net, T>::new(&start, device);
    let mut optimizer = Optimizer::<T>::new(&config.adam(), W::net(config).shapes().len());
    let options = StepOptions {
        belief_coef: config.belief_coef,
        learning_rate: config.learning_rate,
    };
    let loss = config.loss(0);
    let all: Vec<usize> = (0..collected.batch.sequences.len()).collect();
    let part = all.len().div_ceil(config.mini_batches);
    let mut times = Vec::new();
    for _ in 0..REPEATS {
        let begun = Instant::now();
        for _ in 0..config.num_iterations {
            for rows in all.chunks(part) {
                step(
                    &mut net,
                    &mut optimizer,
                    &options,
                    &collected.batch,
                    rows,
                    |tokens, logps, entropies| grpo::loss(&loss, tokens, logps, entropies),
                )?;
            }
        }
        times.push(begun.elapsed().as_secs_f64() * 1000.0);
    }
    times.sort_by(f64::total_cmp);
    Ok(times[REPEATS / 2])
}

fn measure<W: Learn>() -> Result<(), Error> {
    let config = TrainConfig::preset::<W>(Method::Grpo, true);
    let start = Weights::init(W::net(&config), config.seed);
    let begun = Instant::now();
    let indices = 0..config.episodes_per_update as u64;
    let played = grpo::play::<W>(&Sequential, &config, &start, 0, indices)?;
    let playing = begun.elapsed().as_secs_f64() * 1000.0;
    let collected = grpo::collect(&config, None, 0, played)?;
    println!(
        "{}: {} samples, {playing:.0} ms playing",
        W::NAME,
        collected.batch.samples.len()
    );
    for _ in 0..2 {
        let of_burn = median::<W, DefaultTensor>(&config, &collected, &cpu())?;
        let plain = median::<W, Matrix>(&config, &collected, &Cpu)?;
        println!("  learning: burn {of_burn:.1} ms, plain {plain:.1} ms");
    }
    Ok(())
}

fn main() -> Result<(), Error> {
    measure::<TrustEnv>()?;
    measure::<ClusterEnv>()?;
    measure::<PolyguardEnv>()
}
