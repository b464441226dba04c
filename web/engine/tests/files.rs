//! Files that the visitor brings and takes away, in every world.

mod common;

use common::{ask, deferred, drop_file, episode_ref, problems, repository, run_of};
use sentinel_env::cluster::ClusterEnv;
use sentinel_env::polyguard::PolyguardEnv;
use sentinel_env::rng::Streams;
use sentinel_env::rules::Rules;
use sentinel_env::trust::TrustEnv;
use sentinel_env::{EpisodeSpec, Named as _, TaskName as _};
use sentinel_page_engine::{Engine, PageWorld};
use sentinel_page_protocol::{
    Branch, Conversion, DeferredReply, EpisodeRef, Evaluation, Export, ExportedFile, PlayedEpisode,
    Reply, Request, RunUpdate, TournamentSpec,
};
use sentinel_policy::Scripted;
use sentinel_policy::replay::{ReplayFile, record_episode, to_lines};

fn spec<W: PageWorld>(seed: u64) -> EpisodeSpec<W> {
    EpisodeSpec {
        task: W::default_task(),
        seed,
        streams: Streams::Independent,
        rules: Rules::REFERENCE,
    }
}

fn play<W: PageWorld>(
    engine: &mut Engine<W>,
    seed: u64,
    player: &str,
    branch: Option<Branch>,
) -> RunUpdate {
    let request = Request::Play {
        run: 1,
        episode: episode_ref(&spec::<W>(seed)),
        player: player.to_owned(),
        branch,
        watched: false,
    };
    run_of(&ask(engine, request)).clone()
}

fn export<W: PageWorld>(engine: &mut Engine<W>, run: u32, export: Export) -> ExportedFile {
    let replies = ask(engine, Request::Export { run, export });
    let exported = deferred(&replies)
        .into_iter()
        .find_map(|reply| match reply {
            DeferredReply::Exported(file) => Some(file),
            _ => None,
        });
    exported.unwrap_or_else(|| panic!("no file in {replies:?}"))
}

/// Recordings have names that say what they contain, and no two have the same.
fn recordings_have_names<W: PageWorld>(known: &str) {
    let file = Request::File {
        name: "replays/manifest.json".to_owned(),
        content: Ok(repository("replays/manifest.json")),
        dropped: false,
    };
    let replies = ask(&mut Engine::<W>::default(), file);
    let replays = replies.iter().find_map(|reply| match reply {
        Reply::Replays(replays) => Some(replays),
        _ => None,
    });
    let labels = replays.expect("a list").iter();
    let labels: Vec<&str> = labels.map(|r| r.first.player_label.as_str()).collect();
    let unique: std::collections::BTreeSet<_> = labels.iter().collect();
    assert_eq!(unique.len(), labels.len(), "{labels:?}");
    assert!(labels.contains(&known), "{labels:?}");
}

#[test]
fn recordings_have_names_of_their_own() {
    recordings_have_names::<TrustEnv>("Trained policy (GRPO): hardened rules, 3 tasks");
    recordings_have_names::<TrustEnv>(
        "Trained policy (GRPO): rules as published, reference streams, 3 tasks",
    );
    recordings_have_names::<ClusterEnv>("Trained policy (GRPO): rules as published, 3 tasks");
    recordings_have_names::<PolyguardEnv>("Trained policy (GRPO): hardened rules, 24 tasks");
}

fn opened(replies: &[Reply]) -> Option<PlayedEpisode> {
    deferred(replies).into_iter().find_map(|reply| match reply {
        DeferredReply::Opened(episode) => Some(episode),
        _ => None,
    })
}

/// Saves the shown episode, drops the file into a new engine, and checks that it plays the same
/// episode there; returns the text of the file and what was played.
fn round_trip<W: PageWorld>(engine: &mut Engine<W>, seed: u64) -> (String, RunUpdate) {
    let file = export(engine, 1, Export::Episode);
    assert!(
        file.name.starts_with(W::NAME) && file.name.ends_with(".jsonl"),
        "{}",
        file.name
    );
    assert!(file.name.contains(&format!("seed{seed}")), "{}", file.name);
    let mut other = Engine::<W>::default();
    let replies = drop_file(&mut other, &file.name, &file.content);
    assert_eq!(problems(&replies), Vec::<String>::new());
    let episode = opened(&replies).expect("a replay");
    assert_eq!(
        (episode.seed, episode.task.as_str()),
        (seed, W::default_task().name())
    );
    let player = episode.player.clone();
    let again = play(&mut other, seed, &player, None);
    (String::from_utf8(file.content).expect("text"), again)
}

/// Saves episodes of some policies and checks that the files are those of `sentinel record`, and
/// that they play the same episodes natively and in the page.
fn episodes_survive_the_way_through_a_file<W: PageWorld>(policies: &[W::PolicyName])
where
    W::PolicyName: Scripted<World = W>,
{
    for policy in policies {
        let mut engine = Engine::<W>::default();
        let played = play(&mut engine, 42, policy.name(), None);
        let (text, again) = round_trip(&mut engine, 42);
        assert_eq!(again.digest, played.digest, "{}", policy.name());
        assert_eq!(
            common::views(&again).last().map(|view| view.score),
            common::views(&played).last().map(|view| view.score)
        );
        assert!(
            !again.source_warning && again.source_note.contains(" 0 misses"),
            "{}",
            again.source_note
        );
        let setup = spec::<W>(42).setup();
        let (run, rows) = record_episode(&setup, &mut policy.start(&setup), policy.name());
        assert_eq!(text, to_lines(&rows).expect("rows"), "{}", policy.name());
        let file = ReplayFile::default().parse(&text).verify();
        assert!(file.fits() && file.episodes.len() == 1, "{file:?}");
        assert_eq!(file.episodes[0].digest, run.digest().digest());
        assert_eq!(file.episodes[0].digest.to_string(), played.digest);
    }
    own_actions_and_fallbacks_are_marked::<W>(policies[0]);
}

fn own_actions_and_fallbacks_are_marked<W: PageWorld>(policy: W::PolicyName) {
    let mut engine = Engine::<W>::default();
    let played = play(&mut engine, 7, policy.name(), None);
    let codes = played.steps.iter().map(|step| step.code.as_str());
    let branch = Branch {
        at: 1,
        actions: codes.skip(1).take(2).collect(),
        resume: true,
    };
    let mixed = play(&mut engine, 7, policy.name(), Some(branch));
    let (text, again) = round_trip(&mut engine, 7);
    assert_eq!(again.digest, mixed.digest);
    let own = text.matches("\"model_source\":\"you\"").count();
    assert_eq!(own, mixed.steps.iter().filter(|step| step.own).count());
    assert!((1..=2).contains(&own));
    let sources = format!("Replay of {} and you:", policy.name());
    assert!(
        again.source_note.starts_with(&sources),
        "{}",
        again.source_note
    );
    // Without its second row, the fallback acts there, and the file says so.
    let mut lines: Vec<&str> = text.lines().collect();
    lines.remove(1);
    let mut engine = Engine::<W>::default();
    let replies = drop_file(&mut engine, "hole.jsonl", lines.join("\n").as_bytes());
    assert!(opened(&replies).is_some());
    let holed = play(&mut engine, 7, "replay:hole", None);
    assert!(holed.steps.iter().any(|step| step.missed));
    let (text, again) = round_trip(&mut engine, 7);
    assert_eq!(again.digest, holed.digest);
    let marked = text
        .lines()
        .filter(|line| line.contains("\"fallback\":true"));
    assert!(
        marked
            .clone()
            .all(|line| line.contains("\"model_source\":\"fallback\""))
    );
    assert_eq!(
        marked.count(),
        holed.steps.iter().filter(|step| step.missed).count()
    );
    assert!(again.source_warning, "{}", again.source_note);
    assert!(ReplayFile::default().parse(&text).verify().fits());
}

/// An address that names a replay but no task plays an episode of the file: the one that agrees with
/// what else the address names, or else the first one.
#[test]
fn a_replay_without_a_task_plays_an_episode_of_its_file() {
    let hardened = |seed| EpisodeSpec::<TrustEnv> {
        rules: Rules::HARDENED,
        ..spec(seed)
    };
    let rows = [hardened(9), hardened(7), spec(5)].map(|spec| {
        let (setup, policy) = (spec.setup(), sentinel_policy::trust::PolicyName::Heuristic);
        let (_, rows) = record_episode(&setup, &mut policy.start(&setup), policy.name());
        to_lines(&rows).expect("rows")
    });
    let file = rows.concat().into_bytes();
    let play = |run, seed, rules: &str, player: &str| Request::Play {
        run,
        episode: EpisodeRef {
            seed,
            rules: rules.to_owned(),
            ..EpisodeRef::default()
        },
        player: player.to_owned(),
        branch: None,
        watched: false,
    };
    let arrived = |name: &str, content| Request::File {
        name: format!("replays/{name}.jsonl"),
        content,
        dropped: false,
    };
    let changed = "hardened-completion";
    for (seed, rules, played, played_rules, misses) in [
        (9, "", 9, "hardened", false),
        (5, "", 5, "reference", false),
        (42, "hardened", 7, "hardened", false),
        (9, "reference", 5, "reference", false),
        // No episode has these rules, which stay.
        (9, changed, 9, changed, true),
    ] {
        let mut engine = Engine::<TrustEnv>::default();
        // Nothing is played before the file arrives, and hidden state may be asked for by then.
        let replies = ask(&mut engine, play(1, seed, rules, "replay:three"));
        assert_eq!(replies, [Reply::Need("replays/three.jsonl".to_owned())]);
        let truth = ask(&mut engine, Request::ShowTruth { run: 1, show: true });
        assert_eq!(truth, []);
        let replies = ask(&mut engine, arrived("three", Ok(file.clone())));
        assert!(replies.iter().any(|reply| matches!(reply, Reply::Truth(_))));
        // The second time the file is here.
        let again = ask(&mut engine, play(2, seed, rules, "replay:three"));
        for run in [run_of(&replies), run_of(&again)] {
            let episode = &run.episode;
            assert_eq!(
                (episode.seed, episode.task.as_str(), episode.rules.as_str()),
                (played, spec::<TrustEnv>(0).task.name(), played_rules)
            );
            assert_eq!(run.source_warning, misses, "{}", run.source_note);
        }
    }
    // Without the file the default episode is shown, but not as what the address means: it names no
    // player. A run that was stopped or that waits for another file does not start.
    let mut engine = Engine::<TrustEnv>::default();
    for (run, player) in [(1, "replay:none"), (2, "replay:none"), (3, "replay:three")] {
        ask(&mut engine, play(run, 7, "", player));
    }
    ask(&mut engine, Request::Stop { run: 2 });
    let failed = arrived("none", Err("There is no such file.".to_owned()));
    let replies = ask(&mut engine, failed);
    assert_eq!(problems(&replies), ["There is no such file."]);
    let mut runs = replies.iter().filter_map(|reply| match reply {
        Reply::Run(run) => Some((run.run, run.episode.player.as_str(), run.source_warning)),
        _ => None,
    });
    assert_eq!(runs.next_back(), Some((1, "", true)));
    let of_other = |reply: &Reply| matches!(reply, Reply::Run(run) if run.run != 1);
    assert!(!replies.iter().any(of_other));
    // A file that the visitor drops is as good as a fetched one.
    let replies = drop_file(&mut engine, "three.jsonl", &file);
    assert!(replies.iter().any(of_other));
}

#[test]
fn episodes_of_trust_survive_the_way_through_a_file() {
    use sentinel_policy::trust::PolicyName::{Bayes, Heuristic, Random};
    episodes_survive_the_way_through_a_file::<TrustEnv>(&[Heuristic, Random, Bayes]);
}

#[test]
fn episodes_of_the_cluster_survive_the_way_through_a_file() {
    use sentinel_policy::cluster::PolicyName;
    let policies = ["random", "planner"].map(|name| PolicyName::parse(name).expect("a policy"));
    episodes_survive_the_way_through_a_file::<ClusterEnv>(&policies);
}

#[test]
fn episodes_of_polyguard_survive_the_way_through_a_file() {
    use sentinel_policy::polyguard::PolicyName;
    let names = ["rules_only", "random", "stack_replan"];
    let policies = names.map(|name| PolicyName::parse(name).expect("a policy"));
    episodes_survive_the_way_through_a_file::<PolyguardEnv>(&policies);
}

#[test]
fn rows_of_a_file_are_saved_as_they_were_read() {
    let text = String::from_utf8(repository("replays/tiny-lm-independent.jsonl")).expect("text");
    let file = ReplayFile::default().parse(&text);
    let replay = file.replay::<TrustEnv>().expect("rows of trust");
    let origin = *replay.episodes().next().expect("an episode");
    let mut engine = Engine::<TrustEnv>::default();
    drop_file(&mut engine, "lm.jsonl", text.as_bytes());
    let request = Request::Play {
        run: 1,
        episode: episode_ref(&origin),
        player: "replay:lm".to_owned(),
        branch: None,
        watched: false,
    };
    ask(&mut engine, request);
    let saved = export(&mut engine, 1, Export::Episode);
    let rows = replay.episode(&origin).expect("rows").iter();
    let rows: Vec<_> = rows.map(|row| row.row.clone()).collect();
    assert!(rows.iter().any(|row| row.transcript.is_some()));
    let expected = to_lines(&rows).expect("rows");
    assert_eq!(String::from_utf8(saved.content).expect("text"), expected);
}

#[test]
fn a_model_plays_and_its_actions_are_saved_with_its_name() {
    let mut engine = Engine::<TrustEnv>::default();
    let model = repository("replays/grpo/model.safetensors");
    let replies = drop_file(&mut engine, "whatever.bin", &model);
    let episode = opened(&replies).expect("it plays");
    assert_eq!(
        (episode.player.as_str(), episode.task.as_str()),
        ("model:whatever.bin", "")
    );
    assert!(deferred(&replies).iter().any(
        |reply| matches!(reply, DeferredReply::FileRead(text) if text.starts_with("whatever.bin: Model"))
    ));
    let played = play(&mut engine, 3, "model:whatever.bin", None);
    let (text, again) = round_trip(&mut engine, 3);
    assert_eq!(again.digest, played.digest);
    assert!(text.contains("\"probabilities\":[") && text.contains("\"model_source\":\"grpo"));
}

#[test]
fn files_of_another_world_are_handed_over() {
    let mut engine = Engine::<TrustEnv>::default();
    let files = [
        (
            "m.safetensors",
            "replays/cluster-grpo/model.safetensors",
            "cluster",
        ),
        (
            "r.jsonl",
            "replays/polyguard-grpo-hardened.jsonl",
            "polyguard",
        ),
        (
            "e.json",
            "docs/results/polyguard-sweep/report/data/sweeps/small/eval_grpo.json",
            "polyguard",
        ),
    ];
    for (name, path, world) in files {
        let content = repository(path);
        let replies = drop_file(&mut engine, name, &content);
        let [DeferredReply::Foreign(file)] = &deferred(&replies)[..] else {
            panic!("{name}: {} replies", replies.len());
        };
        assert_eq!((file.world.as_str(), file.name.as_str()), (world, name));
        assert_eq!(file.content, content);
    }
    let mut engine = Engine::<ClusterEnv>::default();
    let row = String::from_utf8(repository("replays/heuristic-reference.jsonl")).expect("text");
    let replies = drop_file(&mut engine, "r.jsonl", row.as_bytes());
    assert!(
        matches!(&deferred(&replies)[..], [DeferredReply::Foreign(file)] if file.world == "trust")
    );
}

#[test]
fn evaluations_and_training_logs_are_read() {
    let mut engine = Engine::<TrustEnv>::default();
    let replies = drop_file(
        &mut engine,
        "a.json",
        &repository("docs/results/outputs/eval_post.json"),
    );
    let read = deferred(&replies)
        .into_iter()
        .find_map(|reply| match reply {
            DeferredReply::Evaluation(evaluation) => Some(evaluation),
            _ => None,
        });
    let Evaluation { rows, summary, .. } = read.expect("an evaluation");
    assert_eq!(rows.len(), 20);
    assert!(
        summary.contains("replays/grpo") && summary.contains("0..30"),
        "{summary}"
    );
    let row = rows
        .iter()
        .find(|row| row.task == "Task 3" && row.policy == "Bayes look-ahead")
        .expect("a row");
    assert_eq!((row.episodes, (row.mean * 1e4).round() / 1e4), (30, 0.8704));
    // The linked episode has the score of the file.
    for (text, episode) in &row.links {
        let origin = EpisodeSpec::<TrustEnv> {
            task: sentinel_env::trust::Task::Task3,
            ..spec(episode.seed)
        };
        let request = Request::Play {
            run: 1,
            episode: episode_ref(&origin),
            player: episode.player.clone(),
            branch: None,
            watched: false,
        };
        let replies = ask(&mut engine, request);
        let score = common::views(run_of(&replies))
            .last()
            .map(|view| format!("{:.3}", view.score));
        assert!(text.ends_with(&score.expect("a frame")), "{text}");
    }
    for path in [
        "replays/polyguard-grpo/trainer_state.json",
        "docs/results/polyguard-sweep/report/data/sweeps/logs/small-grpo_adapter/trainer_state.json",
        "docs/results/polyguard-sweep/report/data/sweeps/logs/small-sft_adapter/trainer_state.json",
    ] {
        let replies = drop_file(&mut engine, "state.txt", &repository(path));
        // The engine of recorded results draws it (`records.rs`).
        let passed_on = matches!(
            &deferred(&replies)[..],
            [DeferredReply::TrainingLog { name, text }] if name == "state.txt" && text.contains("log_history")
        );
        assert!(passed_on, "{path}: {replies:?}");
    }
}

#[test]
fn charts_and_standings_are_saved() {
    let mut engine = Engine::<TrustEnv>::default();
    let played = play(&mut engine, 42, "bayes", None);
    let of = |id: &str, truth, png| Export::Chart {
        id: id.to_owned(),
        truth,
        png,
    };
    let svg = export(&mut engine, 1, of("trust", false, false));
    let stem = format!("trust-{}-seed42-bayes-trust", played.episode.task);
    assert_eq!(svg.name, format!("{stem}.svg"));
    assert_eq!(
        (svg.mime.as_str(), svg.conversion),
        ("image/svg+xml", Conversion::None)
    );
    let text = String::from_utf8(svg.content).expect("text");
    assert!(
        text.starts_with("<svg") && text.contains("seed 42"),
        "{text}"
    );
    assert!(!text.contains("hidden values"));
    let png = export(&mut engine, 1, of("trust", false, true));
    assert_eq!(png.conversion, Conversion::Png);
    let truth = export(&mut engine, 1, of("trust", true, false));
    assert_eq!(truth.name, format!("{stem}-truth.svg"));
    let text = String::from_utf8(truth.content).expect("text");
    assert!(text.contains("hidden values"), "{text}");
    let spec = TournamentSpec {
        tasks: vec!["task1".to_owned()],
        players: vec!["random".to_owned()],
        seeds: 2,
        ..TournamentSpec::default()
    };
    let tasks = spec.tasks.clone();
    let standings = || Export::Standings {
        tasks: tasks.clone(),
    };
    let nothing = [
        (9, Export::Episode),
        (9, of("trust", false, false)),
        (1, of("other", false, false)),
        (0, standings()),
    ];
    for (run, export) in nothing {
        let replies = ask(&mut engine, Request::Export { run, export });
        assert_eq!(problems(&replies).len(), 1, "{replies:?}");
    }
    ask(&mut engine, Request::Tournament { run: 5, spec });
    let csv = export(&mut engine, 0, standings());
    assert_eq!(csv.name, "trust-task1-standings.csv");
    let csv = String::from_utf8(csv.content).expect("text");
    assert!(
        csv.starts_with("player,") && csv.contains("\r\nrandom,"),
        "{csv}"
    );
}
