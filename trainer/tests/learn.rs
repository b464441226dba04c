//! The trainer as a library: every method takes steps, and imitation learns to play.

use sentinel_policy::learned::Weights;
use sentinel_trainer::compact::config::{Advantage, Method, TrainConfig};
use sentinel_trainer::compact::evaluate::evaluate;
use sentinel_trainer::compact::trainer::Trainer;

/// A short run in the library, for what the command line does not show.
fn short(change: impl Fn(&mut TrainConfig)) -> Trainer {
    let mut config = TrainConfig {
        hidden: 8,
        max_steps: 3,
        groups_per_update: 6,
        num_generations: 4,
        ..TrainConfig::default()
    };
    change(&mut config);
    let start = Weights::init(config.net(), config.seed);
    Trainer::new(config, start).expect("a valid configuration")
}

/// Every way to reckon advantages and every loss moves the weights, and says finite numbers.
#[test]
fn every_method_takes_steps() {
    let losses = [
        "grpo", "bnpo", "dr_grpo", "dapo", "cispo", "sapo", "luspo", "vespo",
    ];
    let advantages = [Advantage::Episode, Advantage::RewardToGo, Advantage::Step];
    let mut runs = Vec::new();
    for loss in losses {
        let loss = serde_json::from_value(loss.into()).expect("a loss");
        runs.extend(advantages.map(|advantage| (Method::Grpo, advantage, loss, 0.04)));
    }
    runs.push((Method::Sft, Advantage::Step, runs[0].2, 0.0));
    for (method, advantage, loss, beta) in runs {
        let mut trainer = short(|config| {
            (config.method, config.advantage) = (method, advantage);
            (config.loss_type, config.beta) = (loss, beta);
        });
        let before = trainer.weights().clone();
        while !trainer.finished() {
            let metrics = trainer.update().expect("an update");
            assert!(metrics["reward"] > 0.0 && metrics["grad_norm"] > 0.0);
            assert_eq!(metrics.contains_key("kl"), method == Method::Grpo);
        }
        assert_ne!(
            &before,
            trainer.weights(),
            "{method:?} {advantage:?} {loss:?}"
        );
    }
}

/// It learns: a short imitation of the exact posterior plays far better than fresh weights.
#[test]
fn imitation_learns_to_play() {
    let mut trainer = short(|config| {
        config.method = Method::Sft;
        config.hidden = 16;
        config.max_steps = 40;
        config.groups_per_update = 12;
        config.learning_rate = 0.01;
    });
    let seeds = "5000..5020".parse().expect("a range");
    let before = evaluate(trainer.weights(), seeds).overall;
    while !trainer.finished() {
        trainer.update().expect("an update");
    }
    let after = evaluate(trainer.weights(), seeds).overall;
    assert!(
        after > before + 0.05 && after > 0.80,
        "{before} before, {after} after"
    );
}
