//! Steps per second of the PolyGuard world: `cargo bench -p sentinel-env --bench polyguard`.
//!
//! The `lean` benchmark measures the episode alone, including resets, with arbitrary shown
//! candidates. A counting allocator asserts that a step does not allocate.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    missing_docs,
    reason = "a bench reports and stops"
)]

use sentinel_env::Environment;
#[path = "../tests/counting/mod.rs"]
mod counting;

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use sentinel_env::polyguard::{Action, Choice, Episode, Rules, Setup, TaskSpec};

/// Returns the choice of the `n`-th shown candidate, modulo their number.
fn choice(episode: &Episode, n: u32) -> Action {
    let candidates = &episode.observation().candidates;
    let at = n as usize % candidates.count();
    Action::Choose(Choice::new(candidates.iter().nth(at).unwrap().id))
}

/// Takes the `n`-th action, after a reset if the last episode has ended. Returns the reward.
fn advance(episode: &mut Episode, seed: &mut u64, n: u32) -> f64 {
    if episode.observation().done() {
        *seed += 1;
        let setup = Setup {
            seed: *seed,
            ..*episode.setup()
        };
        *episode = Episode::reset(&setup);
    }
    let action = choice(episode, n.wrapping_mul(2_654_435_761) >> 7);
    episode.step(action).unwrap().info.total
}

fn lean(c: &mut Criterion) {
    let mut group = c.benchmark_group("polyguard_lean");
    group.throughput(Throughput::Elements(1));
    for case in TaskSpec::ALL {
        let (mut seed, mut n) = (0, 0u32);
        let mut episode = Episode::reset(&Setup::new(case, seed).with_rules(Rules::HARDENED));
        group.bench_function(case.name(), |b| {
            b.iter(|| {
                n = n.wrapping_add(1);
                black_box(advance(&mut episode, &mut seed, n))
            });
        });
    }
    group.finish();
}

fn copies(c: &mut Criterion) {
    let case = TaskSpec::ALL[2];
    let episode = Episode::reset(&Setup::new(case, 7));
    println!("bytes of an episode: {}", size_of::<Episode>());
    c.bench_function("polyguard_copy", |b| b.iter(|| black_box(&episode).clone()));
    c.bench_function("polyguard_reset", |b| {
        let mut seed = 0;
        b.iter(|| {
            seed += 1;
            Episode::reset(&Setup::new(case, seed))
        });
    });
}

/// Checks, without timing, that a step does not allocate.
fn allocations(_: &mut Criterion) {
    let mut made = 0;
    for (seed, case) in (0..2_000).zip(TaskSpec::ALL.into_iter().cycle()) {
        let mut episode = Episode::reset(&Setup::new(case, seed));
        let before = counting::allocations();
        let mut n = seed as u32;
        while !episode.observation().done() {
            n = n.wrapping_mul(747_796_405).wrapping_add(2_891_336_453);
            let action = choice(&episode, n >> 9);
            black_box(episode.step(action).unwrap());
        }
        made += counting::allocations() - before;
    }
    println!("allocations in the steps of 2000 episodes: {made}");
    assert_eq!(made, 0, "a lean step allocated");
}

criterion_group!(benches, allocations, lean, copies);
criterion_main!(benches);
