//! Training with the plain matrices against training with burn: the same updates within rounding.

use sentinel_compact::parameter_tensors::DefaultTensor;
use sentinel_compact::plain::{Cpu, Matrix};
use sentinel_compact::{Error, Learn, Method, Sequential, Tensor, TrainConfig, Trainer};
use sentinel_env::cluster::ClusterEnv;
use sentinel_env::polyguard::PolyguardEnv;
use sentinel_env::trust::TrustEnv;
use sentinel_policy::nn::Weights;
use sentinel_policy::trust::learned::Pooling;
use sentinel_rl::credit_options::Credit;
use sentinel_tensor::device::cpu;

/// The largest difference of a parameter after an update, relative to the largest parameter. With
/// `Pooling::Max` rounding can decide which of two nearly equal rows gets a gradient.
const TOLERANCE: f32 = 1e-5;

/// A way to train: GRPO by a kind of credit, or imitation.
const WAYS: [(Method, Credit); 3] = [
    (Method::Grpo, Credit::Step),
    (Method::Grpo, Credit::Episode),
    (Method::Imitation, Credit::Step),
];

fn config<W: Learn>((method, credit): (Method, Credit)) -> TrainConfig {
    TrainConfig {
        credit,
        episodes_per_update: 6,
        num_generations: 4,
        max_steps: 5,
        seed: 2,
        hidden: 16,
        beta: 0.04,
        weight_decay: 0.01,
        // With the default a step has the same size however small its gradient is, so that the
        // rounding of a gradient near 0 would decide about its direction.
        adam_epsilon: 1e-4,
        ..TrainConfig::preset::<W>(method, true)
    }
}

/// Returns all weights after each of the updates of a run.
fn updates<W: Learn, T: Tensor>(
    config: &TrainConfig,
    device: &T::Device,
) -> Result<Vec<Vec<f32>>, Error> {
    let start = Weights::init(W::net(config), config.seed);
    let mut trainer = Trainer::<W, T>::on_device(config.clone(), start, device)?;
    let mut all = Vec::new();
    while !trainer.finished() {
        let metrics = trainer.update(&Sequential)?;
        assert!(metrics["grad_norm"] > 0.0, "{metrics:?}");
        let values = trainer.weights().iter().flat_map(|(_, values)| values);
        all.push(values.copied().collect());
    }
    Ok(all)
}

/// Compares the weights after one and after all updates, and two runs of the plain matrices.
fn compare<W: Learn>(config: &TrainConfig) -> Result<(), Error> {
    let of_burn = updates::<W, DefaultTensor>(config, &cpu())?;
    let plain = updates::<W, Matrix>(config, &Cpu)?;
    let again = updates::<W, Matrix>(config, &Cpu)?;
    assert!(plain == again, "the bits differ on repetition");
    for (update, (theirs, ours)) in (1..).zip(of_burn.iter().zip(&plain)) {
        let largest = theirs
            .iter()
            .fold(0.0_f32, |max, value| max.max(value.abs()));
        let pairs = theirs.iter().zip(ours);
        let difference = pairs.fold(0.0_f32, |max, (a, b)| max.max((a - b).abs()));
        let tolerance = match config.pooling {
            Pooling::Max => 1_000.0 * TOLERANCE,
            _ => TOLERANCE,
        };
        assert!(
            difference <= tolerance * largest,
            "{:?} {:?} {:?}, update {update}: {difference} of {largest}",
            config.method,
            config.credit,
            config.pooling,
        );
    }
    Ok(())
}

#[test]
fn trust_updates_match_burn() -> Result<(), Error> {
    for way in WAYS {
        for pooling in [Pooling::None, Pooling::Mean, Pooling::Max] {
            compare::<TrustEnv>(&TrainConfig {
                pooling,
                ..config::<TrustEnv>(way)
            })?;
        }
    }
    Ok(())
}

#[test]
fn cluster_updates_match_burn() -> Result<(), Error> {
    for way in WAYS {
        compare::<ClusterEnv>(&TrainConfig {
            episodes_per_update: 2,
            ..config::<ClusterEnv>(way)
        })?;
    }
    Ok(())
}

#[test]
fn polyguard_updates_match_burn() -> Result<(), Error> {
    for way in WAYS {
        compare::<PolyguardEnv>(&config::<PolyguardEnv>(way))?;
    }
    Ok(())
}
