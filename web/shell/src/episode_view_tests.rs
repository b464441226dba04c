//! Tests of episode views: updates replace frames, and hidden state is dropped with its run.

use super::*;
use crate::reactive::memo;
use sentinel_page_protocol::encode;

fn view(headline: &str) -> Vec<u8> {
    let view = AgentView {
        headline: headline.to_owned(),
        ..AgentView::default()
    };
    encode(&view).expect("bytes")
}

fn step(code: &str, notable: bool) -> StepLine {
    StepLine {
        code: code.to_owned(),
        notable,
        ..StepLine::default()
    }
}

fn episode() -> (Owner, Signal<usize>, EpisodeView) {
    let owner = Owner::new();
    owner.set();
    let cursor = Signal::new(0);
    let episode = EpisodeView::new(memo(move || cursor.get()));
    (owner, cursor, episode)
}

fn headline(episode: &EpisodeView) -> Option<String> {
    episode
        .frame
        .get_untracked()
        .map(|frame| frame.headline.clone())
}

#[test]
fn frames_are_replaced_from_where_the_update_says() {
    let (_owner, cursor, episode) = episode();
    assert_eq!(headline(&episode), None);
    cursor.set(9);
    let update = RunUpdate {
        run: 1,
        frames: vec![view("start"), view("one")],
        steps: vec![step("a", false)],
        ..RunUpdate::default()
    };
    assert!(episode.apply_update(update));
    // The action that is asked for is still to come.
    assert_eq!((headline(&episode), episode.action_count()), (None, 1));
    let update = RunUpdate {
        run: 1,
        from: 1,
        frames: vec![view("uno"), view("two")],
        steps: vec![step("x", false), step("b", true)],
        complete: true,
        ..RunUpdate::default()
    };
    assert!(!episode.apply_update(update));
    assert_eq!(
        (headline(&episode).as_deref(), episode.action_count()),
        (Some("two"), 2)
    );
    let codes: Vec<_> = episode
        .steps
        .get_untracked()
        .iter()
        .map(|s| s.code.clone())
        .collect();
    assert_eq!(codes, ["x", "b"]);
    cursor.set(1);
    assert_eq!(headline(&episode).as_deref(), Some("uno"));
    // A new run starts over, and invalid bytes are not a frame.
    let update = RunUpdate {
        run: 2,
        from: 1,
        frames: vec![vec![255; 3]],
        ..RunUpdate::default()
    };
    assert!(episode.apply_update(update));
    assert_eq!((headline(&episode), episode.action_count()), (None, 0));
}

#[test]
fn hidden_state_goes_with_its_run() {
    let (_owner, _cursor, episode) = episode();
    let run = |run| RunUpdate {
        run,
        frames: vec![view("start")],
        ..RunUpdate::default()
    };
    let truth = || TruthUpdate {
        frames: vec![encode(&Truth::default()).expect("bytes")],
        ..TruthUpdate::default()
    };
    episode.apply_update(run(1));
    episode.apply_truth(truth());
    assert!(episode.truth.frame.get_untracked().is_some());
    episode.clear_truth();
    assert!(episode.truth.frame.get_untracked().is_none());
    episode.apply_truth(truth());
    episode.apply_update(run(2));
    assert!(episode.truth.frame.get_untracked().is_none());
    episode.apply_truth(truth());
    episode.clear();
    assert!(episode.truth.frame.get_untracked().is_none() && headline(&episode).is_none());
}

#[test]
fn an_older_address_waits_for_its_world() {
    let state = PageState {
        legacy: true,
        ..PageState::default()
    };
    assert_eq!(RunInputs::main(&state, None), None);
    let info = WorldInfo {
        legacy_player: "bayes".to_owned(),
        ..WorldInfo::default()
    };
    let inputs = RunInputs::main(&state, Some(&info)).expect("inputs");
    assert_eq!(inputs.player, "bayes");
    assert_eq!(RunInputs::versus(&state), None);
    // What an engine understood is not asked for again.
    let played = PlayedEpisode {
        task: "task3".to_owned(),
        seed: 42,
        player: "bayes".to_owned(),
        ..PlayedEpisode::default()
    };
    let (mut inputs, mut state) = (inputs, state);
    inputs.apply_episode(&played);
    state.apply_episode(&played);
    assert_eq!(RunInputs::main(&state, None), Some(inputs));
}

#[test]
fn notable_steps_are_found_in_both_directions() {
    let steps = [
        step("a", true),
        step("b", false),
        step("c", true),
        step("d", false),
    ];
    assert_eq!(find_notable(&steps, 0, true), Some(1));
    assert_eq!(find_notable(&steps, 1, true), Some(3));
    assert_eq!(find_notable(&steps, 3, true), None);
    assert_eq!(find_notable(&steps, 4, false), Some(3));
    assert_eq!(find_notable(&steps, 3, false), Some(1));
    assert_eq!(find_notable(&steps, 1, false), None);
    assert_eq!(find_notable(&[], 0, true), None);
    assert_eq!(find_notable(&[], 9, false), None);
}

#[test]
fn the_first_difference_is_an_action() {
    let (a, b) = (
        [step("a", false), step("b", false)],
        [step("a", false), step("c", false)],
    );
    assert_eq!(first_difference(&a, &b), Some(2));
    assert_eq!(first_difference(&a, &a), None);
    assert_eq!(first_difference(&a, &a[..1]), Some(2));
    assert_eq!(differing(&a, &b, true), [false, true]);
    assert_eq!(differing(&a, &a[..1], true), [false, true]);
    assert_eq!(differing(&a, &a[..1], false), [false, false]);
    assert_eq!(differing(&a, &[], true), [false, false]);
}

/// The answer to a question does not depend on the rest of the hidden state, and goes with its run.
#[test]
fn an_answer_goes_with_its_run() {
    let (_owner, _cursor, episode) = episode();
    episode.answer.set(Some(Arc::default()));
    episode.clear_truth();
    assert!(episode.answer.get_untracked().is_some());
    episode.apply_update(RunUpdate {
        run: 77,
        ..RunUpdate::default()
    });
    assert!(episode.answer.get_untracked().is_none());
}

#[test]
fn a_question_waits_for_its_episode() {
    let mut state = PageState {
        world: "trust".to_owned(),
        screen: Screen::Spot,
        ..PageState::default()
    };
    assert_eq!(RunInputs::main(&state, None), None);
    state.apply_episode(&PlayedEpisode {
        task: "task3".to_owned(),
        seed: 5,
        player: "grpo".to_owned(),
        ..PlayedEpisode::default()
    });
    let inputs = RunInputs::main(&state, None).expect("an episode");
    assert_eq!((inputs.episode.seed, inputs.player.as_str()), (5, "grpo"));
    assert!(inputs.watched);
}
