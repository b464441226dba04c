//! The workers that are handed to an algorithm do not change its results.

use sentinel_compact::{
    Error, Learn, Method, Scores, Sequential, Threads, TrainConfig, Trainer, Workers, evaluate,
};
use sentinel_env::trust::TrustEnv;
use sentinel_policy::nn::Weights;
use sentinel_rl::Metrics;

/// Returns the bits of all weights, the metrics and the scores after two short updates.
fn train(
    method: Method,
    workers: &impl Workers,
) -> Result<(Vec<u32>, Vec<Metrics>, Scores), Error> {
    let config = TrainConfig {
        episodes_per_update: 12,
        num_generations: 4,
        max_steps: 2,
        hidden: 8,
        beta: 0.04,
        lookahead_rollouts: 2,
        ..TrainConfig::preset::<TrustEnv>(method, true)
    };
    let (rules, tasks) = (config.rules::<TrustEnv>()?, config.selected::<TrustEnv>()?);
    let start = Weights::init(TrustEnv::net(&config), config.seed);
    let mut trainer = Trainer::<TrustEnv>::new(config, start)?;
    let mut metrics = Vec::new();
    while !trainer.finished() {
        metrics.push(trainer.update(workers)?);
    }
    let seeds = sentinel_options::SeedRange::new(5_000, 5_010);
    let scores = evaluate::<TrustEnv>(workers, trainer.weights(), rules, &tasks, seeds);
    let values = trainer.weights().iter().flat_map(|(_, values)| values);
    Ok((
        values.map(|value| value.to_bits()).collect(),
        metrics,
        scores,
    ))
}

#[test]
fn updates_do_not_depend_on_workers() -> Result<(), Error> {
    for method in [Method::Grpo, Method::Imitation, Method::ExpertIteration] {
        let alone = train(method, &Sequential)?;
        let in_parallel = train(method, &Threads)?;
        assert!(
            alone == in_parallel,
            "{method:?}: {alone:?} {in_parallel:?}"
        );
        assert!(alone.1.iter().all(|metrics| metrics["grad_norm"] > 0.0));
    }
    Ok(())
}
