//! Tests the order of policies in the PolyGuard world, case by case (spec polyguard §11, 2 to 5 and
//! 8), on few seeds. `sentinel rules --world polyguard` computes the full tables.

mod polyguard_scores;

use std::ops::Range;

use polyguard_scores::{Interval, named, play, scores, share};
use sentinel_env::polyguard::{EndReason, Episode, PolyguardEnv, TaskSpec};
use sentinel_policy::Playable;
use sentinel_policy::polyguard::PolicyName;

/// Seeds for the fast policies.
const SEEDS: Range<u64> = 0..60;
/// Seeds for the oracle, which is slow and whose scores vary little.
const ORACLE_SEEDS: Range<u64> = 0..20;

fn oracle(case: TaskSpec) -> Vec<Episode> {
    named(case, ORACLE_SEEDS, PolicyName::Oracle)
}

fn interval(episodes: &[Episode]) -> Interval {
    Interval::of(&scores(episodes))
}

/// Invariant 4, and invariant 3 as far as it concerns scores.
#[test]
fn score_order_is_keep_random_rules_oracle() {
    let mut all: [Vec<f64>; 4] = Default::default();
    for case in TaskSpec::ALL {
        let players = [
            named(case, SEEDS, PolicyName::KeepRegimen),
            named(case, SEEDS, PolicyName::Random),
            named(case, SEEDS, PolicyName::RulesOnly),
            oracle(case),
        ];
        let [keeps, chance, rules, oracle] = [0, 1, 2, 3].map(|at| interval(&players[at]));
        assert!(keeps.high() < chance.low(), "{case}: {keeps:?} {chance:?}");
        assert!(chance.high() < rules.low(), "{case}: {chance:?} {rules:?}");
        // The rules solve some easy cases as well as any policy can.
        let most = oracle.mean + 0.02;
        assert!(rules.mean <= most, "{case}: {rules:?} {oracle:?}");
        for (sum, episodes) in all.iter_mut().zip(&players) {
            sum.extend(scores(episodes));
        }
    }
    let all = all.map(|values| Interval::of(&values));
    for (worse, better) in all.iter().zip(&all[1..]) {
        assert!(worse.high() < better.low(), "{worse:?} {better:?}");
    }
}

/// Invariant 3. Measured on 66 seeds per case: 1 in most cases; the lowest is .95, in
/// REGIMEN_RISK-hard.
#[test]
fn oracle_usually_reaches_safe_resolution() {
    for case in TaskSpec::ALL {
        let safe = share(&oracle(case), EndReason::SafeResolution);
        assert!(safe >= 0.8, "{case}: {safe}");
    }
}

/// Invariant 5. Measured on 200 and 66 seeds: it holds in 11 cases.
#[test]
fn oracle_beats_rules_by_margin_in_eight_cells() {
    let room = |case: &TaskSpec| {
        let rules = interval(&named(*case, SEEDS, PolicyName::RulesOnly));
        interval(&oracle(*case)).mean - rules.mean >= 0.15
    };
    let cells = TaskSpec::ALL.iter().filter(|case| room(case)).count();
    assert!(cells >= 8, "only in {cells} of 24 cells");
}

/// Invariant 2: no constant policy beats the rules in any case. Measured on 200 seeds per case:
/// `always_substitute` comes closest, .09 below in ALTERNATIVE_SUGGESTION-medium.
#[test]
fn no_constant_policy_beats_rules() {
    let habits = PolyguardEnv::constants();
    assert!(habits.len() > 20, "{}", habits.len());
    for case in TaskSpec::ALL {
        let rules = interval(&named(case, SEEDS, PolicyName::RulesOnly));
        for habit in &habits {
            let found = interval(&play(case, SEEDS, |_| habit.player()));
            assert!(found.mean < rules.mean, "{case} {}: {found:?}", habit.name);
        }
    }
}

/// Invariant 8: honest policies are almost never reported for cheating. Measured: never, for the
/// rules on 200 seeds per case, and for the oracle on 66.
#[test]
fn honest_policies_are_rarely_flagged_as_exploits() {
    for (policy, seeds) in [
        (PolicyName::RulesOnly, 0..100),
        (PolicyName::Oracle, ORACLE_SEEDS),
    ] {
        for case in TaskSpec::ALL {
            let episodes = named(case, seeds.clone(), policy);
            let caught = share(&episodes, EndReason::ExploitDetection);
            assert!(caught <= 0.02, "{case} {}: {caught}", policy.name());
            let refused = share(&episodes, EndReason::RepeatedInvalid);
            assert_eq!(refused, 0.0, "{case} {}", policy.name());
        }
    }
}
