//! The analysis of an episode, as the page asks for it.

mod common;

use common::ask;
use sentinel_env::trust::TrustEnv;
use sentinel_page_engine::{Engine, PageWorld};
use sentinel_page_protocol::{AnalysisUpdate, EpisodeRef, Reply, Request};

fn analyses(replies: &[Reply]) -> (Vec<&AnalysisUpdate>, Vec<&AnalysisUpdate>) {
    let (mut public, mut hindsight) = (Vec::new(), Vec::new());
    for reply in replies {
        match reply {
            Reply::Analysis(update) => public.push(&**update),
            Reply::TrueAnalysis(update) => hindsight.push(&**update),
            _ => {}
        }
    }
    (public, hindsight)
}

#[test]
fn every_step_is_compared_and_hindsight_is_sent_with_the_truth_only() {
    let mut engine = Engine::<TrustEnv>::default();
    let replies = ask(
        &mut engine,
        Request::Play {
            run: 1,
            episode: EpisodeRef {
                task: "task1".to_owned(),
                seed: 3,
                ..EpisodeRef::default()
            },
            player: "random".to_owned(),
            branch: None,
        },
    );
    let actions = common::run_of(&replies).steps.len();
    // The trained policy plays on, so its weights are needed.
    let replies = ask(
        &mut engine,
        Request::Analyze {
            run: 1,
            start: true,
        },
    );
    assert!(replies.contains(&Reply::Need(TrustEnv::WEIGHTS.to_owned())));
    let weights = std::fs::read(format!("../../{}", TrustEnv::WEIGHTS)).expect("the weights");
    let replies = ask(
        &mut engine,
        Request::File {
            name: TrustEnv::WEIGHTS.to_owned(),
            content: Ok(weights),
            dropped: false,
        },
    );
    let (public, hindsight) = analyses(&replies);
    assert_eq!(hindsight, Vec::<&AnalysisUpdate>::new());
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
    assert_eq!(public, Vec::<&AnalysisUpdate>::new());
    let last = hindsight.last().expect("an analysis with hindsight");
    assert_eq!((last.done, last.steps.len()), (last.total, actions));
    assert!(last.steps.iter().all(|step| step.actions.len() == 12));
}
