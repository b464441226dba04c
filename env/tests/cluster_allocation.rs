//! Tests that a step of the cluster world does not allocate, by counting allocations.

use sentinel_env::{Batch, Environment};
mod cluster_play;
mod counting;

use cluster_play::action;
use sentinel_env::cluster::{Action, Episode, Setup, Task};
use sentinel_env::rng::Streams;

#[test]
fn reset_step_and_clone_do_not_allocate() {
    for streams in [Streams::Reference, Streams::Independent] {
        for task in Task::ALL {
            for seed in 0..20 {
                let before = counting::allocations();
                let mut episode = Episode::reset(&Setup::new(task, seed, streams));
                let mut n = 0;
                while !episode.observation().done() {
                    n += 1;
                    let taken = episode.step(action(n, task));
                    assert!(taken.is_ok());
                }
                // The reset, and the copy that look-ahead takes, are counted too.
                let copy = episode.clone();
                let made = counting::allocations() - before;
                assert_eq!(made, 0, "{task}, seed {seed}, {} streams", streams.name());
                assert_eq!(copy, episode);
            }
        }
    }
}

#[test]
fn batch_step_does_not_allocate() {
    for task in Task::ALL {
        let setup = Setup::new(task, 0, Streams::Independent);
        let mut batch = Batch::<Episode>::new(&setup, 0..10_000, 8);
        let mut out = Vec::with_capacity(8);
        let before = counting::allocations();
        for n in 0..500 {
            let actions: [Action; 8] = std::array::from_fn(|k| action(8 * n + k as u32, task));
            assert_eq!(batch.step(&actions, &mut out), Ok(()));
        }
        assert_eq!(counting::allocations() - before, 0, "{task}");
    }
}
