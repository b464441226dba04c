//! Evaluation while training: the greedy policy on seeds that are not trained on.

use sentinel_env::EpisodeSpec;
use sentinel_env::rng::Streams;
use sentinel_env::rules::Rules;
use sentinel_options::SeedRange;
use sentinel_policy::nn::Weights;
use sentinel_policy::rollout::run_score;
use sentinel_rl::Scores;

use super::actor::{Actor, Rollout};
use super::learn::{Learn, NamedPolicy};
use super::workers::Workers;

/// Plays every seed of a range on each task, greedily and with independent streams, and returns the
/// mean scores.
#[must_use]
pub fn evaluate<W: Learn>(
    workers: &impl Workers,
    weights: &Weights<W::Net>,
    rules: Rules<W::Change>,
    tasks: &[W::Task],
    seeds: SeedRange,
) -> Scores {
    means(&greedy_scores::<W>(workers, weights, rules, tasks, seeds))
}

/// Plays every seed of a range on each task, greedily and with independent streams, and returns the
/// scores, `[task][seed]`.
#[must_use]
pub fn greedy_scores<W: Learn>(
    workers: &impl Workers,
    weights: &Weights<W::Net>,
    rules: Rules<W::Change>,
    tasks: &[W::Task],
    seeds: SeedRange,
) -> Vec<Vec<f64>> {
    scores::<W>(workers, rules, tasks, seeds, |setup| {
        let mut rollout = Rollout::<W>::new(W::reset(setup), weights.config());
        Actor::new(weights).finish_greedily(&mut rollout);
        rollout.episode.score()
    })
}

/// Plays every seed of a range on each task with a scripted policy, and returns the mean scores.
#[must_use]
pub fn evaluate_baseline<W: Learn>(
    workers: &impl Workers,
    policy: &NamedPolicy<W>,
    rules: Rules<W::Change>,
    tasks: &[W::Task],
    seeds: SeedRange,
) -> Scores {
    means(&scores::<W>(workers, rules, tasks, seeds, |setup| {
        run_score(setup, &mut policy.start(setup))
    }))
}

fn scores<W: Learn>(
    workers: &impl Workers,
    rules: Rules<W::Change>,
    tasks: &[W::Task],
    seeds: SeedRange,
    score: impl Fn(&W::Setup) -> f64 + Sync + Send,
) -> Vec<Vec<f64>> {
    let of_task = |task: &W::Task| {
        let of_seed = |_: &mut (), seed| {
            let spec = EpisodeSpec::<W> {
                task: *task,
                seed,
                streams: Streams::Independent,
                rules,
            };
            score(&spec.setup())
        };
        workers.map(seeds.range(), || (), of_seed)
    };
    tasks.iter().map(of_task).collect()
}

/// Returns the means of scores, `[task][seed]`: summed in order, so that they are the same with any number
/// of workers.
fn means(scores: &[Vec<f64>]) -> Scores {
    let mean = |scores: &Vec<f64>| scores.iter().sum::<f64>() / scores.len() as f64;
    let tasks: Vec<f64> = scores.iter().map(mean).collect();
    Scores {
        overall: tasks.iter().sum::<f64>() / tasks.len() as f64,
        tasks,
    }
}
