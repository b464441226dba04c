//! Evaluation while training: the greedy policy on seeds that are not trained on.

use rayon::prelude::*;
use sentinel_base::SeedRange;
use sentinel_env::EpisodeSpec;
use sentinel_env::rng::Streams;
use sentinel_env::rules::Rules;
use sentinel_policy::nn::Weights;
use sentinel_policy::rollout::run_score;

use super::actor::{Actor, Rollout};
use super::learn::{Learn, NamedPolicy};
pub use sentinel_run::Scores;

/// Plays every seed of a range on each task, greedily and with independent streams, and returns the
/// mean scores.
#[must_use]
pub fn evaluate<W: Learn>(
    weights: &Weights<W::Net>,
    rules: Rules<W::Change>,
    tasks: &[W::Task],
    seeds: SeedRange,
) -> Scores {
    mean::<W>(rules, tasks, seeds, |setup| {
        let mut rollout = Rollout::<W>::new(W::reset(setup), weights.config());
        Actor::new(weights).finish_greedily(&mut rollout);
        rollout.episode.score()
    })
}

/// Plays every seed of a range on each task with a scripted policy, and returns the mean scores.
#[must_use]
pub fn evaluate_baseline<W: Learn>(
    policy: &NamedPolicy<W>,
    rules: Rules<W::Change>,
    tasks: &[W::Task],
    seeds: SeedRange,
) -> Scores {
    mean::<W>(rules, tasks, seeds, |setup| {
        run_score(setup, &mut policy.start(setup))
    })
}

fn mean<W: Learn>(
    rules: Rules<W::Change>,
    tasks: &[W::Task],
    seeds: SeedRange,
    score: impl Fn(&W::Setup) -> f64 + Sync,
) -> Scores {
    let mean = |task: &W::Task| {
        let scores: Vec<f64> = (seeds.range().into_par_iter())
            .map(|seed| {
                score(
                    &EpisodeSpec::<W> {
                        task: *task,
                        seed,
                        streams: Streams::Independent,
                        rules,
                    }
                    .setup(),
                )
            })
            .collect();
        // Summed in order, so that the result is the same on any number of cores.
        scores.iter().sum::<f64>() / scores.len() as f64
    };
    let tasks: Vec<f64> = tasks.iter().map(mean).collect();
    Scores {
        overall: tasks.iter().sum::<f64>() / tasks.len() as f64,
        tasks,
    }
}
