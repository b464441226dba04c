//! Steps per second of the trust world: `cargo bench -p sentinel-env`.
//!
//! The `lean` benchmarks measure the episode alone, without text and trace, including resets. The
//! `rich` benchmark measures the session with trace, breakdown and full payload. A counting
//! allocator asserts that a lean step does not allocate.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    missing_docs,
    reason = "a bench reports and stops"
)]

#[path = "../tests/counting/mod.rs"]
mod counting;

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use sentinel_env::rng::Streams;
use sentinel_env::trust::{Action, Episode, Session, Setup, Task};
use sentinel_env::{Batch, Environment};

/// Returns the `n`-th action of a cheap sequence with the random policy's proportions: 65 %
/// delegate, 20 % verify, 10 % solve.
fn action(n: u32) -> Action {
    let r = n.wrapping_mul(2_654_435_761) >> 16;
    let slot = (r % 5) as usize;
    match (r >> 4) % 20 {
        0..13 => Action::ALL[slot],
        13..17 => Action::ALL[5 + slot],
        17..19 => Action::SolveIndependently,
        _ => Action::Skip,
    }
}

fn batches(c: &mut Criterion) {
    let mut group = c.benchmark_group("lean");
    for streams in [Streams::Reference, Streams::Independent] {
        for size in [1usize, 64, 4096] {
            for task in Task::ALL {
                let setup = Setup::new(task, 0, streams);
                let mut batch = Batch::<Episode>::new(&setup, 0..1_000_000, size);
                let mut actions = vec![Action::Skip; size];
                let mut out = Vec::with_capacity(size);
                let mut n = 0u32;
                group.throughput(Throughput::Elements(size as u64));
                let id = BenchmarkId::new(format!("{}/{task}", streams.name()), size);
                group.bench_function(id, |b| {
                    b.iter(|| {
                        for action_slot in &mut actions {
                            n = n.wrapping_add(1);
                            *action_slot = action(n);
                        }
                        batch.step(&actions, &mut out).unwrap();
                        black_box(&out);
                    });
                });
            }
        }
    }
    group.finish();
}

fn step_alone(c: &mut Criterion) {
    let mut group = c.benchmark_group("step_only");
    group.throughput(Throughput::Elements(1));
    for task in Task::ALL {
        let start = Episode::reset(&Setup::new(task, 7, Streams::Independent));
        let (mut episode, mut n) = (start, 0u32);
        group.bench_function(task.name(), |b| {
            b.iter(|| {
                n = n.wrapping_add(1);
                if episode.observation().done() {
                    episode = start;
                }
                black_box(episode.step(action(n)).unwrap().info.grades.reward)
            });
        });
    }
    group.finish();
}

fn rich(c: &mut Criterion) {
    let mut group = c.benchmark_group("rich");
    group.throughput(Throughput::Elements(1));
    for task in Task::ALL {
        let (mut seed, mut n) = (0u64, 0u32);
        let mut session = Session::new(&Setup::new(task, seed, Streams::Reference));
        group.bench_function(task.name(), |b| {
            b.iter(|| {
                n = n.wrapping_add(1);
                if session.episode().observation().done() {
                    seed += 1;
                    session = Session::new(&Setup::new(task, seed, Streams::Reference));
                }
                session.act(action(n)).unwrap();
                black_box(session.reply())
            });
        });
    }
    group.finish();
}

/// Checks, without timing, that a lean step does not allocate.
fn allocations(_: &mut Criterion) {
    let setup = Setup::new(Task::Task3, 0, Streams::Independent);
    let mut batch = Batch::<Episode>::new(&setup, 0..1_000_000, 64);
    let mut out = Vec::with_capacity(64);
    let actions: Vec<Action> = (0..64).map(action).collect();
    let before = counting::allocations();
    for _ in 0..10_000 {
        batch.step(&actions, &mut out).unwrap();
    }
    let made = counting::allocations() - before;
    println!("allocations in 640000 lean steps: {made}");
    assert_eq!(made, 0, "a lean step allocated");
}

criterion_group!(benches, allocations, step_alone, batches, rich);
criterion_main!(benches);
