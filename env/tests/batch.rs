//! Tests that a batch restarts its episodes automatically in every world, and returns the ended
//! ones.
#![allow(
    clippy::unwrap_used,
    reason = "a test stops at the first thing that is not there"
)]

mod cluster_play;
mod polyguard_play;

use sentinel_env::rng::Streams;
use sentinel_env::{Batch, Environment, Seeded, cluster, polyguard, trust};

/// Compares 400 steps of a batch with single episodes that use the seeds expected of the batch.
fn assert_restarts<E: Environment>(
    setup: &E::Setup,
    same: impl Fn(&E, &E) -> bool,
    choose: impl Fn(&E, u32) -> E::Action,
) {
    const SIZE: usize = 3;
    let reset = |seed| E::reset(&setup.with_seed(seed));
    let mut batch = Batch::<E>::new(setup, 7..12, SIZE);
    let mut singles: Vec<E> = (7..10).map(reset).collect();
    let mut seeds = (10..12).chain((7..12).cycle());
    let (mut out, mut ended) = (Vec::new(), 0);
    assert_eq!(batch.len(), SIZE);
    assert!((0..SIZE).all(|index| batch.last_ended(index).is_none()));
    for n in 0..400 {
        let pairs = batch.episodes().iter().zip(&singles);
        assert!(pairs.into_iter().all(|(a, b)| same(a, b)), "step {n}");
        let actions: Vec<E::Action> = (0_u32..)
            .zip(&singles)
            .map(|(index, episode)| choose(episode, SIZE as u32 * n + index))
            .collect();
        batch.step(&actions, &mut out).unwrap();
        for (index, (single, action)) in singles.iter_mut().zip(&actions).enumerate() {
            let taken = single.step(*action).unwrap();
            assert_eq!(taken.reward, out[index].reward);
            assert_eq!(taken.terminated, out[index].terminated);
            assert_eq!(taken.truncated, out[index].truncated);
            assert_eq!(taken.is_last(), E::is_done(single.observation()));
            if taken.is_last() {
                let last = batch.last_ended(index).unwrap();
                assert!(same(last, single), "the final observation is available");
                assert_eq!(last.score(), single.score());
                *single = reset(seeds.next().unwrap());
                ended += 1;
            }
        }
    }
    assert!(ended > SIZE, "only {ended} episodes ended");
    assert!(batch.observations().all(|o| !E::is_done(o)), "all run on");
}

/// Checks that an episode that has ended refuses a step and does not change.
fn assert_refuses_after_end<E: Environment>(
    setup: &E::Setup,
    choose: impl Fn(&E, u32) -> E::Action,
) {
    let mut episode = E::reset(setup);
    let mut n = 0;
    while !E::is_done(episode.observation()) {
        let action = choose(&episode, n);
        episode.step(action).unwrap();
        n += 1;
    }
    let action = choose(&E::reset(setup), 0);
    let (steps, score) = (E::step_count(episode.observation()), episode.score());
    assert!(episode.step(action).is_err());
    assert_eq!(E::step_count(episode.observation()), steps);
    assert_eq!(episode.score(), score);
}

#[test]
fn trust_batch_restarts_ended_episodes() {
    for task in trust::Task::ALL {
        let setup = trust::Setup::new(task, 0, Streams::Independent);
        let choose = |_: &trust::Episode, n: u32| trust::Action::ALL[n as usize % 12];
        assert_restarts::<trust::Episode>(&setup, |a, b| a == b, choose);
        assert_refuses_after_end::<trust::Episode>(&setup, choose);
    }
}

#[test]
fn cluster_batch_restarts_ended_episodes() {
    for task in cluster::Task::ALL {
        let setup = cluster::Setup::new(task, 0, Streams::Independent);
        let choose = |_: &cluster::Episode, n: u32| cluster_play::action(n, task);
        assert_restarts::<cluster::Episode>(&setup, |a, b| a == b, choose);
        assert_refuses_after_end::<cluster::Episode>(&setup, choose);
    }
}

#[test]
fn polyguard_batch_restarts_ended_episodes() {
    for case in polyguard::TaskSpec::ALL {
        let setup = polyguard::Setup::new(case, 0).with_rules(polyguard::Rules::HARDENED);
        let choose = |episode: &polyguard::Episode, n: u32| {
            let id = polyguard_play::shown(episode.observation(), polyguard_play::noise(n));
            polyguard::Action::Choose(polyguard::Choice::new(id))
        };
        let same = |a: &polyguard::Episode, b: &polyguard::Episode| {
            format!("{:?}", a.observation()) == format!("{:?}", b.observation())
        };
        assert_restarts::<polyguard::Episode>(&setup, same, choose);
        assert_refuses_after_end::<polyguard::Episode>(&setup, choose);
    }
}

#[test]
fn batch_error_gives_index_of_refused_action() {
    let setup = cluster::Setup::new(cluster::Task::Task1, 0, Streams::Independent);
    let mut batch = Batch::<cluster::Episode>::new(&setup, 0..10, 2);
    let bad = cluster::Action::Preempt {
        job: Some(cluster::JobId(200)),
        worker: None,
    };
    let mut out = Vec::new();
    let refused = batch.step(&[cluster::Action::Tick, bad], &mut out);
    let (index, error) = refused.unwrap_err();
    assert_eq!((index, out.len()), (1, 1), "the first has stepped");
    assert!(matches!(error, cluster::StepError::UnknownJob { .. }));
    assert_eq!(batch.episodes()[1].observation().step_count, 0);
}

#[test]
fn batch_continues_from_the_next_seed_of_another() {
    let setup = trust::Setup::new(trust::Task::Task1, 0, Streams::Independent);
    let start = || Batch::<trust::Episode>::new(&setup, 7..30, 3);
    let mut batch = start();
    for _ in 0..60 {
        let mut other = start();
        other.seek(batch.next_seed());
        for batch in [&mut batch, &mut other] {
            batch.reset_next(1);
        }
        assert_eq!(batch.episodes()[1].setup(), other.episodes()[1].setup());
        assert_eq!(batch.next_seed(), other.next_seed());
    }
}

#[test]
fn batch_beyond_memory_is_an_error() {
    let setup = trust::Setup::new(trust::Task::Task1, 0, Streams::Independent);
    for size in [usize::MAX, usize::MAX / 16] {
        assert!(Batch::<trust::Episode>::try_new(&setup, 0..10, size).is_err());
    }
    let batch = Batch::<trust::Episode>::try_new(&setup, 0..10, 3).unwrap();
    assert_eq!(batch.len(), 3);
}
