//! Checks that the engine of every world must pass.

#![allow(
    dead_code,
    unreachable_pub,
    reason = "each test binary uses some of the checks"
)]

use std::fmt::Debug;

use sentinel_env::{EpisodeSpec, TaskName as _, TrajectoryDigest};
use sentinel_page_engine::actor::Actor;
use sentinel_page_engine::{Engine, PageWorld, Run};
use sentinel_page_protocol::{
    AgentView, Answer, DeferredReply, EpisodeRef, Reply, Request, RunUpdate, Truth, TruthUpdate,
    decode, encode,
};

/// Plays an actor's actions and returns the run.
pub(crate) fn played<W: PageWorld>(episode: W, actor: Option<Box<dyn Actor<W>>>) -> Run<W> {
    let mut run = Run::from_episode(episode, actor, None, None);
    while run.advance() {}
    run
}

/// Returns an episode in the words of a request.
pub(crate) fn episode_ref<W: PageWorld>(origin: &EpisodeSpec<W>) -> EpisodeRef {
    EpisodeRef {
        task: origin.task.name().to_owned(),
        seed: origin.seed,
        streams: origin.streams.name().to_owned(),
        rules: origin.rules.to_string(),
    }
}

/// Sends a request and returns all replies once the work is done.
pub(crate) fn ask<W: PageWorld>(engine: &mut Engine<W>, request: Request) -> Vec<Reply> {
    // Encoded and decoded in both directions, as in the page.
    let message = encode(&request).expect("a message");
    engine.handle(decode(&message).expect("the same message"));
    while engine.work(|| false) {}
    let replies = std::iter::from_fn(|| engine.next_reply());
    replies
        .map(|reply| decode(&encode(&reply).expect("a message")).expect("the same message"))
        .collect()
}

/// Returns the run of the replies.
pub(crate) fn run_of(replies: &[Reply]) -> &RunUpdate {
    let run = |reply: &'_ Reply| matches!(reply, Reply::Run(_));
    match replies.iter().find(|reply| run(reply)) {
        Some(Reply::Run(update)) => update,
        _ => panic!("no run in {replies:?}"),
    }
}

/// Returns the hidden state of the replies.
pub(crate) fn truth_of(replies: &[Reply]) -> &TruthUpdate {
    let truth = replies.iter().find_map(|reply| match reply {
        Reply::Truth(update) => Some(update),
        _ => None,
    });
    truth.expect("hidden state was asked for")
}

/// Returns the latest answer of the replies, which hold nothing else that is hidden.
pub(crate) fn answer_of(replies: &[Reply]) -> Option<Answer> {
    let is_truth = |reply: &Reply| matches!(reply, Reply::Truth(_));
    assert!(!replies.iter().any(is_truth), "{replies:?}");
    let mut answers = replies.iter().filter_map(|reply| match reply {
        Reply::Answer { answer, .. } => Some((**answer).clone()),
        _ => None,
    });
    answers.next_back()
}

/// Returns the decoded views of a run.
pub(crate) fn views(update: &RunUpdate) -> Vec<AgentView> {
    let frames = update.frames.iter();
    frames.map(|frame| decode(frame).expect("a view")).collect()
}

/// Returns the decoded hidden state of a run.
pub(crate) fn truths(update: &TruthUpdate) -> Vec<Truth> {
    let frames = update.frames.iter();
    frames
        .map(|frame| decode(frame).expect("hidden state"))
        .collect()
}

/// Checks that every policy plays as it does natively: same trajectory, score and length.
pub(crate) fn policies_play_as_natively<W: PageWorld>(origin: EpisodeSpec<W>)
where
    W::PolicyName: sentinel_policy::Scripted<World = W>,
{
    some_policies_play_as_natively(origin, |_| true);
}

/// Checks that the policies for which `plays` is true play what they play natively.
pub(crate) fn some_policies_play_as_natively<W: PageWorld>(
    origin: EpisodeSpec<W>,
    plays: impl Fn(W::PolicyName) -> bool,
) where
    W::PolicyName: sentinel_policy::Scripted<World = W>,
{
    use sentinel_env::Named as _;
    use sentinel_policy::Scripted as _;
    let mut engine = Engine::<W>::default();
    for policy in W::policies().into_iter().filter(|policy| plays(*policy)) {
        let setup = origin.setup();
        let mut episode = W::reset(&setup);
        let mut player = policy.start(&setup);
        let (mut digest, mut actions) = (TrajectoryDigest::default(), 0);
        while let Some(action) = player.act(&episode) {
            let step = episode.step(action).expect("not over");
            digest.push(&episode, &step.info);
            actions += 1;
        }
        let replies = ask(
            &mut engine,
            Request::Play {
                run: 1,
                episode: episode_ref(&origin),
                player: policy.name().to_owned(),
                branch: None,
                watched: false,
            },
        );
        let update = run_of(&replies);
        let at = format!("{} {origin:?}", policy.name());
        assert_eq!(update.digest, digest.digest().to_string(), "{at}");
        assert_eq!(update.steps.len(), actions, "{at}");
        assert!(update.done && update.complete, "{at}");
        let views = views(update);
        let last = views.last().expect("a frame");
        assert_eq!(last.score, episode.score(), "{at}");
        assert!(last.done && last.next.is_empty(), "{at}");
        assert!(views.iter().all(|view| !view.headline.is_empty()), "{at}");
    }
}

/// Checks that the actions of a run, written as an address writes them, play the same run.
pub(crate) fn codes_replay_the_run<W: PageWorld>(origin: EpisodeSpec<W>, player: &str) {
    let mut engine = Engine::<W>::default();
    let play = |player: &str, branch| Request::Play {
        run: 1,
        episode: episode_ref(&origin),
        player: player.to_owned(),
        branch,
        watched: false,
    };
    let replies = ask(&mut engine, play(player, None));
    let first = run_of(&replies).clone();
    let actions: String = first.steps.iter().map(|step| step.code.as_str()).collect();
    let branch = sentinel_page_protocol::Branch {
        at: 0,
        actions,
        resume: false,
    };
    let replies = ask(&mut engine, play("you", Some(branch)));
    let again = run_of(&replies);
    assert_eq!(again.digest, first.digest, "{player} {origin:?}");
    assert!(again.steps.iter().all(|step| step.own) && again.refused.is_empty());
}

/// Checks that hidden state does not reach the agent's view with its suspects: two runs of the same actions that
/// differ only in hidden state have equal views as long as their observations and rewards are
/// equal. Returns the number of equal views.
pub(crate) fn views_of_equal_observations_are_equal<W: PageWorld>(
    one: &Run<W>,
    other: &Run<W>,
) -> usize
where
    W::Observation: Debug,
{
    let pairs = one
        .public_frames()
        .into_iter()
        .zip(other.public_frames())
        .enumerate();
    let mut equal = 0;
    for (index, (a, b)) in pairs {
        let public = |frame: &sentinel_page_engine::PublicFrame<'_, W>| {
            format!(
                "{:?} {:?} {:?}",
                frame.observation, frame.reward, frame.score
            )
        };
        if public(&a) != public(&b) {
            break;
        }
        // The next action may depend only on observations, so it is equal too.
        if a.next.as_ref().map(|next| next.code) != b.next.as_ref().map(|next| next.code) {
            break;
        }
        assert_eq!(one.view(index), other.view(index), "frame {index}");
        assert_eq!(
            one.step_line(index),
            other.step_line(index),
            "frame {index}"
        );
        equal += 1;
    }
    equal
}

/// Checks that invalid words of an address are reported, and that the defaults are played instead.
pub(crate) fn unknown_words_are_named<W: PageWorld>() {
    let mut engine = Engine::<W>::default();
    let replies = ask(
        &mut engine,
        Request::Play {
            run: 1,
            episode: EpisodeRef {
                task: "no-such-task".to_owned(),
                seed: u64::MAX,
                streams: "sideways".to_owned(),
                rules: "reference+nonsense".to_owned(),
            },
            player: "nobody".to_owned(),
            branch: Some(sentinel_page_protocol::Branch {
                at: 1,
                actions: "?!".to_owned(),
                resume: true,
            }),
            watched: false,
        },
    );
    let problems: Vec<&String> = replies
        .iter()
        .filter_map(|reply| match reply {
            Reply::Problem(sentence) => Some(sentence),
            _ => None,
        })
        .collect();
    for word in ["no-such-task", "sideways", "nonsense", "nobody", "?!"] {
        assert!(
            problems.iter().any(|sentence| sentence.contains(word)),
            "{word}: {problems:?}"
        );
    }
    let update = run_of(&replies);
    assert_eq!(update.episode.task, W::default_task().name());
    assert_eq!(update.episode.player, "grpo");
    assert!(
        update.source_note.contains("Loading"),
        "{}",
        update.source_note
    );
}

/// Drops a file onto an engine and returns all replies but the one that says what became of it.
pub(crate) fn drop_file<W: PageWorld>(
    engine: &mut Engine<W>,
    name: &str,
    content: &[u8],
) -> Vec<Reply> {
    let request = Request::File {
        name: name.to_owned(),
        content: Ok(content.to_vec()),
        dropped: true,
    };
    let mut replies = ask(engine, request);
    let is_handled = |reply: &Reply| match reply {
        Reply::Deferred(bytes) => {
            let reply = decode(bytes).expect("a deferred reply");
            matches!(reply, DeferredReply::FileHandled { .. })
        }
        _ => false,
    };
    replies.retain(|reply| !is_handled(reply));
    replies
}

/// Returns the replies to deferred parts of the shell.
pub(crate) fn deferred(replies: &[Reply]) -> Vec<DeferredReply> {
    let decoded = |reply: &Reply| match reply {
        Reply::Deferred(bytes) => Some(decode(bytes).expect("a deferred reply")),
        _ => None,
    };
    replies.iter().filter_map(decoded).collect()
}

/// Returns the sentences of the replies about what went wrong.
pub(crate) fn problems(replies: &[Reply]) -> Vec<String> {
    let general = replies.iter().filter_map(|reply| match reply {
        Reply::Problem(sentence) => Some(sentence.clone()),
        _ => None,
    });
    let of_files = deferred(replies)
        .into_iter()
        .filter_map(|reply| match reply {
            DeferredReply::FileProblem(sentence) => Some(sentence),
            _ => None,
        });
    general.chain(of_files).collect()
}

/// Returns a file of the repository.
pub(crate) fn repository(path: &str) -> Vec<u8> {
    let path = format!("{}/../../{path}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Returns label, warning and completed code of the answer about a draft action.
#[must_use]
pub fn checked(replies: &[Reply]) -> (String, String, String) {
    match replies.first() {
        Some(Reply::Checked {
            label,
            warning,
            completed,
            ..
        }) => (label.clone(), warning.clone(), completed.clone()),
        other => panic!("{other:?}"),
    }
}
