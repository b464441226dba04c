//! Tests the order of the cluster world's policies, and that policies that ignore observations
//! score badly.

use sentinel_env::cluster::{ClusterEnv, Rules, Setup, Task};
use sentinel_env::rng::Streams;
use sentinel_policy::cluster::{Player, PolicyName};
use sentinel_policy::rollout::run_score;
use sentinel_policy::{Playable, Scripted};

/// Returns the mean score of each task.
fn mean(
    rules: Rules,
    streams: Streams,
    seeds: std::ops::Range<u64>,
    player: impl Fn(&Setup) -> Player,
) -> [f64; 3] {
    Task::ALL.map(|task| {
        let score = |seed| {
            let setup = Setup::new(task, seed, streams).with_rules(rules);
            run_score::<ClusterEnv>(&setup, &mut player(&setup))
        };
        let count = seeds.clone().count() as f64;
        seeds.clone().map(score).sum::<f64>() / count
    })
}

fn scripted(rules: Rules, policy: PolicyName, seeds: std::ops::Range<u64>) -> [f64; 3] {
    mean(rules, Streams::Independent, seeds, |setup| {
        policy.start(setup)
    })
}

/// The planner scores at least the required .237 on these episodes, where `oracle_lite` scores
/// .186.
#[test]
fn planner_and_oracle_lite_scores_match_recorded_means() {
    let play = |policy: PolicyName| {
        let tasks = mean(Rules::REFERENCE, Streams::Reference, 1000..1020, |setup| {
            policy.start(setup)
        });
        tasks.iter().sum::<f64>() / 3.0
    };
    let (planner, oracle_lite) = (play(PolicyName::Planner), play(PolicyName::OracleLite));
    assert!((planner - 0.2477).abs() < 1e-4, "{planner}");
    assert!((oracle_lite - 0.1858).abs() < 1e-4, "{oracle_lite}");
}

#[test]
fn hardened_rules_rank_planner_above_trust_above_random() {
    let seeds = 5000..5060;
    let of = |policy| scripted(Rules::HARDENED, policy, seeds.clone());
    let (random, trust, planner) = (
        of(PolicyName::Random),
        of(PolicyName::Trust),
        of(PolicyName::Planner),
    );
    for task in 0..3 {
        assert!(random[task] < trust[task], "{random:?} {trust:?}");
        assert!(trust[task] < planner[task], "{trust:?} {planner:?}");
    }
    for constant in ClusterEnv::constants() {
        let scores = mean(Rules::HARDENED, Streams::Independent, seeds.clone(), |_| {
            constant.player()
        });
        for task in 0..3 {
            assert!(scores[task] < trust[task], "{}: {scores:?}", constant.name);
        }
    }
}

/// Looking ahead in the true episode never scores worse than the planner that it starts from.
#[test]
fn oracle_scores_at_least_planner() {
    for rules in [Rules::REFERENCE, Rules::HARDENED] {
        let seeds = 5000..5002;
        let planner = scripted(rules, PolicyName::Planner, seeds.clone());
        let oracle = scripted(rules, PolicyName::Oracle, seeds);
        for task in 0..3 {
            assert!(
                oracle[task] >= planner[task],
                "{rules}: {oracle:?} {planner:?}"
            );
        }
    }
}
