//! Tests of the engine of recorded results, on the files that ship with the page: every log and
//! report can be read, the numbers are those of the files, and links lead to episodes with the
//! score that they name.

mod common;

use std::path::PathBuf;

use sentinel_env::cluster::ClusterEnv;
use sentinel_env::polyguard::PolyguardEnv;
use sentinel_env::trust::TrustEnv;
use sentinel_page_engine::worker::Program as _;
use sentinel_page_engine::{Engine, PageWorld, RecordsEngine};
use sentinel_page_protocol::{
    Curves, EpisodeLink, EpisodeRef, Export, PlayedEpisode, Reply, Request, ResultsPart,
    ResultsTable, ResultsView,
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

fn curves(engine: &mut RecordsEngine, world: &str, runs: &[&str]) -> Curves {
    let request = Request::Curves {
        world: world.to_owned(),
        runs: runs.iter().map(|run| (*run).to_owned()).collect(),
        smooth: false,
    };
    match ask(engine, request).as_slice() {
        [Reply::Curves(curves)] => curves.clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn every_run_that_ships_is_drawn_with_the_values_of_its_log() {
    let mut engine = RecordsEngine::default();
    let known = curves(&mut engine, "trust", &[]).runs;
    assert_eq!(known.len(), 16);
    for run in known {
        let drawn = curves(&mut engine, "trust", &[&run.name]);
        let log = json(&run.path);
        let entries = log["log_history"].as_array().expect("entries");
        assert!(drawn.charts.len() >= 5, "{}: {:?}", run.name, drawn.charts);
        for metric in &drawn.charts {
            let value = |entry: &Value| entry.get(&metric.metric).and_then(Value::as_f64);
            let logged: Vec<f64> = entries.iter().filter_map(value).collect();
            let line = &metric.chart.lines[0];
            let drawn: Vec<f64> = line.y.iter().map(|value| f64::from(*value)).collect();
            assert_eq!(drawn.len(), logged.len(), "{} {}", run.name, metric.metric);
            for (drawn, logged) in drawn.iter().zip(&logged) {
                let near = (drawn - logged).abs() <= 1e-6 * logged.abs().max(1.0);
                assert!(near, "{} {}: {drawn} {logged}", run.name, metric.metric);
            }
            assert!(metric.help.ends_with('.'), "{}", metric.metric);
        }
        let shown = drawn.runs.iter().find(|shown| shown.name == run.name);
        let shown = shown.expect("the run");
        let steps = log["global_step"].as_u64().expect("steps").to_string();
        assert!(shown.summary.starts_with(&steps), "{}", shown.summary);
        assert_eq!((shown.style, shown.tag.as_str()), (Some(0), ""));
    }
}

#[test]
fn runs_side_by_side_share_charts() {
    let mut engine = RecordsEngine::default();
    let both = curves(
        &mut engine,
        "trust",
        &["trust-grpo", "cluster-grpo", "trust-micro-grpo"],
    );
    let chart = |id: &str| {
        let found = both.charts.iter().find(|metric| metric.chart.id == id);
        &found.unwrap_or_else(|| panic!("{id}")).chart
    };
    let names = |id: &str| {
        let lines = chart(id).lines.iter();
        lines.map(|line| line.name.clone()).collect::<Vec<_>>()
    };
    assert_eq!(names("evaluation"), ["A", "B"]);
    assert_eq!(chart("evaluation").subtitle, "not logged by C");
    assert_eq!(names("reward"), ["A", "B", "C"]);
    assert_eq!(names("invalid"), ["C"]);
    // The world decides only if no run is named.
    let cluster = curves(&mut engine, "cluster", &[]);
    let shown = cluster.runs.iter().filter(|run| run.style.is_some());
    let shown: Vec<&str> = shown.map(|run| run.name.as_str()).collect();
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
            matches!(&replies[..], [Reply::FileRead(text), Reply::RunAdded(run)]
                if text.starts_with("trainer_state.json: ") && run == name),
            "{replies:?}"
        );
    }
    let both = curves(&mut engine, "trust", &["trainer_state-2", "trust-grpo"]);
    let reward = both.charts.iter().find(|m| m.metric == "reward");
    assert_eq!(reward.expect("a chart").chart.lines[0].y, [0.25]);
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
        matches!(&replies[..], [Reply::Exported(file)]
            if file.name == "training-reward.png" && file.content.starts_with(b"<svg")),
        "{replies:?}"
    );
    let replies = ask(&mut engine, export("nothing"));
    assert!(matches!(&replies[..], [Reply::Problem(_)]), "{replies:?}");
    let replies = ask(&mut engine, drop("a.json", "{}"));
    assert!(
        matches!(replies.as_slice(), [Reply::Problem(text)] if text.starts_with("a.json is not a trainer state")),
        "{replies:?}"
    );
    let request = Request::Curves {
        world: "trust".to_owned(),
        runs: vec!["gone".to_owned()],
        smooth: true,
    };
    let replies = ask(&mut engine, request);
    assert!(
        matches!(replies.as_slice(), [Reply::Problem(text), Reply::Curves(_)] if text.contains("gone")),
        "{replies:?}"
    );
}

#[test]
fn missing_files_are_named_and_the_others_shown() {
    let mut engine = RecordsEngine::default();
    engine.handle(Request::Results);
    let mut named = 0;
    let mut view = None;
    while let Some(reply) = engine.next_reply() {
        match reply {
            Reply::Need(path) if path.contains("trust-sweep") => engine.handle(Request::File {
                content: Err(format!("{path} could not be fetched")),
                name: path,
                dropped: false,
            }),
            Reply::Need(path) => engine.handle(fetched(&path)),
            Reply::Problem(text) => named += usize::from(text.contains("trust-sweep")),
            Reply::Results(found) => view = Some(found),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(named, 1);
    assert!(view.expect("a view").sections.len() > 5);
}

fn results() -> ResultsView {
    let mut engine = RecordsEngine::default();
    match ask(&mut engine, Request::Results).as_slice() {
        [Reply::Results(view)] => (**view).clone(),
        other => panic!("{other:?}"),
    }
}

fn tables(view: &ResultsView) -> impl Iterator<Item = &ResultsTable> {
    let parts = view.sections.iter().flat_map(|section| &section.parts);
    parts.filter_map(|part| match part {
        ResultsPart::Table(table) => Some(table),
        ResultsPart::Chart(_) => None,
    })
}

/// Returns the number at the beginning of a cell.
fn number(text: &str) -> f64 {
    let first = text.split(' ').next().unwrap_or_default();
    first.parse().unwrap_or_else(|_| panic!("{text}"))
}

#[test]
fn tables_have_the_numbers_of_the_files() {
    let view = results();
    let table = |id: &str| {
        let found = tables(&view).find(|table| table.id == id);
        found.unwrap_or_else(|| panic!("{id}"))
    };
    let report = json("results/report/results.json");
    for evaluation in report["evaluations"].as_array().expect("a list") {
        let id = evaluation["id"].as_str().expect("an id");
        if !["eval_post", "eval_cluster", "eval_polyguard"].contains(&id) {
            continue;
        }
        let rows = &table(&format!("{id}-scores")).rows;
        let policies = evaluation["policies"].as_array().expect("a list");
        assert_eq!(rows.len(), policies.len(), "{id}");
        let mut means: Vec<f64> = policies
            .iter()
            .filter_map(|policy| policy["score"]["mean"].as_f64())
            .collect();
        means.sort_by(|a, b| b.total_cmp(a));
        let shown: Vec<f64> = rows.iter().map(|row| number(&row.cells[0].text)).collect();
        assert_eq!(shown, means, "{id}");
    }
    assert_eq!(table("ablations").rows.len(), 3);
    assert!(
        table("ablations").rows[1]
            .command
            .starts_with("sentinel eval ")
    );
    let stack = json("results/policy_ablations.json");
    let first = stack["ablation"][0]["score"]["mean"].as_f64();
    assert_eq!(Some(number(&table("stack").rows[0].cells[0].text)), first);
    for sweep in ["trust", "polyguard"] {
        let file = json(&format!("results/{sweep}-sweep/results.json"));
        let entries = file["sweeps"][0]["entries"].as_array().expect("a list");
        let section = view.sections.iter();
        let source = format!("results/{sweep}-sweep/results.json");
        let section = section.filter(|section| section.source == source);
        let view = ResultsView {
            sections: section.cloned().collect(),
        };
        let improvement = tables(&view).find(|table| table.id.ends_with("-improvement"));
        let rows = &improvement.expect("a table").rows;
        for (entry, row) in entries.iter().zip(rows) {
            let difference = entry["improvement"]["difference"].as_f64();
            let shown = number(&row.cells[0].text);
            assert!((shown - difference.expect("a number")).abs() < 5.1e-5);
            assert_eq!(row.cells[4].text, "refused");
            assert!(row.command.starts_with("sentinel lm compare"), "{row:?}");
        }
        assert!(view.sections[0].parts.len() > 5);
    }
    let ids: Vec<&str> = tables(&view).map(|table| table.id.as_str()).collect();
    let mut unique = ids.clone();
    unique.sort_unstable();
    unique.dedup();
    assert_eq!(ids.len(), unique.len(), "{ids:?}");
}

/// Plays an episode in an engine of its own, with the files that it asks for; returns the score and
/// what went wrong.
fn play<W: PageWorld>(engine: &mut Engine<W>, episode: &PlayedEpisode) -> f64 {
    let request = Request::Play {
        run: 1,
        episode: EpisodeRef {
            task: episode.task.clone(),
            seed: episode.seed,
            streams: episode.streams.clone(),
            rules: episode.rules.clone(),
        },
        player: episode.player.clone(),
        branch: None,
    };
    let mut replies = common::ask(engine, request);
    let needs = replies.iter().filter_map(|reply| match reply {
        Reply::Need(path) => Some(fetched(path)),
        Reply::Problem(text) => panic!("{text}"),
        _ => None,
    });
    let needs: Vec<Request> = needs.collect();
    for file in needs {
        replies = common::ask(engine, file);
    }
    let update = common::run_of(&replies);
    assert_eq!(update.episode.player, episode.player);
    assert!(update.done, "{episode:?}");
    common::views(update).last().expect("a frame").score
}

fn links_keep_their_word<W: PageWorld>(links: &[&EpisodeLink]) {
    let mut engine = Engine::<W>::default();
    let own = links.iter().filter(|link| link.world == W::NAME);
    let mut count = 0;
    for link in own {
        let score = play(&mut engine, &link.episode);
        assert!((score - link.score).abs() < 5.1e-5, "{link:?}: {score}");
        count += 1;
    }
    assert!(count > 40, "{count}");
}

#[test]
fn every_link_leads_to_an_episode_with_its_score() {
    let view = results();
    let rows = tables(&view).flat_map(|table| &table.rows);
    let links: Vec<&EpisodeLink> = rows.flat_map(|row| &row.episodes).collect();
    links_keep_their_word::<TrustEnv>(&links);
    links_keep_their_word::<ClusterEnv>(&links);
    links_keep_their_word::<PolyguardEnv>(&links);
}

fn checkpoints_play<W: PageWorld>() {
    let mut engine = Engine::<W>::default();
    let replies = common::ask(&mut engine, Request::Describe);
    let Some(Reply::World(info)) = replies.first() else {
        panic!("{replies:?}");
    };
    assert_eq!(info.checkpoints.len(), 3);
    let task = &info.checkpoint_episode.task;
    assert!(info.tasks.iter().any(|known| known.name == *task), "{task}");
    let score = |player: &str| {
        let episode = PlayedEpisode {
            player: player.to_owned(),
            ..info.checkpoint_episode.clone()
        };
        play(&mut Engine::<W>::default(), &episode)
    };
    let players = info.checkpoints.iter();
    let scores: Vec<f64> = players.map(|player| score(&player.name)).collect();
    assert!(scores[0] < scores[2], "{}: {scores:?}", W::NAME);
    let mut folder = source("replays/grpo/config.json");
    if W::NAME != "trust" {
        folder = source(&format!("replays/{}-grpo/config.json", W::NAME));
    }
    let config = std::fs::read_to_string(folder).expect("a configuration");
    let config: Value = serde_json::from_str(&config).expect("JSON");
    let seeds = config["validation_seeds"].as_str().expect("seeds");
    let first = format!("{}..", info.checkpoint_episode.seed);
    assert!(seeds.starts_with(&first), "{seeds}");
    let rules = config["rules"].as_str().unwrap_or("reference");
    assert_eq!(info.checkpoint_episode.rules, rules);
}

#[test]
fn checkpoints_play_the_first_validation_seed() {
    checkpoints_play::<TrustEnv>();
    checkpoints_play::<ClusterEnv>();
    checkpoints_play::<PolyguardEnv>();
}
