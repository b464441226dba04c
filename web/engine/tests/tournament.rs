//! Tournaments with replays and dropped models in every world, and tournaments that several engines
//! share.

mod common;

use common::{ask, deferred};
use sentinel_env::cluster::ClusterEnv;
use sentinel_env::polyguard::PolyguardEnv;
use sentinel_env::trust::TrustEnv;
use sentinel_page_engine::world::weights_path;
use sentinel_page_engine::{Engine, PageWorld};
use sentinel_page_protocol::{DeferredReply, Reply, Request, Standings, TournamentSpec, encode};

fn file(path: &str) -> Vec<u8> {
    let path = format!("{}/../../{path}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn words(all: &[&str]) -> Vec<String> {
    all.iter().map(|word| (*word).to_owned()).collect()
}

fn last_standings(replies: &[Reply]) -> Standings {
    let standings = deferred(replies)
        .into_iter()
        .rev()
        .find_map(|reply| match reply {
            DeferredReply::Standings(standings) => Some(standings),
            _ => None,
        });
    standings.unwrap_or_else(|| panic!("no standings in {replies:?}"))
}

/// Plays a tournament with every file that the engine asks for, and returns its results.
fn play<W: PageWorld>(engine: &mut Engine<W>, spec: &TournamentSpec) -> Standings {
    last_standings(&replies(engine, spec.clone()))
}

/// Returns all replies to a tournament that is played with every file that the engine asks for.
fn replies<W: PageWorld>(engine: &mut Engine<W>, spec: TournamentSpec) -> Vec<Reply> {
    let mut replies = ask(engine, Request::Tournament { run: 1, spec });
    for reply in replies.clone() {
        if let Reply::Need(name) = reply {
            let content = Ok(file(&name));
            let request = Request::File {
                name,
                content,
                dropped: false,
            };
            replies.extend(ask(engine, request));
        }
    }
    replies
}

/// Checks a tournament of a policy, its own replay, the trained policy and the same model as a
/// dropped file.
fn replay_and_dropped_model_take_part<W: PageWorld>(
    policy: &str,
    replay: &str,
    rules: &str,
    tasks: &[&str],
    seeds: std::ops::Range<u32>,
) {
    let mut engine = Engine::<W>::default();
    // Lent files are not answered.
    for name in [format!("{replay}.jsonl"), "my model.safetensors".to_owned()] {
        let content = match name.strip_suffix(".jsonl") {
            Some(_) => file(&format!("replays/{name}")),
            None => file(&weights_path(W::MODELS[usize::from(rules == "hardened")])),
        };
        let replies = ask(&mut engine, Request::Lend { name, content });
        assert!(replies.is_empty(), "{replies:?}");
    }
    let replayed = format!("replay:{replay}");
    let players = [policy, &replayed, "grpo", "model:my model"];
    let spec = TournamentSpec {
        tasks: words(tasks),
        players: words(&players),
        // The replay holds some of these seeds only.
        first_seed: seeds.start.into(),
        seeds: seeds.end - seeds.start,
        streams: "independent".to_owned(),
        rules: rules.to_owned(),
        reference: policy.to_owned(),
        ..TournamentSpec::default()
    };
    let found = play(&mut engine, &spec);
    let episodes = (seeds.end - seeds.start) * u32::try_from(tasks.len()).expect("few tasks");
    assert_eq!((found.played, found.total), (4 * episodes, 4 * episodes));
    let placement = |player: &str| {
        let placement = found.placements.iter().find(|p| p.player == player);
        placement.unwrap_or_else(|| panic!("{player} in {found:?}"))
    };
    let difference = |player: &str| {
        let difference = found.differences.iter().find(|d| d.player == player);
        difference.unwrap_or_else(|| panic!("{player} in {found:?}"))
    };
    let recorded = placement(&replayed);
    assert!(
        recorded.scored > 0 && recorded.scored < episodes,
        "{recorded:?}"
    );
    let said = format!("{} of {episodes} episodes", recorded.scored);
    assert!(recorded.note.starts_with(&said), "{}", recorded.note);
    assert_eq!(found.left_out, episodes - recorded.scored);
    // It plays what the policy plays, on the episodes that it holds.
    let pairs = difference(&replayed);
    assert_eq!(pairs.pairs, [0, recorded.scored, 0], "{pairs:?}");
    assert_eq!(pairs.verdict, "same");
    // The dropped model is the trained policy.
    assert_eq!(placement("grpo").mean, placement("model:my model").mean);
    assert_eq!(difference("grpo").mean, difference("model:my model").mean);
}

#[test]
fn files_take_part_in_trust() {
    let tasks = ["task1", "task3"];
    replay_and_dropped_model_take_part::<TrustEnv>(
        "bayes",
        "bayes-independent",
        "reference",
        &tasks,
        0..14,
    );
}

#[test]
fn files_take_part_in_the_cluster() {
    replay_and_dropped_model_take_part::<ClusterEnv>(
        "planner",
        "cluster-planner-hardened",
        "hardened",
        &["task1"],
        5..13,
    );
}

#[test]
fn files_take_part_in_polyguard() {
    replay_and_dropped_model_take_part::<PolyguardEnv>(
        "stack_replan",
        "polyguard-stack_replan-hardened",
        "hardened",
        &["DDI-easy-holdout", "DDI-hard-holdout"],
        999_998..1_000_004,
    );
}

/// A replay of other episodes is not played by its fallback.
#[test]
fn replay_without_the_episodes_has_no_mean() {
    let mut engine = Engine::<TrustEnv>::default();
    let spec = TournamentSpec {
        tasks: words(&["task1"]),
        players: words(&["random", "replay:bayes-reference"]),
        first_seed: 500,
        seeds: 3,
        rules: "reference".to_owned(),
        ..TournamentSpec::default()
    };
    let found = play(&mut engine, &spec);
    let replay = found.placements.last().expect("two players");
    assert_eq!(replay.player, "replay:bayes-reference");
    assert_eq!(
        (replay.scored, replay.note.as_str()),
        (0, "0 of 3 episodes")
    );
    assert_eq!(found.differences[0].verdict, "no pairs");
}

/// Rows are cut off after the third of each episode; the rest would be played by the fallback.
#[test]
fn incomplete_episodes_of_a_replay_are_left_out() {
    let text = String::from_utf8(file("replays/bayes-independent.jsonl")).expect("text");
    let is_whole = |line: &&str| !line.contains("\"seed\":3,") || line.contains("\"step\":0,");
    let cut: Vec<&str> = text.lines().filter(is_whole).collect();
    assert!(cut.len() < text.lines().count());
    let mut engine = Engine::<TrustEnv>::default();
    let name = "cut.jsonl".to_owned();
    let content = cut.join("\n").into_bytes();
    ask(&mut engine, Request::Lend { name, content });
    let spec = TournamentSpec {
        tasks: words(&["task1"]),
        players: words(&["replay:cut"]),
        seeds: 10,
        rules: "reference".to_owned(),
        ..TournamentSpec::default()
    };
    let found = play(&mut engine, &spec);
    assert_eq!(found.placements[0].note, "9 of 10 episodes");
}

/// Checks that the results do not depend on how many engines share the episodes.
#[test]
fn parts_give_the_same_results_as_the_whole() {
    let spec = TournamentSpec {
        tasks: words(&["task1", "task2"]),
        players: words(&["random", "heuristic", "replay:bayes-independent"]),
        first_seed: 3,
        seeds: 11,
        rules: "reference".to_owned(),
        ..TournamentSpec::default()
    };
    let whole = play(&mut Engine::<TrustEnv>::default(), &spec);
    for parts in [2, 3, 4] {
        let mut engines: Vec<Engine<TrustEnv>> = (0..parts).map(|_| Engine::default()).collect();
        let mut sent = Vec::new();
        for (engine, part) in engines.iter_mut().zip(0..parts) {
            let mut spec = spec.clone();
            (spec.part, spec.parts) = (part, parts);
            let replies = replies(engine, spec);
            sent.extend(
                deferred(&replies)
                    .into_iter()
                    .filter_map(|reply| match reply {
                        DeferredReply::PartialResults { run, results } => {
                            Some(Request::PartialResults { run, results })
                        }
                        _ => None,
                    }),
            );
        }
        let mut found = Standings::default();
        // The order in which parts arrive does not matter.
        for request in sent.into_iter().rev() {
            found = last_standings(&ask(&mut engines[0], request));
        }
        assert_eq!(found, whole, "{parts} parts");
    }
}

#[test]
fn it_pauses_stops_and_is_compared_again() {
    let mut engine = Engine::<TrustEnv>::default();
    let spec = TournamentSpec {
        tasks: words(&["task1"]),
        players: words(&["random", "heuristic"]),
        seeds: 20,
        rules: "reference".to_owned(),
        ..TournamentSpec::default()
    };
    engine.handle(Request::Tournament { run: 4, spec });
    assert!(
        engine.work(|| true),
        "one action is not the whole tournament"
    );
    let pause = |paused| Request::Pause { run: 4, paused };
    let paused = last_standings(&ask(&mut engine, pause(true)));
    assert!(paused.played < paused.total);
    assert!(ask(&mut engine, Request::Describe).len() > 1);
    // Messages about another run change nothing.
    let other = Request::Pause {
        run: 3,
        paused: false,
    };
    assert!(ask(&mut engine, other).is_empty());
    let complete = last_standings(&ask(&mut engine, pause(false)));
    assert_eq!(
        (complete.played, complete.reference.as_str()),
        (40, "heuristic")
    );
    ask(&mut engine, Request::Stop { run: 4 });
    let player = "random".to_owned();
    let found = last_standings(&ask(&mut engine, Request::Reference { run: 4, player }));
    assert_eq!(found.reference, "random");
    assert_eq!(found.differences[0].mean, -complete.differences[0].mean);
    assert_eq!(found.placements, complete.placements);
}

/// Messages stay small, however many episodes are played.
#[test]
fn messages_hold_no_single_scores() {
    let mut engine = Engine::<TrustEnv>::default();
    let spec = |seeds| TournamentSpec {
        tasks: words(&["task1"]),
        players: words(&["random", "heuristic", "heuristic_70", "bayes"]),
        seeds,
        ..TournamentSpec::default()
    };
    let size = |standings: Standings| {
        encode(&DeferredReply::Standings(standings))
            .expect("encoded")
            .len()
    };
    let few = size(play(&mut engine, &spec(20)));
    let many = size(play(&mut engine, &spec(400)));
    assert!(many < few + 500 && many < 4000, "{few} {many}");
}
