//! Logs of transformers' Trainer that the visitor drops: numbers in them may be NaN or Infinity.

mod common;

use common::{deferred, drop_file, problems, repository};
use sentinel_env::trust::TrustEnv;
use sentinel_page_engine::worker::Program as _;
use sentinel_page_engine::{Engine, RecordsEngine};
use sentinel_page_protocol::{Chart, DeferredReply, Note, Reply, Request};

fn ask(engine: &mut RecordsEngine, request: Request) -> Vec<Reply> {
    engine.handle(request);
    std::iter::from_fn(|| engine.next_reply()).collect()
}

/// Drops a recorded log on the engine of a world, which passes it on, and returns its charts.
fn charts(name: &str) -> Vec<(Chart, Note)> {
    let log = repository(&format!("testdata/oracle/trainer_state/{name}.json"));
    let replies = drop_file(&mut Engine::<TrustEnv>::default(), name, &log);
    let [DeferredReply::TrainingLog { name, text }] = &deferred(&replies)[..] else {
        panic!("{replies:?}");
    };
    let mut engine = RecordsEngine::default();
    let dropped = Request::File {
        name: name.clone(),
        content: Ok(text.clone().into_bytes()),
        dropped: true,
    };
    let replies = ask(&mut engine, dropped);
    assert!(problems(&replies).is_empty(), "{replies:?}");
    let training = Request::Training {
        world: "trust".to_owned(),
        runs: name.clone(),
    };
    match deferred(&ask(&mut engine, training)).as_slice() {
        [DeferredReply::Records(found)] => found.sections[0].charts.clone(),
        other => panic!("{other:?}"),
    }
}

fn values(charts: &[(Chart, Note)], metric: &str) -> Vec<f32> {
    let found = charts.iter().find(|(_, name)| name.text == metric);
    let (chart, _) = found.unwrap_or_else(|| panic!("{metric}"));
    chart.lines[0].y.clone()
}

#[test]
fn numbers_that_are_not_finite_are_gaps_of_dropped_logs() {
    let nan = charts("nan");
    let norms = values(&nan, "grad_norm");
    assert!(norms[0].is_nan(), "{norms:?}");
    assert_eq!(norms[1..], [1.183_867_7, 1.044_704_9]);
    assert_eq!(values(&nan, "reward").len(), 3);
    assert_eq!(values(&charts("infinity"), "reward"), [0.1, 0.2]);
}
