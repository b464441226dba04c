//! Tests that engines work in slices, so that messages are answered while a slow policy plays.

mod common;

use sentinel_env::cluster::ClusterEnv;
use sentinel_env::trust::TrustEnv;
use sentinel_page_engine::Engine;
use sentinel_page_protocol::{Reply, Request};

/// Checks that a slow policy sends its actions after every slice, and that messages are answered in
/// between.
#[test]
fn slow_policy_is_shown_action_by_action() {
    let mut engine = Engine::<ClusterEnv>::default();
    let play = |run, player: &str| Request::Play {
        run,
        episode: sentinel_page_protocol::EpisodeRef {
            task: "task1".to_owned(),
            seed: 3,
            ..Default::default()
        },
        player: player.to_owned(),
        branch: None,
        watched: false,
    };
    engine.handle(play(1, "lookahead"));
    assert!(engine.work(|| true), "one action is not the whole episode");
    let replies: Vec<Reply> = std::iter::from_fn(|| engine.next_reply()).collect();
    let first = common::run_of(&replies);
    assert_eq!(
        (first.run, first.steps.len(), first.complete),
        (1, 1, false)
    );
    engine.handle(play(2, "blind"));
    let mut complete = Vec::new();
    while engine.work(|| true) || complete.len() < 2 {
        for reply in std::iter::from_fn(|| engine.next_reply()) {
            if let Reply::Run(update) = reply
                && update.complete
            {
                complete.push(update.run);
            }
        }
    }
    assert_eq!(complete.len(), 2, "{complete:?}");
}

/// The episodes of the checkpoints are played in slices, not while the last file is handled.
#[test]
fn checkpoints_are_played_in_slices() {
    let mut engine = Engine::<TrustEnv>::default();
    engine.handle(Request::Checkpoints);
    let needed: Vec<String> = std::iter::from_fn(|| engine.next_reply())
        .filter_map(|reply| match reply {
            Reply::Need(path) => Some(path),
            _ => None,
        })
        .collect();
    assert_eq!(needed.len(), 3);
    for name in needed {
        // The page has the folder elsewhere.
        let file = name.replacen("results/", "docs/results/", 1);
        let content = Ok(common::repository(&file));
        engine.handle(Request::File {
            name,
            content,
            dropped: false,
        });
    }
    assert_eq!(engine.next_reply(), None);
    let mut slices = 0;
    while engine.work(|| true) {
        assert_eq!(engine.next_reply(), None);
        slices += 1;
    }
    assert!(slices > 3, "{slices}");
    let replies: Vec<Reply> = std::iter::from_fn(|| engine.next_reply()).collect();
    assert_eq!(common::deferred(&replies).len(), 1);
}
