//! Nothing hidden reaches the agent's view.

use sentinel_env::polyguard::{Episode, Formulary, Issue, PolyguardEnv, Rules, Setup, TaskSpec};
use sentinel_env::{Environment as _, PrivilegedState as _};
use sentinel_page_engine::{Engine, PageWorld as _};
use sentinel_page_protocol::{Layout, Reply};
use sentinel_policy::polyguard::PolicyName;
use serde_json::Value;

use crate::common::{ask, played, run_of, views, views_of_equal_observations_are_equal};
use crate::{origin, request, shown};

/// Returns all texts of a view.
fn texts(view: &impl serde::Serialize) -> Vec<String> {
    fn collect(value: &Value, out: &mut Vec<String>) {
        match value {
            Value::String(text) => out.push(text.clone()),
            Value::Array(all) => all.iter().for_each(|value| collect(value, out)),
            Value::Object(all) => all.values().for_each(|value| collect(value, out)),
            _ => {}
        }
    }
    let mut out = Vec::new();
    collect(&serde_json::to_value(view).expect("a view"), &mut out);
    out
}

/// Returns episodes with the same observation and other hidden state.
fn other_worlds(episode: &Episode) -> Vec<Episode> {
    let hidden = || episode.hidden().clone();
    let ids: Vec<_> = episode.observation().formulary().ids().collect();
    let mut labs = hidden();
    let (egfr, others) = labs.labs.split_first_mut().expect("five values");
    *egfr = 100.0 - *egfr;
    others.iter_mut().for_each(|value| *value += 3.0);
    let mut tolerance = hidden();
    tolerance.intolerant = Some(ids[7]);
    tolerance.adherence = 1.7 - tolerance.adherence;
    let mut culprit = hidden();
    let suspects = episode.observation().regimen.iter();
    let suspects = suspects.filter(|row| row.prior > 0 && row.drug.archetype() != culprit.culprit);
    culprit.culprit = suspects
        .map(|row| row.drug.archetype())
        .next_back()
        .flatten();
    let mut product = hidden();
    product.components = product.components.map(|[a, _]| [a, ids[9]]);
    let mut conditions = hidden();
    conditions.needed = episode.observation().patient.comorbidities;
    let all = [
        labs,
        tolerance,
        culprit,
        product,
        conditions,
        hidden().with_truths(|truth| truth.needed = !truth.needed),
        hidden().with_truths(|truth| truth.kappa *= 1.07),
        hidden().with_issues([Issue::Sign]),
        hidden().with_issues([Issue::Info, Issue::Dose(ids[0]), Issue::Culprit(ids[1])]),
    ];
    let other = |hidden| episode.clone().with_hidden(hidden);
    all.map(other).into_iter().collect()
}

/// Checks that policies that see only observations play the same in episodes that look the same.
#[test]
fn views_do_not_depend_on_hidden_state() {
    let (mut equal, mut beyond_start) = (0, 0);
    for (number, task) in TaskSpec::ALL.into_iter().enumerate() {
        for seed in [3, 4] {
            let rules = [Rules::REFERENCE, Rules::HARDENED][number % 2];
            let setup = Setup::new(task, seed).with_rules(rules);
            let episode = Episode::reset(&setup);
            for policy in [
                PolicyName::Random,
                PolicyName::RulesOnly,
                PolicyName::KeepRegimen,
                PolicyName::StackReplan,
            ] {
                let run = |episode: &Episode| {
                    played(episode.clone(), Some(PolyguardEnv::actor(policy, &setup)))
                };
                let one = run(&episode.clone().with_hidden(episode.hidden().clone()));
                for other in other_worlds(&episode) {
                    let other = run(&other);
                    let views = views_of_equal_observations_are_equal(&one, &other);
                    equal += views;
                    beyond_start += usize::from(views > 1);
                }
            }
        }
    }
    assert!(equal > 3000 && beyond_start > 700, "{equal} {beyond_start}");
}

#[test]
fn score_of_a_running_episode_is_the_mean_reward() {
    let origin = origin(TaskSpec::ALL[4], 9);
    let (views, _) = shown(&origin, "rules_only");
    let mut sum = 0.0;
    for (steps, view) in views.iter().enumerate().skip(1) {
        sum += view.reward.expect("after a step");
        let mean = sum / steps as f64;
        assert!(
            view.done || (view.score - mean).abs() < 1e-12,
            "step {steps}"
        );
    }
    assert!(views.len() > 3);
}

/// Checks that the agent's views, step lines and charts contain no hidden facts and no codes.
#[test]
fn words_of_views_are_public_and_readable() {
    let codes: Vec<&str> = [Formulary::extended(), Formulary::reference()]
        .into_iter()
        .flat_map(|formulary| formulary.archetypes())
        .map(|archetype| archetype.name.as_str())
        .chain(["new_drug", "cand_", "egfr"])
        .collect();
    for task in TaskSpec::ALL {
        for policy in ["random", "stack_debate", "no_change"] {
            let mut engine = Engine::<PolyguardEnv>::default();
            let replies = ask(&mut engine, request(&origin(task, 6), policy, None));
            let update = run_of(&replies);
            assert!(!replies.iter().any(|reply| matches!(reply, Reply::Truth(_))));
            let mut readable = Vec::new();
            for mut view in views(update) {
                for text in texts(&view) {
                    for word in ["true", "truth", "issue", "exposure", "withheld", "hidden"] {
                        let told = text == view.terms_note;
                        let lower = text.to_lowercase();
                        assert!(told || !lower.contains(word), "{task} {policy}: {text}");
                    }
                }
                // Codes stand in keys and in explanations only.
                for panel in &mut view.panels {
                    if let Layout::Graph(edges) = &mut panel.layout {
                        edges.iter_mut().for_each(|edge| {
                            edge.from.clear();
                            edge.to.clear();
                        });
                    }
                    panel.cards.iter_mut().for_each(|card| {
                        card.key.clear();
                        card.help.clear();
                    });
                }
                readable.extend(texts(&view));
            }
            readable.extend(update.steps.iter().flat_map(texts));
            readable.extend(update.charts.iter().flat_map(texts));
            for text in readable {
                for code in &codes {
                    assert!(!text.contains(code), "{task} {policy}: {text}");
                }
            }
        }
    }
}
