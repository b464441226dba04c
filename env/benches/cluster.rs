//! Steps per second of the cluster world: `cargo bench -p sentinel-env --bench cluster`.
//!
//! The `lean` benchmark measures the episode alone, including resets. A counting allocator asserts
//! that neither a step nor a reset allocates.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    missing_docs,
    reason = "a bench reports and stops"
)]

use sentinel_env::{Batch, Environment};
#[path = "../tests/cluster_play/mod.rs"]
mod cluster_play;
#[path = "../tests/counting/mod.rs"]
mod counting;

use std::hint::black_box;

use cluster_play::action;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use sentinel_env::cluster::{Episode, Setup, Task};
use sentinel_env::rng::Streams;

/// Takes the `n`-th action, after a reset if the last episode has ended. Returns the reward.
fn advance(episode: &mut Episode, seed: &mut u64, n: u32) -> f64 {
    let setup = episode.setup();
    let (task, streams) = (setup.task, setup.streams);
    if episode.observation().done() {
        *seed += 1;
        *episode = Episode::reset(&Setup::new(task, *seed, streams));
    }
    episode.step(action(n, task)).unwrap().info.grades.reward
}

fn lean(c: &mut Criterion) {
    let mut group = c.benchmark_group("cluster_lean");
    group.throughput(Throughput::Elements(1));
    for task in Task::ALL {
        let (mut seed, mut n) = (0, 0u32);
        let mut episode = Episode::reset(&Setup::new(task, seed, Streams::Independent));
        group.bench_function(task.name(), |b| {
            b.iter(|| {
                n = n.wrapping_add(1);
                black_box(advance(&mut episode, &mut seed, n))
            });
        });
    }
    group.finish();
}

fn batches(c: &mut Criterion) {
    let mut group = c.benchmark_group("cluster_batch");
    group.throughput(Throughput::Elements(64));
    for task in Task::ALL {
        let setup = Setup::new(task, 0, Streams::Independent);
        let mut batch = Batch::<Episode>::new(&setup, 0..1_000_000, 64);
        let (mut actions, mut out, mut n) = (Vec::new(), Vec::new(), 0u32);
        group.bench_function(task.name(), |b| {
            b.iter(|| {
                actions.clear();
                actions.extend((0..64).map(|i| action(n + i, task)));
                n = n.wrapping_add(64);
                batch.step(&actions, &mut out).unwrap();
                black_box(&out);
            });
        });
    }
    group.finish();
}

fn copies(c: &mut Criterion) {
    let episode = Episode::reset(&Setup::new(Task::Task3, 7, Streams::Independent));
    println!("bytes of an episode: {}", size_of::<Episode>());
    c.bench_function("cluster_copy", |b| b.iter(|| black_box(&episode).clone()));
    c.bench_function("cluster_reset", |b| {
        let mut seed = 0;
        b.iter(|| {
            seed += 1;
            Episode::reset(&Setup::new(Task::Task3, seed, Streams::Independent))
        });
    });
}

/// Checks, without timing, that neither a step nor a reset allocates.
fn allocations(_: &mut Criterion) {
    let mut seed = 0;
    let mut episode = Episode::reset(&Setup::new(Task::Task3, seed, Streams::Independent));
    let before = counting::allocations();
    for n in 0..100_000 {
        advance(&mut episode, &mut seed, n);
    }
    let made = counting::allocations() - before;
    println!("allocations in 100000 lean steps: {made}");
    assert_eq!(made, 0, "a lean step allocated");
}

criterion_group!(benches, allocations, lean, batches, copies);
criterion_main!(benches);
