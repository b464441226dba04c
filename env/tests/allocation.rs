//! Tests that a step of the trust world does not allocate, by counting allocations.

mod counting;

use sentinel_env::Batch;
use sentinel_env::rng::Streams;
use sentinel_env::trust::{Action, Episode, Setup, Task};

#[test]
fn batch_step_does_not_allocate() {
    for streams in [Streams::Reference, Streams::Independent] {
        for task in Task::ALL {
            let mut batch = Batch::<Episode>::new(&Setup::new(task, 0, streams), 0..10_000, 16);
            let mut out = Vec::with_capacity(16);
            let actions: [Action; 16] = std::array::from_fn(|i| Action::ALL[i % 12]);
            let before = counting::allocations();
            for _ in 0..500 {
                assert_eq!(batch.step(&actions, &mut out), Ok(()));
            }
            // Resets are part of a batch's steps and must not allocate either.
            let made = counting::allocations() - before;
            assert_eq!(made, 0, "{task}, {} streams", streams.name());
        }
    }
}
