//! The engine of the trust world.

mod common;

use common::{
    ask, codes_replay_the_run, deferred, episode_ref, played, policies_play_as_natively, run_of,
    truth_of, truths, unknown_words_are_named, views, views_of_equal_observations_are_equal,
};
use sentinel_env::rng::Streams;
use sentinel_env::rules::Rules;
use sentinel_env::trust::{Behavior, Episode, Setup, Task, TrustEnv};
use sentinel_env::{Environment as _, EpisodeSpec, PrivilegedState as _};
use sentinel_page_engine::Engine;
use sentinel_page_engine::actor::PolicyActor;
use sentinel_page_protocol::{DeferredReply, Reply, Request, TournamentSpec};
use sentinel_policy::trust::PolicyName;

fn origin(task: Task, seed: u64) -> EpisodeSpec<TrustEnv> {
    EpisodeSpec {
        task,
        seed,
        streams: Streams::Independent,
        rules: Rules::REFERENCE,
    }
}

fn play(engine: &mut Engine<TrustEnv>, origin: &EpisodeSpec<TrustEnv>, player: &str) -> Vec<Reply> {
    let request = Request::Play {
        run: 1,
        episode: episode_ref(origin),
        player: player.to_owned(),
        branch: None,
        watched: false,
    };
    ask(engine, request)
}

#[test]
fn policies_play_in_the_page_as_natively() {
    for task in Task::ALL {
        policies_play_as_natively(origin(task, 42));
    }
    policies_play_as_natively(EpisodeSpec {
        rules: Rules::HARDENED,
        ..origin(Task::Task3, 7)
    });
}

#[test]
fn codes_of_a_run_replay_it() {
    for player in ["random", "bayes", "heuristic"] {
        codes_replay_the_run(origin(Task::Task3, 5), player);
    }
}

#[test]
fn words_that_make_no_sense_are_named_and_defaults_play() {
    unknown_words_are_named::<TrustEnv>();
}

/// Every assignment of behaviors is tried against the true one, with a policy that sees
/// observations only.
#[test]
fn views_do_not_depend_on_hidden_state() {
    let mut equal = 0;
    for seed in 0..40 {
        for rules in [Rules::REFERENCE, Rules::HARDENED] {
            let setup = Setup::new(Task::Task3, seed, Streams::Independent).with_rules(rules);
            let episode = Episode::reset(&setup);
            for shift in 1..5 {
                let mut behaviors = episode.hidden().assignment.0;
                behaviors.rotate_left(shift);
                let hidden = episode.hidden().with_assignment(behaviors);
                let other = episode.with_hidden(hidden);
                for policy in [PolicyName::Heuristic, PolicyName::Random, PolicyName::Bayes] {
                    let run = |episode: &Episode| {
                        let player = policy.player(setup.seed, setup.streams);
                        played(*episode, Some(Box::new(PolicyActor(player))))
                    };
                    equal += views_of_equal_observations_are_equal(&run(&episode), &run(&other));
                }
            }
        }
    }
    assert!(equal > 1000, "only {equal} views were compared");
}

#[test]
fn hidden_state_is_sent_only_while_it_is_asked_for() {
    let mut engine = Engine::<TrustEnv>::default();
    let origin = origin(Task::Task3, 3);
    let replies = play(&mut engine, &origin, "heuristic");
    assert!(!replies.iter().any(|reply| matches!(reply, Reply::Truth(_))));
    let views = views(run_of(&replies));
    let words = format!("{views:?}");
    for behavior in Behavior::ALL {
        assert!(!words.contains(behavior.name()), "{}", behavior.name());
    }
    let replies = ask(&mut engine, Request::ShowTruth { run: 1, show: true });
    assert!(!views.iter().any(|view| view.remark.contains("poison")));
    let truths = truths(truth_of(&replies));
    assert_eq!(truths.len(), views.len());
    assert!(
        truths
            .iter()
            .all(|truth| truth.notes.iter().filter(|note| note.unmask).count() == 1)
    );
    let replies = ask(
        &mut engine,
        Request::ShowTruth {
            run: 1,
            show: false,
        },
    );
    assert!(replies.is_empty(), "{replies:?}");
}

/// Checks that the means equal those of `sentinel eval` on the same seeds.
#[test]
fn tournament_means_are_those_of_the_evaluation() {
    let mut engine = Engine::<TrustEnv>::default();
    let players = ["random", "heuristic", "oracle_lite"]
        .map(str::to_owned)
        .to_vec();
    let spec = TournamentSpec {
        tasks: vec!["task1".to_owned()],
        players,
        first_seed: 0,
        seeds: 30,
        streams: "reference".to_owned(),
        rules: "reference".to_owned(),
        ..TournamentSpec::default()
    };
    let replies = ask(&mut engine, Request::Tournament { run: 9, spec });
    let replies = deferred(&replies);
    let Some(DeferredReply::Standings(standings)) = replies.last() else {
        panic!("no standings in {replies:?}");
    };
    assert_eq!((standings.played, standings.total), (90, 90));
    let means: Vec<(&str, f64)> = standings
        .placements
        .iter()
        .map(|p| (p.player.as_str(), (p.mean * 1e4).round() / 1e4))
        .collect();
    assert_eq!(
        means,
        [
            ("oracle_lite", 0.9011),
            ("heuristic", 0.8504),
            ("random", 0.7635)
        ]
    );
    assert!(
        standings
            .differences
            .iter()
            .all(|d| d.mean < 0.0 && d.half_width > 0.0)
    );
}

#[test]
fn trained_policy_waits_for_its_weights_and_names_a_bad_file() {
    let mut engine = Engine::<TrustEnv>::default();
    let origin = origin(Task::Task1, 1);
    let replies = play(&mut engine, &origin, "grpo");
    let path = "replays/grpo/model.safetensors";
    assert!(replies.contains(&Reply::Need(path.to_owned())));
    assert_eq!(run_of(&replies).steps.len(), 0);
    let file = |content| Request::File {
        name: path.to_owned(),
        content,
        dropped: false,
    };
    let replies = ask(&mut engine, file(Ok(b"<!doctype html>".to_vec())));
    let problem = |reply: &Reply| matches!(reply, Reply::Problem(text) if text.contains(path));
    assert!(replies.iter().any(problem), "{replies:?}");
    let weights = std::fs::read(format!("{}/../../{path}", env!("CARGO_MANIFEST_DIR")));
    play(&mut engine, &origin, "grpo");
    let replies = ask(
        &mut engine,
        file(Ok(weights.expect("the repository's weights"))),
    );
    let update = run_of(&replies);
    assert!(
        update.done && update.source_note.contains("parameters"),
        "{}",
        update.source_note
    );
    let chances = views(update)[0].panels[0].cards[0]
        .buttons
        .iter()
        .map(|b| b.chance)
        .collect::<Vec<_>>();
    assert!(chances.iter().all(Option::is_some), "{chances:?}");
}

#[test]
fn dropped_replay_plays_and_its_bad_lines_are_named() {
    let mut engine = Engine::<TrustEnv>::default();
    let file = format!(
        "{}/../../replays/heuristic-independent.jsonl",
        env!("CARGO_MANIFEST_DIR")
    );
    let mut text = std::fs::read(file).expect("the repository's replay");
    text.extend_from_slice(b"{broken\n");
    let name = "../my replay?.jsonl".to_owned();
    let replies = ask(
        &mut engine,
        Request::File {
            name,
            content: Ok(text),
            dropped: true,
        },
    );
    let replies = deferred(&replies);
    let Some(DeferredReply::Opened(episode)) = replies.last() else {
        panic!("{replies:?}")
    };
    assert_eq!(episode.player, "replay:my replay_");
    assert!(
        replies.iter().any(
            |reply| matches!(reply, DeferredReply::FileProblem(text) if text.contains("line"))
        )
    );
    let replies = ask(
        &mut engine,
        Request::Play {
            run: 1,
            episode: sentinel_page_protocol::EpisodeRef {
                task: episode.task.clone(),
                seed: episode.seed,
                streams: episode.streams.clone(),
                rules: episode.rules.clone(),
            },
            player: episode.player.clone(),
            branch: None,
            watched: false,
        },
    );
    let update = run_of(&replies);
    assert!(
        update.done && update.source_note.contains("0 misses"),
        "{}",
        update.source_note
    );
    assert!(!update.source_warning);
}
