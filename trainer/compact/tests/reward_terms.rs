//! Training without a term of the reward: what changes, what does not, and which names are refused.

use sentinel_compact::plain::{Cpu, Matrix};
use sentinel_compact::{Error, Learn, Method, Sequential, TrainConfig, Trainer};
use sentinel_env::World;
use sentinel_env::cluster::ClusterEnv;
use sentinel_env::polyguard::PolyguardEnv;
use sentinel_env::trust::TrustEnv;
use sentinel_policy::nn::Weights;
use sentinel_rl::Metrics;
use sentinel_rl::credit_options::Credit;

const CREDITS: [Credit; 4] = [
    Credit::Episode,
    Credit::RewardToGo,
    Credit::Step,
    Credit::SingleStep,
];

fn config<W: Learn>(task: &str, credit: Credit, term: &str) -> TrainConfig {
    TrainConfig {
        task: task.to_owned(),
        rules: "hardened".to_owned(),
        credit,
        without_reward_term: term.to_owned(),
        episodes_per_update: 6,
        num_generations: 4,
        hidden: 8,
        ..TrainConfig::preset::<W>(Method::Grpo, true)
    }
}

/// Returns the bits of all weights and the metrics after an update.
fn train<W: Learn>(config: TrainConfig) -> Result<(Vec<u32>, Metrics), Error> {
    let start = Weights::init(W::net(&config), config.seed);
    let mut trainer = Trainer::<W, Matrix>::on_device(config, start, &Cpu)?;
    let metrics = trainer.update(&Sequential)?;
    let values = trainer.weights().iter().flat_map(|(_, values)| values);
    Ok((values.map(|value| value.to_bits()).collect(), metrics))
}

/// Checks that a term changes the weights, but not the logged reward, which is the whole one.
fn check_terms<W: Learn>(task: &str) -> Result<(), Error> {
    for credit in CREDITS {
        let (whole, logged) = train::<W>(config::<W>(task, credit, ""))?;
        for term in W::REWARD_TERMS {
            // The reward of a step, which is what this credit counts, does not have the end of an episode.
            if credit == Credit::SingleStep && ["ending", "calibration"].contains(&term.name) {
                continue;
            }
            let (weights, metrics) = train::<W>(config::<W>(task, credit, term.name))?;
            let name = (W::NAME, credit, term.name);
            assert_eq!(metrics["reward"], logged["reward"], "{name:?}");
            // A fresh policy of six episodes need not believe poison or exploit anything.
            if !["poison", "exploits"].contains(&term.name) {
                assert_ne!(weights, whole, "{name:?}");
            }
        }
    }
    Ok(())
}

#[test]
fn terms_change_weights_but_not_the_logged_reward() -> Result<(), Error> {
    check_terms::<TrustEnv>("task3")?;
    check_terms::<ClusterEnv>("task1")?;
    check_terms::<PolyguardEnv>("DDI-easy-train")
}

/// Checks that a term without weight changes no bit: task2 of the trust world does not grade verification.
#[test]
fn term_of_weight_zero_changes_nothing() -> Result<(), Error> {
    for credit in CREDITS {
        let whole = train::<TrustEnv>(config::<TrustEnv>("task2", credit, ""))?;
        let without = train::<TrustEnv>(config::<TrustEnv>("task2", credit, "verification"))?;
        assert!(whole == without, "{credit:?}");
    }
    Ok(())
}

#[test]
fn unknown_terms_and_methods_without_reward_are_refused() {
    let refusal = |config: &TrainConfig| {
        let error = config.check::<TrustEnv>().expect_err("it is refused");
        error.to_string()
    };
    let unknown = refusal(&config::<TrustEnv>("task1", Credit::Step, "poisson"));
    for term in TrustEnv::REWARD_TERMS {
        assert!(unknown.contains(term.name), "{unknown}");
    }
    for method in [Method::Imitation, Method::ExpertIteration] {
        let config = TrainConfig {
            without_reward_term: "poison".to_owned(),
            ..TrainConfig::preset::<TrustEnv>(method, true)
        };
        let text = refusal(&config);
        assert!(text.contains("without_reward_term"), "{text}");
    }
}

/// Checks that the options of a run with the whole reward are written as before.
#[test]
fn whole_reward_is_not_written_to_files() {
    let text = |term| serde_json::to_string(&config::<TrustEnv>("task1", Credit::Step, term));
    let (whole, without) = (text("").expect("JSON"), text("poison").expect("JSON"));
    assert!(!whole.contains("without_reward_term"));
    assert!(without.contains(r#""without_reward_term":"poison""#));
    let read: TrainConfig = serde_json::from_str(&without).expect("options");
    assert_eq!(read.without_reward_term, "poison");
}
