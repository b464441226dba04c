//! The episode of each world's guided playback: the rule that chose its seed, and its captions.

mod common;

use common::{ask, repository, run_of, truth_of, views};
use sentinel_env::cluster::ClusterEnv;
use sentinel_env::polyguard::PolyguardEnv;
use sentinel_env::trust::TrustEnv;
use sentinel_page_engine::world::world_info;
use sentinel_page_engine::{Engine, PageWorld};
use sentinel_page_protocol::{Caption, EpisodeRef, Reply, Request};

/// The longest playback in milliseconds.
const LIMIT_MS: u32 = 60_000;
/// The validation seeds of every world; no test seed is among them.
const VALIDATION: std::ops::Range<u64> = 5_000..5_050;

/// Returns the captions of an episode of the trained policy, with those of the Truth layer.
fn captions<W: PageWorld>(engine: &mut Engine<W>, episode: &EpisodeRef) -> Vec<(Caption, String)> {
    let request = Request::Play {
        run: 1,
        episode: episode.clone(),
        player: "grpo".to_owned(),
        branch: None,
    };
    let mut replies = ask(engine, request);
    let needed = replies.iter().find_map(|reply| match reply {
        Reply::Need(path) => Some(path.clone()),
        _ => None,
    });
    if let Some(name) = needed {
        let file = Request::File {
            content: Ok(repository(&name)),
            name,
            dropped: false,
        };
        replies = ask(engine, file);
    }
    let views = views(run_of(&replies));
    let replies = ask(engine, Request::ShowTruth { run: 1, show: true });
    let truths = truth_of(&replies).captions.clone();
    assert_eq!(views.len(), truths.len());
    let captions = views.into_iter().map(|view| view.caption);
    captions.zip(truths).collect()
}

/// Contents that a guided playback must have.
struct Wanted {
    /// Moments of different steps, in order, each with a part of its caption of the Truth layer.
    moments: &'static [(&'static str, &'static str)],
    /// A moment that it must not have, or a part of a caption.
    unwanted: &'static str,
}

/// Returns `true` if the captions tell what is wanted and are shown in time.
fn fits(captions: &[(Caption, String)], wanted: &Wanted) -> bool {
    let mut rest = captions.iter();
    let is_told = |(moment, truth): &(&str, &str)| {
        rest.any(|(caption, hidden)| caption.moment.contains(moment) && hidden.contains(truth))
    };
    let is_unwanted = |(caption, _): &(Caption, String)| {
        caption.moment.contains(wanted.unwanted) || caption.text.contains(wanted.unwanted)
    };
    wanted.moments.iter().all(is_told)
        && !captions.iter().any(is_unwanted)
        && duration(captions) < LIMIT_MS
}

fn duration(captions: &[(Caption, String)]) -> u32 {
    let durations = captions.iter();
    durations
        .map(|(caption, truth)| caption.duration_ms(truth))
        .sum()
}

/// Checks that the guided playback's seed is the first one that fits, and that its captions are short.
fn guided_playback_is_the_first_that_fits<W: PageWorld>(wanted: &Wanted) {
    let own = world_info::<W>().guided_playback;
    let own = EpisodeRef {
        task: own.task,
        seed: own.seed,
        streams: own.streams,
        rules: own.rules,
    };
    let mut engine = Engine::<W>::default();
    let mut fitting = VALIDATION.filter(|seed| {
        let episode = EpisodeRef {
            seed: *seed,
            ..own.clone()
        };
        fits(&captions(&mut engine, &episode), wanted)
    });
    assert_eq!(fitting.next(), Some(W::GUIDED_PLAYBACK_SEED), "{}", W::NAME);
    let told = captions(&mut engine, &own);
    for (step, (caption, truth)) in told.iter().enumerate() {
        let length = caption.text.len() + truth.len();
        assert!(length < 420, "{}: {caption:?} {truth}", W::NAME);
        let told = !truth.is_empty() && caption.text.contains(truth);
        assert!(!told, "a public caption tells {truth}");
        let start = format!("Step {step}: ");
        assert_eq!(caption.text.starts_with(&start), step > 0, "{caption:?}");
    }
    let last = told.last().map(|(caption, _)| &caption.moment);
    assert!(last.is_some_and(|moment| moment.ends_with("The end")));
}

#[test]
fn trust_shows_a_doubt_that_saves_a_subtask() {
    guided_playback_is_the_first_that_fits::<TrustEnv>(&Wanted {
        moments: &[
            ("The task", "is the adversary"),
            ("First failure", ""),
            ("First doubt", ""),
            ("A subtask saved", "is the adversary: its answer was poison"),
        ],
        unwanted: "A subtask lost",
    });
}

#[test]
fn cluster_shows_an_exposed_worker_and_a_saved_job() {
    guided_playback_is_the_first_that_fits::<ClusterEnv>(&Wanted {
        moments: &[
            ("A worker exposed", "is overstating"),
            ("First doubt", ""),
            ("First attack", "The adversary forges"),
            ("Attack found", ""),
            ("A job saved", ""),
        ],
        unwanted: "A false claim believed",
    });
}

#[test]
fn polyguard_shows_a_question_and_a_substitute() {
    guided_playback_is_the_first_that_fits::<PolyguardEnv>(&Wanted {
        moments: &[
            ("The task", "issues have to be resolved"),
            ("A question first", ""),
            ("A safer substitute", "an issue is resolved"),
            ("The end", ""),
        ],
        unwanted: "no step left",
    });
}
