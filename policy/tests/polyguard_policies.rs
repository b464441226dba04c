//! Tests of the polyguard world's policies by name: they are deterministic, do not cheat, and the
//! fitted ones beat the random policy.

use sentinel_env::Environment;
use sentinel_env::polyguard::{EndReason, Episode, PolyguardEnv, Rules, Setup, Split, TaskSpec};
use sentinel_env::rng::Streams;
use sentinel_policy::policy::Player;
use sentinel_policy::polyguard::{
    Bandit, ExplorationRule, Imitation, ImitationPolicy, PolicyName, fit_bandit, fit_imitation,
    oracle_choices,
};
use sentinel_policy::rollout::run_steps;

/// Seeds that no policy is fitted on.
const SEEDS: std::ops::Range<u64> = 1_000_000..1_000_010;

/// Plays the episodes of all cases of a split, one case after the other.
fn play(split: Split, mut player: impl FnMut(u64) -> Player<PolyguardEnv>) -> Vec<Episode> {
    let mut all = Vec::new();
    for case in TaskSpec::ALL {
        let case = case.with_split(split).expect("the extended formulary");
        for seed in SEEDS {
            let mut player = player(seed);
            let setup = Setup::new(case, seed).with_rules(Rules::HARDENED);
            let act = |episode: &Episode| player.act(episode);
            all.push(run_steps::<PolyguardEnv>(&setup, act, |_, _| ()));
        }
    }
    all
}

fn named(policy: PolicyName) -> Vec<Episode> {
    play(Split::All, |seed| policy.player(seed, Streams::Independent))
}

fn mean(episodes: &[Episode]) -> f64 {
    let scores: f64 = episodes.iter().map(Episode::score).sum();
    scores / episodes.len() as f64
}

fn share(episodes: &[Episode], end: EndReason) -> f64 {
    let with = episodes.iter().filter(|e| e.observation().end == Some(end));
    with.count() as f64 / episodes.len() as f64
}

#[test]
fn policies_parse_by_name_and_are_deterministic() {
    let scores = |policy| -> Vec<f64> { named(policy).iter().map(Episode::score).collect() };
    for policy in PolicyName::ALL {
        assert_eq!(PolicyName::parse(policy.name()), Some(policy));
        assert!(!policy.describe().is_empty());
        assert_eq!(scores(policy), scores(policy), "{}", policy.name());
    }
    assert_eq!(PolicyName::parse("llm-only"), None);
}

#[test]
fn observing_policies_are_rarely_flagged_as_exploits() {
    use PolicyName::{KeepRegimen, LeastRisk, Random};
    for policy in PolicyName::ALL {
        if [Random, KeepRegimen, LeastRisk].contains(&policy) {
            continue;
        }
        let episodes = named(policy);
        let caught = share(&episodes, EndReason::ExploitDetection);
        assert!(caught <= 0.02, "{} {caught}", policy.name());
        let refused = share(&episodes, EndReason::RepeatedInvalid);
        assert_eq!(refused, 0.0, "{}", policy.name());
    }
}

#[test]
fn observing_policies_beat_random_but_not_oracle() {
    use PolicyName::{KeepRegimen, Oracle, Random};
    let chance = mean(&named(Random));
    let oracle = mean(&named(Oracle));
    assert!(mean(&named(KeepRegimen)) < chance);
    for policy in PolicyName::ALL {
        let score = mean(&named(policy));
        assert!(score <= oracle, "{} {score}", policy.name());
        if ![Random, KeepRegimen, PolicyName::LeastRisk].contains(&policy) {
            assert!(score > chance + 0.02, "{} {score} {chance}", policy.name());
        }
    }
}

#[test]
fn fitted_policies_beat_random_and_improve_with_data() {
    let chance = mean(&play(Split::Train, |seed| {
        PolicyName::Random.player(seed, Streams::Independent)
    }));
    for rule in [ExplorationRule::LinUcb, ExplorationRule::Thompson] {
        let learned = fit_bandit(rule, 0..480);
        let score = mean(&play(Split::Train, |seed| {
            Player::Public(Box::new(
                Bandit::from_fit(&learned, seed).expect("statistics"),
            ))
        }));
        assert!(score > chance + 0.05, "{rule:?} {score} {chance}");
    }
    let imitates = |count| {
        let model = fit_imitation(&(0..count), &oracle_choices(0..count));
        mean(&play(Split::Train, |_| {
            Player::Public(Box::new(ImitationPolicy::new(model.weights)))
        }))
    };
    let (few, many) = (imitates(2), imitates(480));
    assert!(
        many > few + 0.02 && many > chance + 0.1,
        "{few} {many} {chance}"
    );
}

/// Exponentials differ in the last bit between targets, so the weights are compared with a
/// tolerance.
#[test]
fn builtin_imitation_matches_fresh_fit() {
    let builtin = Imitation::builtin();
    let seeds = builtin.provenance.seeds();
    let again = fit_imitation(&seeds, &oracle_choices(seeds.clone()));
    assert_eq!(builtin.decisions, again.decisions);
    assert_eq!(builtin.provenance, again.provenance);
    for (builtin, again) in builtin.weights.iter().zip(again.weights) {
        assert!((builtin - again).abs() < 1e-6, "fit the policies again");
    }
}
