//! The trainer as a library: every method takes steps, and imitation learns to play.

use sentinel_compact::config::{Method, TrainConfig};
use sentinel_compact::evaluate::evaluate;
use sentinel_compact::learn::Learn;
use sentinel_compact::run::Threads;
use sentinel_compact::trainer::Trainer;
use sentinel_env::cluster::ClusterEnv;
use sentinel_env::rules::Rules;
use sentinel_env::trust::{Task, TrustEnv};
use sentinel_policy::nn::Weights;
use sentinel_rl::credit_options::Credit;

/// Returns the trainer of a short run, for what the command line does not show.
fn short<W: Learn>(change: impl Fn(&mut TrainConfig)) -> Trainer<W> {
    let mut config = TrainConfig {
        world: W::NAME.to_owned(),
        hidden: 8,
        max_steps: 3,
        episodes_per_update: 6,
        num_generations: 4,
        ..TrainConfig::default()
    };
    change(&mut config);
    let start = Weights::init(W::net(&config), config.seed);
    Trainer::new(config, start).expect("a valid configuration")
}

/// Every estimator of credits and every loss changes the weights and logs finite numbers.
#[test]
fn every_loss_and_credit_changes_trust_weights() {
    let losses = [
        "grpo", "bnpo", "dr_grpo", "dapo", "cispo", "sapo", "luspo", "vespo",
    ];
    let credits = [
        Credit::Episode,
        Credit::RewardToGo,
        Credit::Step,
        Credit::SingleStep,
    ];
    let mut runs = Vec::new();
    for loss in losses {
        let loss = serde_json::from_value(loss.into()).expect("a loss");
        runs.extend(credits.map(|credit| (Method::Grpo, credit, loss, 0.04)));
    }
    runs.push((Method::Imitation, Credit::Step, runs[0].2, 0.0));
    for (method, credit, loss, beta) in runs {
        let mut trainer = short::<TrustEnv>(|config| {
            (config.method, config.credit) = (method, credit);
            (config.loss_type, config.beta) = (loss, beta);
        });
        let before = trainer.weights().clone();
        while !trainer.finished() {
            let metrics = trainer.update(&Threads).expect("an update");
            assert!(metrics["reward"] > 0.0 && metrics["grad_norm"] > 0.0);
            assert_eq!(metrics.contains_key("kl"), method == Method::Grpo);
        }
        assert_ne!(&before, trainer.weights(), "{method:?} {credit:?} {loss:?}");
    }
}

/// A short imitation of the exact posterior plays far better than fresh weights.
#[test]
fn imitation_improves_trust_score() {
    let mut trainer = short::<TrustEnv>(|config| {
        config.method = Method::Imitation;
        config.hidden = 16;
        config.max_steps = 40;
        config.episodes_per_update = 12;
        config.learning_rate = 0.01;
    });
    let seeds = "5000..5020".parse().expect("a range");
    let before = evaluate::<TrustEnv>(
        &Threads,
        trainer.weights(),
        Rules::REFERENCE,
        &Task::ALL,
        seeds,
    )
    .overall;
    while !trainer.finished() {
        trainer.update(&Threads).expect("an update");
    }
    let after = evaluate::<TrustEnv>(
        &Threads,
        trainer.weights(),
        Rules::REFERENCE,
        &Task::ALL,
        seeds,
    )
    .overall;
    assert!(
        after > before + 0.05 && after > 0.80,
        "{before} before, {after} after"
    );
}

/// The cluster world's nine factors are trained by the same code, by every method.
#[test]
fn every_method_changes_cluster_weights() {
    for (method, credit) in [
        (Method::Grpo, Credit::Step),
        (Method::Grpo, Credit::RewardToGo),
        (Method::Imitation, Credit::Step),
    ] {
        let mut trainer = short::<ClusterEnv>(|config| {
            config.rules = "hardened".to_owned();
            config.teacher = "planner".to_owned();
            (config.method, config.credit) = (method, credit);
            (config.max_steps, config.num_generations) = (1, 2);
            (config.episodes_per_update, config.beta) = (3, 0.04);
        });
        let before = trainer.weights().clone();
        let metrics = trainer.update(&Threads).expect("an update");
        assert!(metrics["reward"] > 0.0 && metrics["grad_norm"] > 0.0);
        assert_ne!(&before, trainer.weights(), "{method:?} {credit:?}");
        assert_eq!(trainer.config().world, "cluster");
    }
}

/// Imitation learns in the cluster world too: of the planner under hardened rules.
#[test]
fn imitation_improves_cluster_score() {
    let mut trainer = short::<ClusterEnv>(|config| {
        config.method = Method::Imitation;
        config.rules = "hardened".to_owned();
        config.teacher = "planner".to_owned();
        config.hidden = 16;
        config.max_steps = 12;
        config.episodes_per_update = 6;
        config.learning_rate = 0.01;
    });
    let seeds = "5000..5004".parse().expect("a range");
    let play = |trainer: &Trainer<ClusterEnv>| {
        evaluate::<ClusterEnv>(
            &Threads,
            trainer.weights(),
            Rules::HARDENED,
            &Task::ALL,
            seeds,
        )
        .overall
    };
    let before = play(&trainer);
    while !trainer.finished() {
        trainer.update(&Threads).expect("an update");
    }
    let after = play(&trainer);
    assert!(after > before + 0.1, "{before} before, {after} after");
}
