//! How well a policy plays while it is trained: greedy, on seeds that are not trained on.

use rayon::prelude::*;
use sentinel_env::rng::Streams;
use sentinel_env::rules::Rules;
use sentinel_policy::Scripted;
use sentinel_policy::learned::Weights;
use serde::{Deserialize, Serialize};

use super::actor::{Actor, Play};
use super::learn::Learn;
use crate::SeedRange;

/// Mean scores over a range of seeds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Scores {
    /// Of each task, in the order of [`super::config::TrainConfig::selected`].
    pub tasks: Vec<f64>,
    /// The mean of these.
    pub overall: f64,
}

/// Plays every seed of the range on each of the tasks with independent streams.
#[must_use]
pub fn evaluate<W: Learn>(
    weights: &Weights<W::Net>,
    rules: Rules<W::Change>,
    tasks: &[W::Task],
    seeds: SeedRange,
) -> Scores {
    mean::<W>(rules, tasks, seeds, |setup| {
        let mut play = Play::<W>::new(W::reset(setup), weights.config());
        Actor::new(weights).finish_greedily(&mut play);
        play.score()
    })
}

/// The same for a scripted policy.
#[must_use]
pub fn evaluate_scripted<W: Learn>(
    policy: W::PolicyName,
    rules: Rules<W::Change>,
    tasks: &[W::Task],
    seeds: SeedRange,
) -> Scores {
    mean::<W>(rules, tasks, seeds, |setup| {
        let mut player = policy.start(setup);
        let mut episode = W::reset(setup);
        while let Some(action) = player.act(&episode) {
            // A player acts only while the episode runs.
            if W::step(&mut episode, action).is_err() {
                break;
            }
        }
        W::score(&episode)
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
            .map(|seed| score(&W::setup(*task, seed, Streams::Independent, rules)))
            .collect();
        // Summed in order: the same on any number of cores.
        scores.iter().sum::<f64>() / scores.len() as f64
    };
    let tasks: Vec<f64> = tasks.iter().map(mean).collect();
    Scores {
        overall: tasks.iter().sum::<f64>() / tasks.len() as f64,
        tasks,
    }
}
