//! Tests of detailed prompts: they state what follows from the observations.
#![allow(
    clippy::unwrap_used,
    reason = "a test stops at the first thing that is not there"
)]

use sentinel_env::Named;
use sentinel_env::cluster::{self, ClusterEnv};
use sentinel_env::polyguard::{self, PolyguardEnv, TaskSpec};
use sentinel_env::rng::Streams;
use sentinel_env::slot::Slot;
use sentinel_env::trust::{self, TrustEnv};
use sentinel_policy::polyguard::PolicyName;
use sentinel_policy::text::{ParserStrictness, PromptState, PromptStyle, TextWorld};

/// Returns the probabilities that `line` states, `NAME 0.40`, for each of the names.
fn stated_posterior(line: &str, names: &[&str]) -> Vec<f64> {
    let words: Vec<&str> = line.split(' ').collect();
    let after = |name: &&str| {
        let at = words.iter().position(|word| word == name);
        at.map_or(0.0, |at| words[at + 1].parse().unwrap())
    };
    names.iter().map(after).collect()
}

/// Plays `policy` and checks that the slots of each detailed prompt state a distribution. Returns the
/// number of lines, and of those that are certain of a behavior.
fn assert_posteriors_of_slots<W: TextWorld>(
    setups: &[W::Setup],
    policy: &str,
    names: &[&str],
) -> (usize, usize) {
    let (mut lines, mut certain) = (0, 0);
    for setup in setups {
        let mut state = PromptState::<W>::new(setup);
        let mut player = state.player(W::PolicyName::parse(policy).unwrap());
        while let Some(action) = player.act(state.episode()) {
            let prompt = state.prompt(PromptStyle::Detailed);
            for slot in Slot::ALL {
                let line = prompt.lines().find(|line| line.starts_with(slot.name()));
                let stated = stated_posterior(line.unwrap(), names);
                assert!((stated.iter().sum::<f64>() - 1.0).abs() < 0.03, "{prompt}");
                lines += 1;
                certain += usize::from(stated.iter().any(|p| *p > 0.99));
            }
            state.step(action).unwrap();
        }
    }
    (lines, certain)
}

/// A detailed prompt states the posterior over each slot, which becomes certain of some.
#[test]
fn detailed_prompt_states_posterior_of_slots() {
    let names = [
        "accurate",
        "overconfident",
        "bound",
        "adversarial",
        "degrading",
    ];
    let setups =
        trust::Task::ALL.map(|task| trust::Setup::new(task, 100_000, Streams::Independent));
    let (lines, certain) = assert_posteriors_of_slots::<TrustEnv>(&setups, "bayes", &names);
    assert!(certain > lines / 10 && certain < lines, "{certain}/{lines}");
    let setups =
        cluster::Task::ALL.map(|task| cluster::Setup::new(task, 100_000, Streams::Independent));
    let names = cluster::Behavior::NAMES;
    let (lines, certain) = assert_posteriors_of_slots::<ClusterEnv>(&setups, "planner", names);
    assert!(certain > lines / 10 && certain < lines, "{certain}/{lines}");
    let setup = trust::Setup::new(trust::Task::Task1, 1, Streams::Independent);
    let prompt = PromptState::<TrustEnv>::new(&setup).prompt(PromptStyle::Compact);
    assert!(!prompt.contains("accurate"), "{prompt}");
}

/// A detailed prompt of PolyGuard states the probability of each suspect, and the medicines of a
/// flagged serious pair.
#[test]
fn detailed_prompt_of_polyguard_states_culprits_and_pairs() {
    let (mut suspects, mut pairs) = (0, 0);
    for (task, seed) in TaskSpec::ALL.into_iter().zip(100_000..) {
        let state = PromptState::<PolyguardEnv>::new(&polyguard::Setup::new(task, seed));
        let (o, prompt) = (state.observation(), state.prompt(PromptStyle::Detailed));
        let of_medicine = |word: &str| {
            let lines = prompt.lines().skip(3);
            lines.filter(|line| line.contains(word)).count()
        };
        let with_symptom = o.symptom.is_some();
        assert_eq!(of_medicine(" culprit ") > 0, with_symptom, "{prompt}");
        suspects += usize::from(with_symptom);
        if o.has_serious_flag() {
            assert!(of_medicine(" serious ") > 0, "{prompt}");
            pairs += 1;
        }
    }
    assert!(suspects > 0 && pairs > 0, "{suspects} {pairs}");
}

/// The completion of a detailed prompt is read back as the same action, and names the act in the words of
/// the line whose id it gives.
#[test]
fn completion_of_polyguard_states_the_act_of_its_candidate() {
    for (task, seed) in TaskSpec::ALL.into_iter().zip(100_000..) {
        let mut state = PromptState::<PolyguardEnv>::new(&polyguard::Setup::new(task, seed));
        let mut player = state.player(PolicyName::parse("random").unwrap());
        while let Some(action) = player.act(state.episode()) {
            let (o, prompt) = (state.observation(), state.prompt(PromptStyle::Detailed));
            for action in PolyguardEnv::legal_actions(o) {
                let text = PolyguardEnv::format_action(PromptStyle::Detailed, o, action);
                let parsed =
                    PolyguardEnv::parse_action(ParserStrictness::Strict, &text, o).unwrap();
                assert_eq!(parsed.action, action, "{text}");
                let decisive = PolyguardEnv::decisive_prefix(&text);
                assert_eq!(
                    Some(decisive),
                    text.split(r#"","confidence""#).next(),
                    "{text}"
                );
                let row: serde_json::Value = serde_json::from_str(&text).unwrap();
                let id = row["candidate_id"].as_str().unwrap();
                let line = prompt.lines().find(|line| line.ends_with(id)).unwrap();
                let act = line
                    .rsplit_once(": ")
                    .unwrap()
                    .1
                    .split(" = ")
                    .next()
                    .unwrap();
                assert!(
                    row["rationale"].as_str().unwrap().starts_with(act),
                    "{line}\n{text}"
                );
            }
            state.step(action).unwrap();
        }
    }
}
