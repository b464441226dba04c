//! The model of the trained policy follows the rules of the episode, of the tournament and of the analysis.

mod common;

use common::{ask, deferred, repository, run_of};
use sentinel_env::cluster::ClusterEnv;
use sentinel_env::polyguard::PolyguardEnv;
use sentinel_env::rules::{RuleChange as _, Rules};
use sentinel_env::trust::TrustEnv;
use sentinel_env::{EpisodeSpec, TaskName as _};
use sentinel_page_engine::world::{VISITOR, weights_path, world_info};
use sentinel_page_engine::{Engine, PageWorld};
use sentinel_page_protocol::{DeferredReply, EpisodeRef, Reply, Request, TournamentSpec};
use sentinel_policy::nn::{Model, TrainedPolicy};
use sentinel_policy::policy::Player;
use sentinel_policy::rollout::run_episode;
use std::sync::Arc;

/// Returns the sets of rules that each model plays under: the set itself, and the same with one other
/// change.
fn rules_of_models<W: PageWorld>() -> [[Rules<W::Change>; 2]; 2] {
    let change = W::Change::ALL[0];
    let (reference, hardened) = (Rules::REFERENCE, Rules::HARDENED);
    [
        [reference, reference.with(change)],
        [hardened, hardened.without(change)],
    ]
}

fn episode<W: PageWorld>(rules: Rules<W::Change>) -> EpisodeRef {
    EpisodeRef {
        task: W::default_task().name().to_owned(),
        seed: 3,
        streams: "independent".to_owned(),
        rules: rules.to_string(),
    }
}

fn request<W: PageWorld>(run: u32, rules: Rules<W::Change>, player: &str) -> Request {
    Request::Play {
        run,
        episode: episode::<W>(rules),
        player: player.to_owned(),
        branch: None,
        watched: false,
    }
}

/// Returns the paths of the models that the engine asks for.
fn needed(replies: &[Reply]) -> Vec<String> {
    let path = |reply: &Reply| match reply {
        Reply::Need(path) if path.ends_with(".safetensors") => Some(path.clone()),
        _ => None,
    };
    replies.iter().filter_map(path).collect()
}

fn deliver<W: PageWorld>(engine: &mut Engine<W>, path: &str) -> Vec<Reply> {
    let request = Request::File {
        name: path.to_owned(),
        content: Ok(repository(path)),
        dropped: false,
    };
    ask(engine, request)
}

/// Returns the score of an episode that a model plays outside the page.
fn native_score<W: PageWorld>(folder: &str, rules: Rules<W::Change>) -> f64 {
    let model = Model::<W::Net>::from_bytes(&repository(&weights_path(folder)));
    let policy = TrainedPolicy::new(Arc::new(model.expect("a model")));
    let spec = EpisodeSpec::<W> {
        rules,
        ..EpisodeSpec::new(W::default_task(), 3)
    };
    let mut player = Player::Public(Box::new(policy));
    run_episode(&spec.setup(), &mut player).episode().score()
}

fn model_follows_the_rules<W: PageWorld>() {
    for (all, folder) in rules_of_models::<W>().into_iter().zip(W::MODELS) {
        let path = weights_path(folder);
        for rules in all {
            let at = format!("{} {rules}", W::NAME);
            let mut engine = Engine::<W>::default();
            let replies = ask(&mut engine, request::<W>(1, rules, "grpo"));
            // Only the model that plays is fetched.
            assert_eq!(needed(&replies), std::slice::from_ref(&path), "{at}");
            let note = &run_of(&replies).source_note;
            assert!(note.starts_with(&format!("Loading {path}…")), "{at}");
            let replies = deliver(&mut engine, &path);
            let played = run_of(&replies);
            assert!(played.done, "{at}: {}", played.source_note);
            let last = common::views(played).last().expect("a frame").score;
            assert_eq!(last, native_score::<W>(folder, rules), "{at}");

            let mut engine = Engine::<W>::default();
            ask(&mut engine, request::<W>(1, rules, VISITOR));
            let analyze = Request::Analyze {
                run: 1,
                start: true,
                part: 0,
                parts: 1,
            };
            assert_eq!(
                needed(&ask(&mut engine, analyze)),
                std::slice::from_ref(&path),
                "{at}"
            );

            let spec = TournamentSpec {
                tasks: vec![W::default_task().name().to_owned()],
                players: vec!["grpo".to_owned()],
                first_seed: 3,
                seeds: 1,
                streams: "independent".to_owned(),
                rules: rules.to_string(),
                ..TournamentSpec::default()
            };
            let mut engine = Engine::<W>::default();
            let replies = ask(&mut engine, Request::Tournament { run: 1, spec });
            assert_eq!(needed(&replies), std::slice::from_ref(&path), "{at}");
            let replies = deferred(&deliver(&mut engine, &path));
            let Some(DeferredReply::Standings(found)) = replies.last() else {
                panic!("{at}: {replies:?}");
            };
            assert!((found.placements[0].mean - last).abs() < 5.1e-5, "{at}");
        }
    }
}

#[test]
fn trained_policy_follows_the_rules() {
    model_follows_the_rules::<TrustEnv>();
    model_follows_the_rules::<ClusterEnv>();
    model_follows_the_rules::<PolyguardEnv>();
}

/// The published rules are named as such, and a run says what is wrong with them while the
/// change that closes the loophole is off.
fn loophole_is_named<W: PageWorld>(closed_by: &str) {
    let published = &world_info::<W>().rules[0];
    assert_eq!(published.label, "Rules as published");
    assert!(published.help.ends_with('.') && published.help.matches('.').count() < 3);
    for (rules, is_open) in [
        ("reference", true),
        ("hardened", false),
        (&format!("reference+{closed_by}"), false),
        (&format!("hardened-{closed_by}"), true),
    ] {
        let mut engine = Engine::<W>::default();
        let rules = Rules::parse(rules).expect("rules");
        let replies = ask(&mut engine, request::<W>(1, rules, "random"));
        let loophole = &run_of(&replies).loophole;
        let named = if is_open { published.help.as_str() } else { "" };
        assert_eq!(loophole, named, "{rules}");
    }
}

#[test]
fn loophole_of_the_published_rules_is_named() {
    loophole_is_named::<TrustEnv>("known_liar");
    loophole_is_named::<ClusterEnv>("detections");
    loophole_is_named::<PolyguardEnv>("gated");
}

/// Runs under different rules do not wait for each other's model, and their notes name the rules.
fn models_play_beside_each_other<W: PageWorld>() {
    let [reference, hardened] = W::MODELS.map(weights_path);
    let mut engine = Engine::<W>::default();
    ask(&mut engine, request::<W>(1, Rules::REFERENCE, "grpo"));
    ask(&mut engine, request::<W>(2, Rules::HARDENED, "grpo"));
    let replies = deliver(&mut engine, &hardened);
    let second = run_of(&replies);
    assert_eq!(second.run, 2);
    let note = &second.source_note;
    assert!(note.contains("trained under hardened rules"), "{note}");
    let replies = deliver(&mut engine, &reference);
    let first = run_of(&replies);
    assert_eq!(first.run, 1);
    let note = &first.source_note;
    assert!(note.contains("trained under reference rules"), "{note}");
    // Both stay: another visit of either asks for nothing.
    for rules in [Rules::REFERENCE, Rules::HARDENED] {
        let replies = ask(&mut engine, request::<W>(1, rules, "grpo"));
        assert!(needed(&replies).is_empty() && run_of(&replies).done);
    }
}

#[test]
fn models_of_both_rules_play_beside_each_other() {
    models_play_beside_each_other::<TrustEnv>();
    models_play_beside_each_other::<ClusterEnv>();
}

/// The policy that was trained in the tab is not called a file that the visitor dropped.
#[test]
fn the_policy_of_the_tab_is_named_as_such() {
    for (file, label, source) in [
        (
            "tab.safetensors",
            "Trained in this tab",
            "trained in this tab",
        ),
        ("mine.safetensors", "Your trained model “mine”", "dropped"),
    ] {
        let mut engine = Engine::<TrustEnv>::default();
        let content = repository("replays/grpo/model.safetensors");
        let replies = common::drop_file(&mut engine, file, &content);
        let info = replies.iter().rev().find_map(|reply| match reply {
            Reply::World(info) => Some(info),
            _ => None,
        });
        let players = &info.expect("a description with the model").players;
        let found = players
            .iter()
            .find(|player| player.name.starts_with("model:"));
        let found = found.expect("the model is a player");
        assert_eq!(found.label, label);
        assert!(found.help.contains(source), "{}", found.help);
    }
}
