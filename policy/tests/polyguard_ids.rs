//! Tests that candidate ids reveal nothing: a policy that reads only ids is no better than chance
//! (spec polyguard §11, 6). The first id is public: it always keeps the regimen.

use sentinel_env::Environment;
use sentinel_env::PrivilegedState;
mod polyguard_scores;

use std::ops::Range;

use polyguard_scores::{By, Interval, named, play, scores};
use sentinel_env::polyguard::{
    Action, CandidateId, Choice, Episode, Observation, PolyguardEnv, Rules, Setup, TaskSpec,
};
use sentinel_policy::Playable;
use sentinel_policy::policy::Player;
use sentinel_policy::polyguard::PolicyName;
use sentinel_policy::polyguard::policy_stream;

const SEEDS: Range<u64> = 0..100;
/// Largest difference that spec polyguard §11, 6 allows.
const ROOM: f64 = 0.05;

fn by(
    choose: impl FnMut(&Observation) -> Option<CandidateId> + Send + 'static,
) -> Player<PolyguardEnv> {
    Player::Public(Box::new(By(choose)))
}

/// Returns the `n`-th candidate after the first, modulo their number.
fn nth(o: &Observation, n: usize) -> Option<CandidateId> {
    let others = o.candidates.count().saturating_sub(1).max(1);
    o.candidates.iter().nth(1 + n % others).map(|c| c.id)
}

/// Choices by place alone: the last, the first, the middle, in rotation, and in reverse rotation.
const ORDERS: [fn(&Observation) -> usize; 5] = [
    |o| o.candidates.count().saturating_sub(2),
    |_| 0,
    |o| o.candidates.count() / 2,
    |o| o.history.len(),
    |o| 100 - 3 * o.history.len(),
];

/// Returns the score differences of two players over the same seeds.
fn differences(a: &[Episode], b: &[Episode]) -> Vec<f64> {
    let pairs = scores(a).into_iter().zip(scores(b));
    pairs.map(|(a, b)| a - b).collect()
}

/// Candidates are shuffled, so any fixed order is as good as a random choice.
#[test]
fn fixed_candidate_order_scores_like_random_choice() {
    let mut all = vec![Vec::new(); ORDERS.len()];
    for case in TaskSpec::ALL {
        let drawn = play(case, SEEDS, |seed| {
            let mut stream = policy_stream(seed);
            by(move |o| {
                nth(
                    o,
                    stream.below(o.candidates.count().saturating_sub(1).max(1)),
                )
            })
        });
        for (at, order) in ORDERS.iter().enumerate() {
            let ordered = play(case, SEEDS, |_| by(|o| nth(o, order(o))));
            let found = differences(&ordered, &drawn);
            let mean = Interval::of(&found);
            let beyond = mean.low() > ROOM || mean.high() < -ROOM;
            assert!(!beyond, "{case}, order {at}: {mean:?}");
            all[at].extend(found);
        }
    }
    // Over all cases the interval is narrow: half of its width is about .01.
    for (at, found) in all.iter().enumerate() {
        let mean = Interval::of(found);
        assert!(mean.mean.abs() < 0.02, "order {at}: {mean:?}");
    }
}

/// Compares fixed ids with a random policy that may also keep. An id that is not shown is replaced
/// by the first, and keeping scores worse than chance: `cand_10` is .37 below it in DDI-easy.
/// Therefore only the upper side is tested.
#[test]
fn fixed_candidate_id_is_not_better_than_random() {
    for case in TaskSpec::ALL {
        let chance = named(case, SEEDS, PolicyName::Random);
        let ids = PolyguardEnv::constants();
        let ids = ids.iter().filter(|c| c.name.starts_with("always_cand_"));
        let mut tried = 0;
        for id in ids {
            let found = differences(&play(case, SEEDS, |_| id.player()), &chance);
            let mean = Interval::of(&found);
            assert!(mean.low() <= ROOM, "{case} {}: {mean:?}", id.name);
            tried += 1;
        }
        assert_eq!(tried, 9);
    }
}

/// Returns Kendall's correlation of places and values: the number of pairs in order minus that of
/// pairs out of order, divided by all pairs. Equal values count as neither, so the mean is 0 if
/// places are random.
fn correlation(values: &[f64]) -> f64 {
    let mut sum = 0.0;
    for (at, value) in values.iter().enumerate() {
        for later in &values[at + 1..] {
            sum += f64::from(u8::from(later > value)) - f64::from(u8::from(later < value));
        }
    }
    let pairs = values.len() * (values.len() - 1) / 2;
    sum / pairs as f64
}

/// A permutation test: neither the true risk after a candidate nor the reward of its step
/// correlates with its place.
#[test]
fn candidate_position_does_not_predict_risk_or_reward() {
    let (mut risks, mut totals) = (Vec::new(), Vec::new());
    for case in TaskSpec::ALL {
        for seed in 0..30 {
            let mut episode = Episode::reset(&Setup::new(case, seed).with_rules(Rules::HARDENED));
            let mut stream = policy_stream(seed);
            while !episode.observation().done() {
                let shown = episode.observation().candidates.clone();
                let (mut risk, mut total) = (Vec::new(), Vec::new());
                for candidate in shown.iter().skip(1) {
                    let mut tried = episode.clone();
                    let step = tried.step(Action::Choose(Choice::new(candidate.id)));
                    let step = step.expect("the episode runs");
                    risk.push(tried.hidden().risk);
                    total.push(step.info.total);
                }
                let differs = |values: &[f64]| values.iter().any(|value| *value != values[0]);
                if risk.len() > 2 && differs(&risk) {
                    risks.push(correlation(&risk));
                }
                if total.len() > 2 && differs(&total) {
                    totals.push(correlation(&total));
                }
                let id = nth(episode.observation(), stream.below(9));
                let act = Action::with_grounded_rationale(
                    episode.observation(),
                    id.unwrap_or(CandidateId::FIRST),
                );
                episode.step(act).expect("the episode runs");
            }
        }
    }
    assert!(risks.len() > 2_000, "{} states", risks.len());
    for found in [Interval::of(&risks), Interval::of(&totals)] {
        // Half of the interval is about .007. Without the shuffle the first mean is -.076.
        assert!(found.mean.abs() < 0.02, "{found:?}");
    }
}
