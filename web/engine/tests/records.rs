//! Tests of the engine of recorded results, on the files that ship with the page: every log and
//! report can be read, the numbers are those of the files, and links lead to episodes with the
//! score that they name.

mod common;

use std::path::PathBuf;

use common::deferred;

use sentinel_env::cluster::ClusterEnv;
use sentinel_env::polyguard::PolyguardEnv;
use sentinel_env::trust::TrustEnv;
use sentinel_page_engine::worker::Program as _;
use sentinel_page_engine::{Engine, PageWorld, RecordsEngine};
use sentinel_page_protocol::{
    DeferredReply, EpisodeRef, Export, Link, Panel, Records, RecordsSection, Reply, Request, decode,
};
use serde_json::Value;

/// Returns the file of the repository that `index.html` places at a path of the page.
fn source(path: &str) -> PathBuf {
    let place = match path.strip_prefix("results/") {
        None => path.to_owned(),
        Some(rest) => match rest.split_once('/') {
            Some((sweep, rest)) if sweep.ends_with("-sweep") => {
                let logs = rest.replace("logs/", "data/sweeps/logs/");
                format!("docs/results/{sweep}/report/{logs}")
            }
            _ => format!("docs/results/{rest}"),
        },
    };
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(place)
}

fn json(path: &str) -> Value {
    let text = std::fs::read_to_string(source(path)).expect(path);
    serde_json::from_str(&text).expect(path)
}

fn fetched(path: &str) -> Request {
    Request::File {
        name: path.to_owned(),
        content: Ok(std::fs::read(source(path)).expect(path)),
        dropped: false,
    }
}

/// Sends a request, delivers every file that the engine asks for, and returns the other replies.
fn ask(engine: &mut RecordsEngine, request: Request) -> Vec<Reply> {
    engine.handle(request);
    let mut replies = Vec::new();
    while let Some(reply) = engine.next_reply() {
        match reply {
            Reply::Need(path) => engine.handle(fetched(&path)),
            other => replies.push(other),
        }
    }
    replies
}

fn training(world: &str, runs: &str) -> Request {
    Request::Training {
        world: world.to_owned(),
        runs: runs.to_owned(),
    }
}

/// Returns the section of the curves.
fn curves(engine: &mut RecordsEngine, world: &str, runs: &str) -> RecordsSection {
    match deferred(&ask(engine, training(world, runs))).as_slice() {
        [DeferredReply::Records(found)] => {
            assert_eq!(
                (found.screen.as_str(), found.sections.len()),
                ("training", 1)
            );
            found.sections[0].clone()
        }
        other => panic!("{other:?}"),
    }
}

fn panel<'a>(section: &'a RecordsSection, id: &str) -> &'a Panel {
    let found = section.panels.iter().find(|panel| panel.id == id);
    found.unwrap_or_else(|| panic!("{id}"))
}

#[test]
fn every_run_that_ships_is_drawn_with_the_values_of_its_log() {
    let mut engine = RecordsEngine::default();
    let first = curves(&mut engine, "trust", "");
    let known = ["runs", "run-menu"].map(|id| panel(&first, id).cards.iter());
    let known = known.into_iter().flatten().map(|card| card.key.clone());
    let names: Vec<String> = known.filter(|name| name != "smooth").collect();
    assert_eq!(names.len(), 17);
    for name in names {
        let drawn = curves(&mut engine, "trust", &name);
        let run = &panel(&drawn, "runs").cards[0];
        let log = json(run.help.trim_start_matches("Read from "));
        let entries = log["log_history"].as_array().expect("entries");
        assert!(drawn.charts.len() >= 5, "{name}: {:?}", drawn.charts);
        for (chart, metric) in &drawn.charts {
            let value = |entry: &Value| entry.get(&metric.text).and_then(Value::as_f64);
            let logged: Vec<f64> = entries.iter().filter_map(value).collect();
            let line = &chart.lines[0];
            let drawn: Vec<f64> = line.y.iter().map(|value| f64::from(*value)).collect();
            assert_eq!(drawn.len(), logged.len(), "{name} {}", metric.text);
            for (drawn, logged) in drawn.iter().zip(&logged) {
                let near = (drawn - logged).abs() <= 1e-6 * logged.abs().max(1.0);
                assert!(near, "{name} {}: {drawn} {logged}", metric.text);
            }
            assert!(metric.help.ends_with('.'), "{}", metric.text);
        }
        let steps = log["global_step"].as_u64().expect("steps").to_string();
        // Thousands are grouped.
        let shown = run.subtitle.chars().take_while(|c| !c.is_alphabetic());
        let shown: String = shown.filter(char::is_ascii_digit).collect();
        assert_eq!(shown, steps, "{}", run.subtitle);
        assert_eq!((run.key.as_str(), run.slot), (name.as_str(), Some(0)));
    }
}

#[test]
fn runs_side_by_side_share_charts() {
    let mut engine = RecordsEngine::default();
    let both = curves(
        &mut engine,
        "trust",
        "trust-grpo:cluster-grpo:trust-micro-grpo",
    );
    let chart = |id: &str| {
        let found = both.charts.iter().find(|(chart, _)| chart.id == id);
        &found.unwrap_or_else(|| panic!("{id}")).0
    };
    let letters = |id: &str| {
        let lines = chart(id).lines.iter();
        lines.map(|line| &line.name[..2]).collect::<String>()
    };
    assert_eq!(letters("evaluation"), "A B ");
    assert_eq!(
        chart("evaluation").subtitle,
        "not logged by C Whom to trust: micro model, GRPO"
    );
    assert_eq!(
        (letters("reward"), letters("invalid")),
        ("A B C ".to_owned(), "C ".to_owned())
    );
    let removed = &panel(&both, "runs").cards[1].links[0];
    assert_eq!(
        removed.query,
        "world=trust&page=training&runs=trust-grpo:trust-micro-grpo"
    );
    let menu = &panel(&both, "run-menu").cards;
    let smooth = menu.last().expect("the switch").links[0].query.clone();
    assert!(smooth.ends_with(":trust-micro-grpo:smooth"), "{smooth}");
    let query = smooth.rsplit("runs=").next().expect("runs");
    let smoothed = curves(&mut engine, "trust", query);
    let rough = |section: &RecordsSection| {
        let y = &section.charts[1].0.lines[0].y;
        y.windows(2)
            .map(|pair| (pair[1] - pair[0]).abs())
            .sum::<f32>()
    };
    assert!(rough(&smoothed) < 0.8 * rough(&both));
    // The world decides only if no run is named.
    let cluster = curves(&mut engine, "cluster", "");
    let shown = panel(&cluster, "runs").cards.iter();
    let shown: Vec<&str> = shown.map(|run| run.key.as_str()).collect();
    assert_eq!(shown, ["cluster-grpo"]);
}

#[test]
fn dropped_log_becomes_a_run_and_bad_ones_are_named() {
    let mut engine = RecordsEngine::default();
    let drop = |name: &str, text: &str| Request::File {
        name: name.to_owned(),
        content: Ok(text.as_bytes().to_vec()),
        dropped: true,
    };
    let log = r#"{"global_step": 3, "log_history": [{"step": 1, "reward": 0.25}]}"#;
    for name in ["trainer_state", "trainer_state-2"] {
        let replies = ask(&mut engine, drop("trainer_state.json", log));
        assert!(
            matches!(&deferred(&replies)[..], [DeferredReply::FileRead(text), DeferredReply::RunAdded(run)]
                if text.starts_with("trainer_state.json: ") && run == name),
            "{replies:?}"
        );
    }
    let both = curves(&mut engine, "trust", "trainer_state-2:trust-grpo");
    let reward = both.charts.iter().find(|(_, name)| name.text == "reward");
    assert_eq!(reward.expect("a chart").0.lines[0].y, [0.25]);
    let export = |id: &str| Request::Export {
        run: 0,
        export: Export::Chart {
            id: id.to_owned(),
            truth: false,
            png: true,
        },
    };
    let replies = ask(&mut engine, export("reward"));
    assert!(
        matches!(&deferred(&replies)[..], [DeferredReply::Exported(file)]
            if file.name == "sentinel-reward.png" && file.content.starts_with(b"<svg")),
        "{replies:?}"
    );
    let replies = ask(&mut engine, export("nothing"));
    assert!(matches!(&replies[..], [Reply::Problem(_)]), "{replies:?}");
    let replies = ask(&mut engine, drop("a.json", "{}"));
    assert!(
        matches!(&deferred(&replies)[..], [DeferredReply::FileProblem(text)] if text.starts_with("a.json is not a trainer state")),
        "{replies:?}"
    );
    let replies = ask(&mut engine, training("trust", "gone"));
    assert!(
        matches!(replies.as_slice(), [Reply::Problem(text), Reply::Deferred(_)] if text.contains("gone")),
        "{replies:?}"
    );
    assert!(matches!(
        &deferred(&replies)[..],
        [DeferredReply::Records(_)]
    ));
}

#[test]
fn missing_files_are_named_and_the_others_shown() {
    let mut engine = RecordsEngine::default();
    engine.handle(results_of("trust"));
    let mut named = 0;
    let mut view = None;
    while let Some(reply) = engine.next_reply() {
        match reply {
            Reply::Need(path) if path.contains("trust-sweep") => engine.handle(Request::File {
                content: Err(format!("{path} could not be fetched.")),
                name: path,
                dropped: false,
            }),
            Reply::Need(path) => engine.handle(fetched(&path)),
            Reply::Problem(text) => named += usize::from(text.contains("trust-sweep")),
            Reply::Deferred(bytes) => match decode(&bytes) {
                Ok(DeferredReply::Records(found)) => view = Some(found),
                other => panic!("{other:?}"),
            },
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(named, 1);
    assert!(view.expect("a view").sections.len() > 5);
}

fn results_of(world: &str) -> Request {
    let world = world.to_owned();
    Request::Results { world }
}

fn results() -> Records {
    shown_results(&mut RecordsEngine::default(), "trust")
}

fn shown_results(engine: &mut RecordsEngine, world: &str) -> Records {
    match deferred(&ask(engine, results_of(world))).as_slice() {
        [DeferredReply::Records(found)] => (**found).clone(),
        other => panic!("{other:?}"),
    }
}

/// The screen begins with the world that is asked for, and the other sections keep their order.
#[test]
fn results_begin_with_the_world_of_the_visitor() {
    let mut engine = RecordsEngine::default();
    let titles = |records: &Records| -> Vec<String> {
        let sections = records.sections.iter();
        sections.map(|section| section.title.clone()).collect()
    };
    let trust = titles(&shown_results(&mut engine, "trust"));
    assert_eq!(trust[0], "Baselines: Whom to trust");
    for (world, title) in [("cluster", "GPU cluster"), ("polyguard", "PolyGuard")] {
        let shown = titles(&shown_results(&mut engine, world));
        assert_eq!(shown[0], format!("Baselines: {title}"));
        let (mut all, mut same) = (trust.clone(), shown.clone());
        all.sort();
        same.sort();
        assert_eq!(all, same);
        let is_own = |name: &&String| name.contains(title);
        let own = shown.iter().take_while(is_own).count();
        assert_eq!(own, shown.iter().filter(is_own).count(), "{shown:?}");
    }
}

fn panels(records: &Records) -> impl Iterator<Item = &Panel> {
    records.sections.iter().flat_map(|section| &section.panels)
}

/// Returns the number at the beginning of a cell.
fn number(text: &str) -> f64 {
    let first = text.split(' ').next().unwrap_or_default();
    let first = first.replace('−', "-");
    first.parse().unwrap_or_else(|_| panic!("{text}"))
}

#[test]
fn tables_have_the_numbers_of_the_files() {
    let view = results();
    let table = |id: &str| {
        let found = panels(&view).find(|panel| panel.id == id);
        &found.unwrap_or_else(|| panic!("{id}")).cards
    };
    let report = json("results/report/results.json");
    for evaluation in report["evaluations"].as_array().expect("a list") {
        let id = evaluation["id"].as_str().expect("an id");
        if !["eval_post", "eval_cluster", "eval_polyguard"].contains(&id) {
            continue;
        }
        let rows = table(&format!("{id}-scores"));
        let policies = evaluation["policies"].as_array().expect("a list");
        let means = policies.iter();
        let means = means.filter_map(|policy| policy["score"]["mean"].as_f64());
        let mut means: Vec<f64> = means.collect();
        means.sort_by(|a, b| b.total_cmp(a));
        let shown: Vec<f64> = rows.iter().map(|row| number(&row.cells[0])).collect();
        let same = |(shown, mean): (&f64, &f64)| (shown - mean).abs() < 5.1e-4;
        assert!(shown.iter().zip(&means).all(same), "{id}: {shown:?}");
        assert_eq!(shown.len(), means.len(), "{id}");
    }
    let ablations = table("ablations");
    let command = &ablations[1].notes[0].help;
    assert!(ablations.len() == 3 && command.starts_with("sentinel eval "));
    let stack = json("results/policy_ablations.json");
    let first = stack["ablation"][0]["score"]["mean"].as_f64();
    let shown = number(&table("stack")[0].cells[0]);
    assert!(first.is_some_and(|first| (shown - first).abs() < 5.1e-4));
    for sweep in ["trust", "polyguard"] {
        let path = format!("results/{sweep}-sweep/results.json");
        let file = json(&path);
        let entries = file["sweeps"][0]["entries"].as_array().expect("a list");
        let rows = table(&format!("{path}-improvement"));
        assert_eq!(rows.len(), entries.len());
        for (entry, row) in entries.iter().zip(rows) {
            let difference = entry["improvement"]["difference"].as_f64();
            let shown = number(&row.cells[0]);
            assert!((shown - difference.expect("a number")).abs() < 5.1e-4);
            assert_eq!(row.cells[4], "no");
            assert!(
                row.notes[0].help.starts_with("sentinel lm compare"),
                "{row:?}"
            );
        }
        let stages = table(&format!("{path}-stages"));
        let evaluations = entries
            .iter()
            .filter_map(|entry| entry["evaluations"].as_object());
        let evaluations: Vec<&Value> = evaluations.flat_map(|all| all.values()).collect();
        assert_eq!(stages.len(), evaluations.len());
        let commands = evaluations.iter();
        let commands = commands.filter(|found| found["provenance"]["command"].is_string());
        let shown = stages.iter().filter(|row| row.notes.len() == 1);
        assert_eq!(shown.count(), commands.count());
        let bars = table(&format!("{path}-qwen_model_grpo_reward"));
        assert!(bars.iter().all(|row| row.meters.len() == 2));
    }
    let mut ids: Vec<&str> = panels(&view).map(|panel| panel.id.as_str()).collect();
    let count = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(count, ids.len(), "{ids:?}");
    for panel in panels(&view) {
        let mut keys: Vec<&str> = panel.cards.iter().map(|card| card.key.as_str()).collect();
        keys.sort_unstable();
        keys.dedup();
        assert_eq!(keys.len(), panel.cards.len(), "{}", panel.id);
    }
}

/// Plays the episode of a link to its end, with the files that the engine asks for, and returns its
/// score.
fn play<W: PageWorld>(engine: &mut Engine<W>, link: &Link) -> f64 {
    let word = |key: &str| {
        let parts = link
            .query
            .split('&')
            .filter_map(|part| part.split_once('='));
        let mut values = parts
            .filter(|(name, _)| *name == key)
            .map(|(_, value)| value);
        values.next().unwrap_or_default().to_owned()
    };
    let request = Request::Play {
        run: 1,
        episode: EpisodeRef {
            task: word("task"),
            seed: word("seed").parse().expect("a seed"),
            streams: word("streams"),
            rules: word("rules"),
        },
        player: word("policy"),
        branch: None,
        watched: false,
    };
    let replies = deliver(engine, request);
    let update = common::run_of(&replies);
    assert_eq!(update.episode.player, word("policy"));
    assert!(update.done, "{link:?}");
    common::views(update).last().expect("a frame").score
}

/// Sends a request and then the files that the engine asks for; returns the last replies.
fn deliver<W: PageWorld>(engine: &mut Engine<W>, request: Request) -> Vec<Reply> {
    let mut replies = common::ask(engine, request);
    let needs = replies.iter().filter_map(|reply| match reply {
        Reply::Need(path) => Some(fetched(path)),
        Reply::Problem(text) => panic!("{text}"),
        _ => None,
    });
    for file in needs.collect::<Vec<Request>>() {
        replies = common::ask(engine, file);
    }
    replies
}

fn links_keep_their_word<W: PageWorld>(links: &[&Link]) {
    let mut engine = Engine::<W>::default();
    let world = format!("world={}&", W::NAME);
    let own = links.iter().filter(|link| link.query.starts_with(&world));
    let mut count = 0;
    for link in own {
        let named: f64 = link.text.rsplit(", ").next().map_or(-1.0, number);
        let score = play(&mut engine, link);
        // The file has four decimals, and the link three of them.
        assert!((score - named).abs() < 5.6e-4, "{link:?}: {score}");
        count += 1;
    }
    assert!(count > 40, "{count}");
}

#[test]
fn every_link_leads_to_an_episode_with_its_score() {
    let view = results();
    let cards = panels(&view).flat_map(|panel| &panel.cards);
    let links: Vec<&Link> = cards.flat_map(|card| &card.links).collect();
    links_keep_their_word::<TrustEnv>(&links);
    links_keep_their_word::<ClusterEnv>(&links);
    links_keep_their_word::<PolyguardEnv>(&links);
}

fn checkpoints_play<W: PageWorld>() {
    let mut engine = Engine::<W>::default();
    let replies = deliver(&mut engine, Request::Checkpoints);
    let [DeferredReply::Checkpoints(panel)] = &deferred(&replies)[..] else {
        panic!("{replies:?}");
    };
    let scores: Vec<f64> = panel
        .cards
        .iter()
        .map(|card| number(&card.cells[0]))
        .collect();
    assert_eq!(scores.len(), 3, "{}", W::NAME);
    assert!(scores[0] < scores[2], "{}: {scores:?}", W::NAME);
    for (card, score) in panel.cards.iter().zip(&scores) {
        let played = play(&mut Engine::<W>::default(), &card.links[0]);
        assert!((played - score).abs() < 5.1e-4, "{card:?}: {played}");
    }
    // The episode is the first validation seed of the run, under its rules.
    let folder = W::MODELS[usize::from(W::TRAINING_RULES == "hardened")];
    let config = json(&format!("{folder}/config.json"));
    let seeds = config["validation_seeds"].as_str().expect("seeds");
    let first = format!("{}..", W::VALIDATION_SEED);
    assert!(seeds.starts_with(&first), "{seeds}");
    assert_eq!(
        W::TRAINING_RULES,
        config["rules"].as_str().unwrap_or("reference")
    );
    let query = &panel.cards[0].links[0].query;
    assert!(
        query.contains(&format!("&seed={}&", W::VALIDATION_SEED)),
        "{query}"
    );
}

#[test]
fn checkpoints_play_the_first_validation_seed() {
    checkpoints_play::<TrustEnv>();
    checkpoints_play::<ClusterEnv>();
    checkpoints_play::<PolyguardEnv>();
}
