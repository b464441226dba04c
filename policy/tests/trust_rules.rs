//! Tests that the hardened rules make the trust world worth learning in: better informed policies
//! score higher, and constant policies do not beat the heuristic.

use sentinel_env::rng::Streams;
use sentinel_env::rules::RuleChange as _;
use sentinel_env::trust::{Change, Rules, Setup, Task, TrustEnv};
use sentinel_policy::trust::PolicyName;
use sentinel_policy::{Playable, Player, run_episode};

/// Validation seeds. The figures in `docs/trust-rules.md` are measured on other seeds.
const SEEDS: std::ops::Range<u64> = 5000..5100;

fn mean(task: Task, rules: Rules, player: impl Fn(u64) -> Player<TrustEnv>) -> f64 {
    let score = |seed| {
        let setup = Setup::new(task, seed, Streams::Independent).with_rules(rules);
        run_episode(&setup, &mut player(seed))
            .episode()
            .tally()
            .score()
    };
    SEEDS.map(score).sum::<f64>() / (SEEDS.end - SEEDS.start) as f64
}

fn scripted(task: Task, rules: Rules, policy: PolicyName) -> f64 {
    mean(task, rules, |seed| {
        policy.player(seed, Streams::Independent)
    })
}

#[test]
fn hardened_scores_follow_role_order() {
    let order = TrustEnv::ROLES.in_order();
    for task in Task::ALL {
        let score = |name: &str| {
            let policy = PolicyName::parse(name).expect("every role has its policy");
            scripted(task, Rules::HARDENED, policy)
        };
        let scores = order.map(score);
        assert!(
            scores.windows(2).all(|pair| pair[0] + 0.01 < pair[1]),
            "{task}: {order:?} score {scores:?}"
        );
    }
}

#[test]
fn no_constant_policy_beats_heuristic() {
    for task in Task::ALL {
        let heuristic = scripted(task, Rules::HARDENED, PolicyName::Heuristic);
        let constants = TrustEnv::constants();
        assert_eq!(constants.len(), 12);
        for constant in constants {
            let score = mean(task, Rules::HARDENED, |_| constant.player());
            let name = &constant.name;
            assert!(
                score < heuristic,
                "{task}: {name} {score}, heuristic {heuristic}"
            );
        }
    }
}

/// The exploit of solving every subtask alone, and the change that closes it.
#[test]
fn self_solve_beats_heuristic_only_under_reference_rules() {
    let alone = Rules::REFERENCE.with(Change::SelfSolving);
    for task in Task::ALL {
        let gap = |rules| {
            let solve = scripted(task, rules, PolicyName::SelfSolve);
            solve - scripted(task, rules, PolicyName::Heuristic)
        };
        let (before, after) = (gap(Rules::REFERENCE), gap(alone));
        assert!(before > 0.0, "{task}: {before}");
        let name = Change::SelfSolving.name();
        assert!(after < -0.1, "{task} with {name}: {after}");
    }
}
