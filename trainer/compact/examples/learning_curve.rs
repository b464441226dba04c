//! Checks how the page learns trust under hardened rules: whole runs of the quick preset with plain
//! gradients, one for each seed. Every seed has to pass the heuristic and the Bayes look-ahead in time, and
//! its last policy must not fall behind its best one. Ends with an error if one does not.
//!
//! `cargo run --release -p sentinel-compact --no-default-features --example learning_curve -- [SEEDS]`, for
//! instance `1,2,3`; by default 1 to 10, as many at a time as there are cores.

#![allow(clippy::print_stdout)]

use std::sync::Mutex;
use std::thread;

use sentinel_compact::evaluate::{evaluate, evaluate_baseline};
use sentinel_compact::plain::{Cpu, Matrix};
use sentinel_compact::{Error, Learn, Method, Sequential, TrainConfig, Trainer};
use sentinel_env::World as _;
use sentinel_env::trust::TrustEnv;
use sentinel_options::SeedRange;
use sentinel_policy::nn::{NetworkWorld, Weights};

/// Updates between two evaluations on the validation seeds, as in the page.
const EVALUATE_EVERY: usize = 4;
/// Update by which the validation score is above that of the heuristic.
const HEURISTIC_BY: usize = 12;
/// Update by which it is above that of the Bayes look-ahead less `MARGIN`.
const BAYES_BY: usize = 90;
/// Difference in score that does not count.
const MARGIN: f64 = 0.005;
/// Seeds on which the last and the best policy are compared; they have chosen neither.
const FRESH: SeedRange = SeedRange::new(30_000, 32_000);

/// The course of a run.
struct Course {
    /// First update with a validation score above that of the heuristic.
    heuristic: Option<usize>,
    /// First update with a validation score above that of the Bayes look-ahead less [`MARGIN`].
    bayes: Option<usize>,
    /// Update of the best policy on the validation seeds.
    best_at: usize,
    /// Scores of the best and of the last policy on the fresh seeds.
    best: f64,
    last: f64,
}

fn config(seed: u64) -> TrainConfig {
    TrainConfig {
        rules: "hardened".to_owned(),
        seed,
        ..TrainConfig::preset::<TrustEnv>(Method::Grpo, true)
    }
}

/// Returns the scores of heuristic and Bayes look-ahead on the validation seeds.
fn baselines() -> Result<[f64; 2], Error> {
    let config = config(1);
    let (rules, tasks) = (config.rules::<TrustEnv>()?, config.selected::<TrustEnv>()?);
    let mut scores = [0.0; 2];
    for policy in TrustEnv::policies() {
        let place = match policy.name() {
            "heuristic" => 0,
            "bayes" => 1,
            _ => continue,
        };
        let seeds = config.validation_seeds;
        let found = evaluate_baseline::<TrustEnv>(&Sequential, &policy, rules, &tasks, seeds);
        scores[place] = found.overall;
    }
    Ok(scores)
}

/// Trains a policy to the end of its run, with a line for every tenth evaluation.
fn train(seed: u64, [heuristic, bayes]: [f64; 2]) -> Result<Course, Error> {
    let config = config(seed);
    let (rules, tasks) = (config.rules::<TrustEnv>()?, config.selected::<TrustEnv>()?);
    let (total, validation) = (config.max_steps, config.validation_seeds);
    let score = |weights: &Weights<<TrustEnv as NetworkWorld>::Net>, seeds| {
        evaluate::<TrustEnv>(&Sequential, weights, rules, &tasks, seeds).overall
    };
    let start = Weights::init(TrustEnv::net(&config), seed);
    let mut trainer = Trainer::<TrustEnv, Matrix>::on_device(config, start, &Cpu)?;
    let (mut above_heuristic, mut above_bayes) = (None, None);
    let (mut best, mut best_at, mut best_score) = (trainer.weights().clone(), 0, 0.0);
    while !trainer.finished() {
        trainer.update(&Sequential)?;
        let done = trainer.updates_done();
        if !done.is_multiple_of(EVALUATE_EVERY) && done != total {
            continue;
        }
        let now = score(trainer.weights(), validation);
        let note = |place: &mut Option<usize>, level: f64| {
            if now > level {
                place.get_or_insert(done);
            }
        };
        note(&mut above_heuristic, heuristic);
        note(&mut above_bayes, bayes - MARGIN);
        if now > best_score {
            (best, best_at, best_score) = (trainer.weights().clone(), done, now);
        }
        if done.is_multiple_of(5 * EVALUATE_EVERY) {
            println!("seed {seed}: {done} of {total} updates, validation {now:.4}");
        }
    }
    Ok(Course {
        heuristic: above_heuristic,
        bayes: above_bayes,
        best_at,
        best: score(&best, FRESH),
        last: score(trainer.weights(), FRESH),
    })
}

impl Course {
    fn is_good(&self) -> bool {
        let in_time = |update: Option<usize>, limit| update.is_some_and(|update| update <= limit);
        in_time(self.heuristic, HEURISTIC_BY)
            && in_time(self.bayes, BAYES_BY)
            && self.last >= self.best - MARGIN
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut seeds: Vec<u64> = (1..=10).collect();
    if let Some(named) = std::env::args().nth(1) {
        seeds = named.split(',').map(str::parse).collect::<Result<_, _>>()?;
    }
    let levels = baselines()?;
    println!(
        "{}, hardened: heuristic {:.4}, bayes {:.4} on the validation seeds",
        TrustEnv::NAME,
        levels[0],
        levels[1]
    );
    seeds.reverse();
    let (waiting, failed) = (Mutex::new(seeds), Mutex::new(Vec::new()));
    let work = || {
        while let Some(seed) = waiting.lock().ok().and_then(|mut seeds| seeds.pop()) {
            let is_good = match train(seed, levels) {
                Ok(course) => {
                    let update =
                        |at: Option<usize>| at.map_or("never".to_owned(), |n| n.to_string());
                    println!(
                        "seed {seed}: above the heuristic at {}, bayes - {MARGIN} at {}; on fresh seeds best \
                         (of update {}) {:.4}, last {:.4}",
                        update(course.heuristic),
                        update(course.bayes),
                        course.best_at,
                        course.best,
                        course.last
                    );
                    course.is_good()
                }
                Err(error) => {
                    println!("seed {seed}: {error}");
                    false
                }
            };
            if let (false, Ok(mut failed)) = (is_good, failed.lock()) {
                failed.push(seed);
            }
        }
    };
    let cores = thread::available_parallelism().map_or(1, std::num::NonZero::get);
    thread::scope(|scope| {
        for _ in 0..cores {
            scope.spawn(work);
        }
    });
    match failed.into_inner()?.as_slice() {
        [] => Ok(()),
        failed => Err(format!(
            "seeds {failed:?}: later than update {HEURISTIC_BY} or {BAYES_BY}, or the last policy is more than \
             {MARGIN} below the best"
        )
        .into()),
    }
}
