//! Compares the reference's policies of the cluster world with scores measured on the reference.

use sentinel_env::cluster::{Setup, Task};
use sentinel_env::num::round_to;
use sentinel_env::rng::Streams;
use sentinel_policy::cluster::{EpisodeRow, PolicyName, run_episode};

/// Mean of the rounded scores of 30 episodes per task, seeds 0..29 (spec cluster §11), for task1,
/// task2, task3 and all of them.
const TABLE: [(PolicyName, [f64; 4]); 4] = [
    (PolicyName::Random, [0.1118, 0.1327, 0.0397, 0.0947]),
    (PolicyName::Blind, [0.2033, 0.2133, 0.0573, 0.1580]),
    (PolicyName::Trust, [0.1976, 0.2040, 0.1058, 0.1691]),
    (PolicyName::OracleLite, [0.2169, 0.2244, 0.1113, 0.1842]),
];

fn rows(policy: PolicyName, task: Task, seeds: u64) -> Vec<EpisodeRow> {
    let play = |seed| {
        let mut player = policy.player(seed, Streams::Reference);
        let setup = Setup::new(task, seed, Streams::Reference);
        EpisodeRow::from_run(policy.name(), &run_episode(&setup, &mut player))
    };
    (0..seeds).map(play).collect()
}

fn mean(scores: &[f64]) -> f64 {
    round_to(scores.iter().sum::<f64>() / scores.len() as f64, 4)
}

#[test]
fn scores_match_reference_table() {
    for (policy, expected) in TABLE {
        let scores = Task::ALL.map(|task| {
            let rows = rows(policy, task, 30);
            rows.iter().map(|row| row.score).collect::<Vec<f64>>()
        });
        let means = [&scores[0], &scores[1], &scores[2]].map(|scores| mean(scores));
        assert_eq!(means, expected[..3], "{}", policy.name());
        assert_eq!(mean(&scores.concat()), expected[3], "{}", policy.name());
    }
}

#[test]
fn scores_match_reference_default_run() {
    let expected = [0.0383, 0.0590, 0.1087, 0.1087];
    for (policy, expected) in PolicyName::ALL.into_iter().zip(expected) {
        let scores: Vec<f64> = rows(policy, Task::Task3, 20)
            .iter()
            .map(|row| row.score)
            .collect();
        assert_eq!(mean(&scores), expected, "{}", policy.name());
    }
}

/// With independent streams every episode runs to its end, and the oracle still beats the random
/// policy.
#[test]
fn oracle_beats_random_on_independent_streams() {
    let score = |policy: PolicyName| {
        let play = |seed| {
            let mut player = policy.player(seed, Streams::Independent);
            let setup = Setup::new(Task::Task3, seed, Streams::Independent);
            run_episode(&setup, &mut player).episode().tally().score()
        };
        (0..30).map(play).sum::<f64>()
    };
    assert!(score(PolicyName::OracleLite) > score(PolicyName::Random));
}

#[test]
fn policy_names_parse_and_mark_privileged_policies() {
    for policy in PolicyName::ALL {
        assert_eq!(PolicyName::parse(policy.name()), Some(policy));
        let cheats = matches!(policy, PolicyName::OracleLite | PolicyName::Oracle);
        assert_eq!(policy.is_privileged(), cheats);
        assert!(!policy.describe().is_empty());
    }
    assert_eq!(PolicyName::parse("heuristic"), None);
}
