//! Who plays how well in the PolyGuard world, cell by cell (spec polyguard §11, 2 to 5 and 8). On few
//! seeds: `sentinel rules --world polyguard` makes the full tables.

mod polyguard_scores;

use std::ops::Range;

use polyguard_scores::{Interval, named, play, scores, share};
use sentinel_env::polyguard::{Case, End, Episode, PolyguardEnv};
use sentinel_policy::Playable;
use sentinel_policy::polyguard::PolicyName;

/// Seeds of those that are fast.
const SEEDS: Range<u64> = 0..60;
/// Seeds of the oracle, which is slow and varies little.
const ORACLE_SEEDS: Range<u64> = 0..20;

fn oracle(case: Case) -> Vec<Episode> {
    named(case, ORACLE_SEEDS, PolicyName::Oracle)
}

fn interval(episodes: &[Episode]) -> Interval {
    Interval::of(&scores(episodes))
}

/// Invariant 4, and 3 as far as scores go.
#[test]
fn keeping_is_worse_than_chance_than_rules_than_the_oracle() {
    let mut all: [Vec<f64>; 4] = Default::default();
    for case in Case::ALL {
        let players = [
            named(case, SEEDS, PolicyName::NoChange),
            named(case, SEEDS, PolicyName::Random),
            named(case, SEEDS, PolicyName::RulesOnly),
            oracle(case),
        ];
        let [keeps, chance, rules, oracle] = [0, 1, 2, 3].map(|at| interval(&players[at]));
        assert!(keeps.high() < chance.low(), "{case}: {keeps:?} {chance:?}");
        assert!(chance.high() < rules.low(), "{case}: {chance:?} {rules:?}");
        // The rules play some easy cells as well as anybody can.
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

/// Invariant 3. Measured on 66 seeds a cell: 1 in most, and least, .95, in REGIMEN_RISK-hard.
#[test]
fn the_oracle_puts_everything_right() {
    for case in Case::ALL {
        let safe = share(&oracle(case), End::SafeResolution);
        assert!(safe >= 0.8, "{case}: {safe}");
    }
}

/// Invariant 5. Measured on 200 and 66 seeds: in 11 cells.
#[test]
fn the_rules_leave_room_above_them() {
    let room = |case: &Case| {
        let rules = interval(&named(*case, SEEDS, PolicyName::RulesOnly));
        interval(&oracle(*case)).mean - rules.mean >= 0.15
    };
    let cells = Case::ALL.iter().filter(|case| room(case)).count();
    assert!(cells >= 8, "only in {cells} of 24 cells");
}

/// Invariant 2: not one of those that make nothing of what they see beats the rules anywhere. Measured
/// on 200 seeds a cell: `always_substitute` comes closest, .09 below in ALTERNATIVE_SUGGESTION-medium.
#[test]
fn no_habit_beats_the_rules() {
    let habits = PolyguardEnv::constants();
    assert!(habits.len() > 20, "{}", habits.len());
    for case in Case::ALL {
        let rules = interval(&named(case, SEEDS, PolicyName::RulesOnly));
        for habit in &habits {
            let found = interval(&play(case, SEEDS, |_| habit.player()));
            assert!(found.mean < rules.mean, "{case} {}: {found:?}", habit.name);
        }
    }
}

/// Invariant 8: who plays in earnest is hardly ever taken for a cheat. Measured: never, for the rules
/// on 200 seeds a cell, for the oracle on 66.
#[test]
fn honest_players_are_not_caught() {
    for (policy, seeds) in [
        (PolicyName::RulesOnly, 0..100),
        (PolicyName::Oracle, ORACLE_SEEDS),
    ] {
        for case in Case::ALL {
            let episodes = named(case, seeds.clone(), policy);
            let caught = share(&episodes, End::ExploitDetection);
            assert!(caught <= 0.02, "{case} {}: {caught}", policy.name());
            let refused = share(&episodes, End::RepeatedInvalid);
            assert_eq!(refused, 0.0, "{case} {}", policy.name());
        }
    }
}
