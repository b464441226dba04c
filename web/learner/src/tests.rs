//! Tests of the engine that trains, through its messages.

mod taken_run;

use super::*;
use sentinel_env::cluster::ClusterEnv;
use sentinel_env::polyguard::PolyguardEnv;
use sentinel_env::trust::TrustEnv;
use sentinel_policy::nn::{Model, NetworkWorld};

fn spec(world: &str, seed: u64) -> TrainingSpec {
    TrainingSpec {
        world: world.to_owned(),
        rules: "hardened".to_owned(),
        seed,
        episodes: Some(12),
        group_size: Some(4),
        hidden: Some(8),
        ..TrainingSpec::default()
    }
}

fn take_replies(learner: &mut Learner) -> Vec<DeferredReply> {
    while learner.work(|| true) {}
    take_ready(learner)
}

fn take_ready(learner: &mut Learner) -> Vec<DeferredReply> {
    let replies = std::iter::from_fn(|| learner.next_reply());
    let decoded = replies.map(|reply| match reply {
        Reply::Deferred(bytes) => decode(&bytes).expect("a reply of the learner"),
        other => panic!("{other:?}"),
    });
    decoded.collect()
}

fn updates(replies: &[DeferredReply]) -> Vec<TrainingUpdate> {
    let update = |reply: &DeferredReply| match reply {
        DeferredReply::Training(update) => Some((**update).clone()),
        _ => None,
    };
    replies.iter().filter_map(update).collect()
}

fn start(spec: TrainingSpec, helpers: u8, state: Vec<u8>) -> Request {
    LearnerRequest::Train {
        run: 1,
        spec: Box::new(spec),
        helpers,
        state,
    }
    .into()
}

/// Trains for some updates, and returns the messages of the learner.
fn train(learner: &mut Learner, spec: TrainingSpec, count: u32) -> Vec<TrainingUpdate> {
    learner.handle(start(spec, 0, Vec::new()));
    learner.handle(
        LearnerRequest::Learn {
            run: 1,
            updates: count,
        }
        .into(),
    );
    updates(&take_replies(learner))
}

#[test]
fn every_world_learns_and_evaluates() {
    for world in WorldName::ALL {
        let world = world.name();
        let all = train(&mut Learner::default(), spec(world, 1), 4);
        let first = &all[0];
        assert_eq!((first.updates, first.failure.as_str()), (0, ""), "{world}");
        assert!(first.command.contains(&format!("--world {world}")));
        assert!(!first.validation.tasks.is_empty());
        let scores: Vec<_> = all.iter().filter_map(|update| update.evaluation).collect();
        assert_eq!(scores.len(), 2, "{world}: before the first and after 4");
        assert!(scores.iter().all(|s| s.mean > 0.0 && s.half_width > 0.0));
        for update in &all {
            let evaluated = update.evaluation.is_some();
            let rates = (3..=4).contains(&update.rates.len());
            assert_eq!((rates, update.attempt.is_some()), (evaluated, evaluated));
            assert!(update.rates.iter().all(|rate| rate.count <= rate.of));
        }
        let last = &all[all.len() - 1];
        assert_eq!(last.updates, 4, "{world}");
        assert!(last.env_steps > 0 && last.digest != first.digest, "{world}");
    }
}

/// The same settings give the same weights, in one go or step by step; another seed gives others.
#[test]
fn a_run_is_a_function_of_its_settings() {
    let digest = |updates: &[TrainingUpdate]| updates[updates.len() - 1].digest.clone();
    let whole = digest(&train(&mut Learner::default(), spec("trust", 1), 3));
    let mut stepwise = Learner::default();
    train(&mut stepwise, spec("trust", 1), 1);
    for _ in 0..2 {
        stepwise.handle(LearnerRequest::Learn { run: 1, updates: 1 }.into());
    }
    assert_ne!(
        digest(&updates(&take_replies(&mut stepwise))),
        whole,
        "two requests, one update"
    );
    stepwise.handle(LearnerRequest::Learn { run: 1, updates: 1 }.into());
    assert_eq!(digest(&updates(&take_replies(&mut stepwise))), whole);
    let other = digest(&train(&mut Learner::default(), spec("trust", 2), 3));
    assert_ne!(other, whole);
    let changed = TrainingSpec {
        without: "efficiency".to_owned(),
        ..spec("trust", 1)
    };
    let changed = train(&mut Learner::default(), changed, 3);
    assert!(
        changed[0]
            .command
            .ends_with(" --without-reward-term efficiency")
    );
    assert_ne!(digest(&changed), whole);
}

/// Trains with helpers that answer in another order; returns the messages of the learner.
fn train_with(helpers: u8, spec: TrainingSpec, updates: u32) -> Vec<DeferredReply> {
    let mut learner = Learner::default();
    let mut others: Vec<Learner> = (0..helpers).map(|_| Learner::default()).collect();
    learner.handle(start(spec, helpers, Vec::new()));
    learner.handle(LearnerRequest::Learn { run: 1, updates }.into());
    let (mut all, mut parts) = (Vec::new(), 0);
    loop {
        learner.work(|| true);
        let replies = take_ready(&mut learner);
        let is_over = replies.is_empty() && !learner.work(|| true);
        for reply in replies {
            match reply {
                DeferredReply::Part { helper, part, .. } => {
                    parts += 1;
                    let part = LearnerRequest::PlayPart { run: 1, part };
                    others[usize::from(helper)].handle(part.into());
                }
                other => all.push(other),
            }
        }
        let mut answered = false;
        for (helper, other) in (0..helpers).zip(&mut others).rev() {
            other.work(|| true);
            for reply in take_ready(other) {
                let DeferredReply::PartPlayed { run, episodes } = reply else {
                    panic!("{reply:?}");
                };
                answered = true;
                learner.handle(
                    LearnerRequest::PartPlayed {
                        run,
                        helper,
                        episodes,
                    }
                    .into(),
                );
            }
        }
        if is_over && !answered {
            assert_eq!(parts > 0, helpers > 0);
            return all;
        }
    }
}

/// The weights and scores do not depend on the number of engines that play.
#[test]
fn helpers_do_not_change_the_result() {
    for world in WorldName::ALL {
        let spec = || spec(world.name(), 3);
        let alone = updates(&train_with(0, spec(), 5));
        let of = |updates: &[TrainingUpdate]| {
            let scores = updates.iter().filter_map(|update| update.evaluation);
            let digests = updates
                .iter()
                .map(|update| (update.updates, update.digest.clone()));
            let digests: std::collections::BTreeMap<u32, String> = digests.collect();
            (scores.collect::<Vec<_>>(), digests)
        };
        assert_eq!(of(&alone).1.len(), 6, "{}", world.name());
        for helpers in [1, 3] {
            let shared = updates(&train_with(helpers, spec(), 5));
            assert_eq!(of(&shared), of(&alone), "{}", world.name());
        }
    }
}

/// A run whose helpers are lost goes on, and a saved state continues with the same weights.
#[test]
fn a_run_survives_its_helpers_and_itself() {
    let whole = train_with(0, spec("cluster", 4), 27);
    let digest = |replies: &[DeferredReply]| {
        let updates = updates(replies);
        updates[updates.len() - 1].digest.clone()
    };
    let mut learner = Learner::default();
    learner.handle(start(spec("cluster", 4), 2, Vec::new()));
    learner.handle(
        LearnerRequest::Learn {
            run: 1,
            updates: 27,
        }
        .into(),
    );
    assert!(
        take_replies(&mut learner)
            .iter()
            .any(|reply| { matches!(reply, DeferredReply::Part { .. }) })
    );
    learner.handle(LearnerRequest::PlayAlone { run: 1 }.into());
    assert_eq!(digest(&take_replies(&mut learner)), digest(&whole));

    let states = whole.iter().filter_map(|reply| match reply {
        DeferredReply::TrainingCheckpoint { state, .. } => Some(state.clone()),
        _ => None,
    });
    let states: Vec<_> = states.collect();
    // The last one is of the second phase.
    for (place, done) in [(1, 4), (states.len() - 1, 24)] {
        let mut learner = Learner::default();
        learner.handle(start(spec("cluster", 4), 0, states[place].clone()));
        let updates = 27 - done;
        learner.handle(LearnerRequest::Learn { run: 1, updates }.into());
        assert_eq!(
            digest(&take_replies(&mut learner)),
            digest(&whole),
            "{done}"
        );
    }
    let mut learner = Learner::default();
    learner.handle(start(spec("trust", 4), 0, states[1].clone()));
    let refused = updates(&take_replies(&mut learner));
    assert!(refused[0].failure.contains("saved state"), "{refused:?}");
}

#[test]
fn an_action_is_credited_with_its_step_or_its_episode() {
    for (name, shown) in [("", "step"), ("episode", "episode")] {
        let spec = TrainingSpec {
            credit: name.to_owned(),
            ..spec("trust", 1)
        };
        let all = train(&mut Learner::default(), spec, 1);
        let last = &all[all.len() - 1];
        assert_eq!((last.updates, last.failure.as_str()), (1, ""));
        assert_eq!(last.spec.credit, shown);
        assert!(last.command.contains(&format!("--credit {shown}")));
    }
}

/// A run from the published policy waits for its file, has its width, and needs no imitation.
#[test]
fn a_run_starts_from_the_published_policy() {
    let published = TrainingSpec {
        start: "published".to_owned(),
        ..spec("cluster", 1)
    };
    let mut learner = Learner::default();
    learner.handle(start(published.clone(), 0, Vec::new()));
    learner.handle(LearnerRequest::Learn { run: 1, updates: 1 }.into());
    assert!(!learner.work(|| true), "it waits");
    let Some(Reply::Need(path)) = learner.next_reply() else {
        panic!("no request of the policy");
    };
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let file = |content| Request::File {
        name: path.clone(),
        content,
        dropped: false,
    };
    let bytes = std::fs::read(folder.join(&path)).expect(&path);
    learner.handle(file(Ok(bytes)));
    let all = updates(&take_replies(&mut learner));
    let last = &all[all.len() - 1];
    assert_eq!((last.updates, last.phase.as_str()), (1, "grpo"));
    assert_ne!(last.spec.hidden, published.hidden);
    assert!(last.command.contains("sentinel train") && last.command.contains("--init replays/"));
    assert!(!last.command.contains("imitate"));

    learner.handle(start(published, 0, Vec::new()));
    assert!(matches!(learner.next_reply(), Some(Reply::Need(_))));
    learner.handle(file(Err("It is not there.".to_owned())));
    let refused = updates(&take_replies(&mut learner));
    assert_eq!(
        refused[0].failure,
        "Training cannot start: It is not there."
    );
}

#[test]
fn the_policy_can_be_taken_away() {
    let mut learner = Learner::default();
    train(&mut learner, spec("trust", 1), 1);
    learner.handle(LearnerRequest::TakeModel { run: 1 }.into());
    let replies = take_replies(&mut learner);
    let [DeferredReply::TrainedModel { content, run: 1 }] = &replies[..] else {
        panic!("{replies:?}");
    };
    let model = Model::<<TrustEnv as NetworkWorld>::Net>::from_bytes(content).expect("a model");
    assert_eq!(model.config.rules_name(), "hardened");
}

/// A setting that is not possible, and a rate at which the numbers overflow, end the run with a
/// sentence.
#[test]
fn a_run_that_fails_says_why() {
    for wrong in [
        TrainingSpec {
            group_size: Some(1),
            ..spec("trust", 1)
        },
        TrainingSpec {
            episodes: Some(0),
            ..spec("trust", 1)
        },
        TrainingSpec {
            rules: "none".to_owned(),
            ..spec("trust", 1)
        },
        TrainingSpec {
            entropy: "much".to_owned(),
            ..spec("trust", 1)
        },
        TrainingSpec {
            credit: "luck".to_owned(),
            ..spec("trust", 1)
        },
        TrainingSpec {
            hidden: Some(u32::MAX),
            ..spec("trust", 1)
        },
        TrainingSpec {
            episodes: Some(u32::MAX),
            ..spec("trust", 1)
        },
        TrainingSpec {
            without: "kindness".to_owned(),
            ..spec("trust", 1)
        },
        // A later phase has this setting.
        TrainingSpec {
            group_size: Some(u32::MAX),
            ..spec("cluster", 1)
        },
        TrainingSpec {
            learning_rate: "-1".to_owned(),
            ..spec("polyguard", 1)
        },
        spec("nowhere", 1),
    ] {
        let all = train(&mut Learner::default(), wrong.clone(), 1);
        assert_eq!(all[0].spec, wrong);
        assert!(
            all.len() == 1 && all[0].failure.starts_with("Training cannot start: "),
            "{all:?}"
        );
    }
    let wild = TrainingSpec {
        learning_rate: "1e38".to_owned(),
        ..spec("trust", 1)
    };
    let mut learner = Learner::default();
    let all = train(&mut learner, wild, 20);
    assert!(
        all[all.len() - 1].failure.starts_with("Training ended: "),
        "{all:?}"
    );
    assert!(!learner.work(|| false), "it must not go on");
}
