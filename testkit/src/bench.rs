//! Benchmark loops. The same code runs natively and in WebAssembly, and must return the same sums.

use sentinel_env::cluster;
use sentinel_env::polyguard::{self, Choice, TaskSpec};
use sentinel_env::rng::Streams;
use sentinel_env::trust::{Action, Session, Setup, Task, TrustEnv};
use sentinel_env::{Batch, Environment};

#[path = "../../env/tests/cluster_play/mod.rs"]
mod cluster_play;
#[path = "../../env/tests/polyguard_play/mod.rs"]
mod polyguard_play;

/// The loops by number, with name and number of steps of one measurement.
pub const KINDS: [(u32, &str, u32); 4] = [
    (0, "lean", 5_000_000),
    (1, "rich", 200_000),
    (2, "cluster", 500_000),
    (3, "polyguard", 100_000),
];

/// Runs about `n` steps of a loop and returns the sum of rewards, for the caller to time.
///
/// - Kind 0 is task3 of the trust world as a batch of 64, including resets.
/// - Kind 1 is the same task with trace and full payload.
/// - Kind 2 is task3 of the cluster world, with the actions of its native benchmark.
/// - Kind 3 is all cases of the polyguard world in rotation, with any shown candidate.
///
/// Returns NaN for any other kind.
#[must_use]
pub fn run(kind: u32, n: u32) -> f64 {
    match kind {
        0 => lean(n),
        1 => rich(n),
        2 => cluster_lean(n),
        3 => polyguard_lean(n),
        _ => f64::NAN,
    }
}

fn action(n: u32) -> Action {
    Action::ALL[(n.wrapping_mul(2_654_435_761) >> 16) as usize % Action::ALL.len()]
}

fn lean(n: u32) -> f64 {
    const SIZE: usize = 64;
    let setup = Setup::new(Task::Task3, 0, Streams::Reference);
    let mut batch = Batch::<TrustEnv>::new(&setup, 0..1_000_000, SIZE);
    let (mut out, mut actions) = (Vec::with_capacity(SIZE), [Action::Skip; SIZE]);
    let (mut sum, mut count) = (0.0, 0u32);
    while count < n {
        for slot in &mut actions {
            count += 1;
            *slot = action(count);
        }
        // Does not happen: actions of this world cannot name anything that a task lacks.
        if batch.step(&actions, &mut out).is_err() {
            return f64::NAN;
        }
        sum += out.iter().map(|step| step.reward).fold(0.0, |a, b| a + b);
    }
    sum
}

fn rich(n: u32) -> f64 {
    let (mut sum, mut seed) = (0.0, 0);
    let mut session = Session::new(&Setup::new(Task::Task3, seed, Streams::Reference));
    for count in 0..n {
        if session.episode().observation().done() {
            seed += 1;
            session = Session::new(&Setup::new(Task::Task3, seed, Streams::Reference));
        }
        if session.act(action(count)).is_err() {
            return f64::NAN;
        }
        sum += session.reply().reward.value;
    }
    sum
}

fn cluster_lean(n: u32) -> f64 {
    let setup = |seed| cluster::Setup::new(Task::Task3, seed, Streams::Independent);
    let (mut sum, mut seed) = (0.0, 0);
    let mut episode = cluster::Episode::reset(&setup(seed));
    for count in 0..n {
        if episode.observation().done() {
            seed += 1;
            episode = cluster::Episode::reset(&setup(seed));
        }
        match episode.step(cluster_play::action(count, Task::Task3)) {
            Ok(step) => sum += step.reward,
            Err(_) => return f64::NAN,
        }
    }
    sum
}

fn polyguard_lean(n: u32) -> f64 {
    let setup = |seed: u64| {
        let case = TaskSpec::ALL[seed as usize % TaskSpec::ALL.len()];
        polyguard::Setup::new(case, seed).with_rules(polyguard::Rules::HARDENED)
    };
    let (mut sum, mut seed) = (0.0, 0);
    let mut episode = polyguard::Episode::reset(&setup(seed));
    for count in 0..n {
        if episode.observation().done() {
            seed += 1;
            episode = polyguard::Episode::reset(&setup(seed));
        }
        let id = polyguard_play::shown(episode.observation(), polyguard_play::noise(count));
        match episode.step(polyguard::Action::Choose(Choice::new(id))) {
            Ok(step) => sum += step.reward,
            Err(_) => return f64::NAN,
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bench_kinds_earn_reward_and_unknown_kind_is_nan() {
        for (kind, name, _) in KINDS {
            let (few, many) = (run(kind, 1_000), run(kind, 2_000));
            assert!(few > 0.0 && many > few, "{name}: {few} then {many}");
            assert_eq!(few, run(kind, 1_000), "{name}");
        }
        assert!(run(KINDS.len() as u32, 1_000).is_nan());
    }
}
