//! The analysis of an episode, as the page asks for it.

mod common;

use common::{ask, deferred};
use sentinel_env::trust::TrustEnv;
use sentinel_page_engine::Engine;
use sentinel_page_engine::world::weights_path;
use sentinel_page_protocol::{AnalysisUpdate, DeferredReply, EpisodeRef, Reply, Request};
use sentinel_policy::nn::Published;

fn analyses(replies: &[Reply]) -> (Vec<AnalysisUpdate>, Vec<AnalysisUpdate>) {
    let (mut public, mut hindsight) = (Vec::new(), Vec::new());
    for reply in deferred(replies) {
        match reply {
            DeferredReply::Analysis(update) => public.push(*update),
            DeferredReply::TrueAnalysis(update) => hindsight.push(*update),
            _ => {}
        }
    }
    (public, hindsight)
}

/// Returns an engine that has played the episode of run 1 by a random player, and its replies.
fn engine_with_run(show_truth: bool) -> (Engine<TrustEnv>, Vec<Reply>) {
    let mut engine = Engine::<TrustEnv>::default();
    let episode = EpisodeRef {
        task: "task1".to_owned(),
        seed: 3,
        rules: "reference".to_owned(),
        ..EpisodeRef::default()
    };
    let mut replies = ask(
        &mut engine,
        Request::Play {
            run: 1,
            episode,
            player: "random".to_owned(),
            branch: None,
            watched: false,
        },
    );
    if show_truth {
        replies.extend(ask(&mut engine, Request::ShowTruth { run: 1, show: true }));
    }
    (engine, replies)
}

/// Starts the analysis of run 1, as part `part` of `parts`, before the policy's weights are here.
fn start_analysis(engine: &mut Engine<TrustEnv>, part: u32, parts: u32) {
    let request = Request::Analyze {
        run: 1,
        start: true,
        part,
        parts,
    };
    let replies = ask(engine, request);
    assert!(replies.contains(&Reply::Need(weights_path(TrustEnv::MODELS[0]))));
}

/// Delivers the weights of the trained policy, which plays on, and returns the replies.
fn deliver_weights(engine: &mut Engine<TrustEnv>) -> Vec<Reply> {
    let name = weights_path(TrustEnv::MODELS[0]);
    let weights = std::fs::read(format!("../../{name}")).expect("the weights");
    ask(
        engine,
        Request::File {
            name,
            content: Ok(weights),
            dropped: false,
        },
    )
}

/// Returns the results in `replies` as requests for the engine that gathers them.
fn passed_on(replies: &[Reply]) -> Vec<Request> {
    let request = |reply| match reply {
        DeferredReply::PartialResults { run, results } => {
            Some(Request::PartialResults { run, results })
        }
        _ => None,
    };
    deferred(replies).into_iter().filter_map(request).collect()
}

#[test]
fn engines_that_divide_the_steps_find_what_one_alone_finds() {
    let (mut alone, _) = engine_with_run(true);
    start_analysis(&mut alone, 0, 1);
    let replies = deliver_weights(&mut alone);
    let (public, hindsight) = analyses(&replies);
    let whole = (public.last().cloned(), hindsight.last().cloned());

    let (mut first, _) = engine_with_run(true);
    start_analysis(&mut first, 0, 3);
    let helpers = [1, 2].map(|part| {
        let (mut helper, _) = engine_with_run(true);
        start_analysis(&mut helper, part, 3);
        passed_on(&deliver_weights(&mut helper))
    });
    let [early, late] = helpers;
    assert_eq!(early.len(), 2, "one message for each source of states");
    // One helper is done before the first engine has begun, the other one later.
    for request in early {
        assert_eq!(ask(&mut first, request), []);
    }
    let mut replies = deliver_weights(&mut first);
    let (public, _) = analyses(&replies);
    let last = public.last().expect("an analysis");
    assert!(last.done < last.total, "a part is missing");
    for request in late {
        replies.extend(ask(&mut first, request));
    }
    let (public, hindsight) = analyses(&replies);
    assert_eq!((public.last().cloned(), hindsight.last().cloned()), whole);
}

/// The weights of the policy that watches restart the run, and a file that arrives again does, too.
#[test]
fn a_restarted_run_keeps_the_results_of_others() {
    let mut first = Engine::<TrustEnv>::default();
    let play = Request::Play {
        run: 1,
        episode: EpisodeRef {
            task: "task1".to_owned(),
            seed: 3,
            rules: "reference".to_owned(),
            ..EpisodeRef::default()
        },
        player: "random".to_owned(),
        branch: None,
        watched: true,
    };
    ask(&mut first, play);
    ask(
        &mut first,
        Request::Analyze {
            run: 1,
            start: true,
            part: 0,
            parts: 2,
        },
    );
    let (mut helper, _) = engine_with_run(false);
    start_analysis(&mut helper, 1, 2);
    for request in passed_on(&deliver_weights(&mut helper)) {
        assert_eq!(ask(&mut first, request), []);
    }
    for arrival in ["first", "again"] {
        let replies = deliver_weights(&mut first);
        let (public, _) = analyses(&replies);
        let last = public.last().expect("an analysis");
        assert_eq!(last.done, last.total, "{arrival}");
    }
}

#[test]
fn results_of_another_run_are_dropped() {
    let (mut first, _) = engine_with_run(false);
    start_analysis(&mut first, 0, 2);
    let before = deliver_weights(&mut first);
    let mut helper = Engine::<TrustEnv>::default();
    ask(
        &mut helper,
        Request::Play {
            run: 1,
            episode: EpisodeRef {
                rules: "reference".to_owned(),
                ..EpisodeRef::default()
            },
            player: "random".to_owned(),
            branch: None,
            watched: false,
        },
    );
    start_analysis(&mut helper, 1, 2);
    let mut others = passed_on(&deliver_weights(&mut helper));
    assert!(!others.is_empty());
    others.push(Request::PartialResults {
        run: 1,
        results: vec![255; 9],
    });
    for request in others {
        assert_eq!(ask(&mut first, request), []);
    }
    let (public, _) = analyses(&before);
    assert!(public.last().is_some_and(|last| last.done > 0));
}

#[test]
fn every_step_is_compared_and_hindsight_is_sent_with_the_truth_only() {
    let (mut engine, replies) = engine_with_run(false);
    let actions = common::run_of(&replies).steps.len();
    start_analysis(&mut engine, 0, 1);
    let replies = deliver_weights(&mut engine);
    let (public, hindsight) = analyses(&replies);
    assert_eq!(hindsight, Vec::<AnalysisUpdate>::new());
    let last = public.last().expect("an analysis");
    assert_eq!((last.run, last.done), (1, last.total));
    assert_eq!(last.steps.len(), actions);
    for step in &last.steps {
        let chosen = step.actions.iter().filter(|action| action.is_chosen);
        assert_eq!((step.actions.len(), chosen.count()), (12, 1));
        let values: Vec<f64> = step.actions.iter().map(|action| action.value).collect();
        assert!(values.is_sorted_by(|a, b| a >= b), "{values:?}");
        assert!(step.loss >= 0.0 && step.interval.is_some());
    }
    let accuracy = last.accuracy.expect("an accuracy");
    assert!(accuracy < 0.95, "a random player errs: {accuracy}");
    assert!(last.steps.iter().any(|step| step.is_mistake));

    let replies = ask(&mut engine, Request::ShowTruth { run: 1, show: true });
    let (public, hindsight) = analyses(&replies);
    assert_eq!(public, Vec::<AnalysisUpdate>::new());
    let last = hindsight.last().expect("an analysis with hindsight");
    assert_eq!((last.done, last.steps.len()), (last.total, actions));
    assert!(last.steps.iter().all(|step| step.actions.len() == 12));
}
