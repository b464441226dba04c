//! Evaluation while training: the greedy policy on seeds that are not trained on.

use std::ops::Range;

use sentinel_env::EpisodeSpec;
use sentinel_env::rng::Streams;
use sentinel_env::rules::Rules;
use sentinel_options::SeedRange;
use sentinel_policy::nn::Weights;
use sentinel_policy::rollout::run_score;
use sentinel_rl::Scores;
use serde::{Deserialize, Serialize};

use super::actor::{Actor, Rollout};
use super::learn::{Learn, NamedPolicy, RateCount};
use super::workers::Workers;

/// The result of an episode that was played greedily.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct GreedyEpisode {
    /// Score of the episode.
    pub score: f64,
    /// Counts of [`Learn::RATES`], in their order.
    pub rates: Vec<RateCount>,
}

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
    let all = 0..episode_count(tasks, seeds);
    let episodes = greedy_episodes::<W>(workers, weights, rules, tasks, seeds, all);
    let scores: Vec<f64> = episodes.iter().map(|episode| episode.score).collect();
    by_task(&scores, seeds)
}

/// Returns the number of episodes that play every seed of a range on each task.
#[must_use]
pub const fn episode_count<T>(tasks: &[T], seeds: SeedRange) -> u64 {
    tasks.len() as u64 * seeds.count()
}

/// Plays some of the episodes of [`greedy_scores`], and returns their results in order. Episode `i` has
/// task `i / seeds` and the seed of number `i % seeds`. Results of adjacent parts, one after the
/// other, are those of the whole.
#[must_use]
pub fn greedy_episodes<W: Learn>(
    workers: &impl Workers,
    weights: &Weights<W::Net>,
    rules: Rules<W::Change>,
    tasks: &[W::Task],
    seeds: SeedRange,
    part: Range<u64>,
) -> Vec<GreedyEpisode> {
    play_part::<W, _>(workers, rules, tasks, seeds, part, |setup| {
        let mut rollout = Rollout::<W>::new(W::reset(setup), weights.config());
        let (mut actor, mut steps) = (Actor::new(weights), Vec::new());
        while !rollout.is_done() {
            let choice = actor.greedy(&rollout);
            steps.extend(rollout.step(&choice).map(|transition| transition.info));
        }
        GreedyEpisode {
            score: rollout.episode.score(),
            rates: W::rate_counts(&rollout.episode, &steps),
        }
    })
}

/// Groups the scores of all episodes, in order, by task.
#[must_use]
pub fn by_task(scores: &[f64], seeds: SeedRange) -> Vec<Vec<f64>> {
    let count = usize::try_from(seeds.count()).unwrap_or(usize::MAX);
    scores.chunks(count).map(<[f64]>::to_vec).collect()
}

/// Returns the counts of [`Learn::RATES`] over episodes, added in their order.
#[must_use]
pub fn total_rates<W: Learn>(episodes: &[GreedyEpisode]) -> Vec<RateCount> {
    let mut total = vec![RateCount::default(); W::RATES.len()];
    for episode in episodes {
        for (sum, count) in total.iter_mut().zip(&episode.rates) {
            sum.add(*count);
        }
    }
    total
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
    let all = 0..episode_count(tasks, seeds);
    let scores = play_part::<W, _>(workers, rules, tasks, seeds, all, |setup| {
        run_score(setup, &mut policy.start(setup))
    });
    means(&by_task(&scores, seeds))
}

/// Returns the setup of an episode of the validation.
#[must_use]
pub fn validation_setup<W: Learn>(rules: Rules<W::Change>, task: W::Task, seed: u64) -> W::Setup {
    let spec = EpisodeSpec::<W> {
        task,
        seed,
        streams: Streams::Independent,
        rules,
    };
    spec.setup()
}

fn play_part<W: Learn, T: Send>(
    workers: &impl Workers,
    rules: Rules<W::Change>,
    tasks: &[W::Task],
    seeds: SeedRange,
    part: Range<u64>,
    play: impl Fn(&W::Setup) -> T + Sync + Send,
) -> Vec<T> {
    let of_episode = |_: &mut (), index: u64| {
        let task = tasks[(index / seeds.count()) as usize];
        let seed = seeds.range().start + index % seeds.count();
        play(&validation_setup::<W>(rules, task, seed))
    };
    workers.map(part, || (), of_episode)
}

/// Returns the means of scores, `[task][seed]`: summed in order, so that they are the same with any number
/// of workers.
#[must_use]
pub fn means(scores: &[Vec<f64>]) -> Scores {
    let mean = |scores: &Vec<f64>| scores.iter().sum::<f64>() / scores.len() as f64;
    let tasks: Vec<f64> = scores.iter().map(mean).collect();
    Scores {
        overall: tasks.iter().sum::<f64>() / tasks.len() as f64,
        tasks,
    }
}
