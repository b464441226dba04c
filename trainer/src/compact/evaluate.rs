//! How well a policy plays while it is trained: greedy, on seeds that are not trained on.

use rayon::prelude::*;
use sentinel_env::rng::Streams;
use sentinel_env::trust::{Episode, Setup, Task};
use sentinel_policy::PolicyName;
use sentinel_policy::learned::Weights;
use serde::{Deserialize, Serialize};

use super::actor::{Actor, Play};
use crate::SeedRange;

/// Mean scores over a range of seeds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Scores {
    /// Of each of [`Task::ALL`].
    pub tasks: [f64; 3],
    /// The mean of these.
    pub overall: f64,
}

/// Plays every seed of the range on every task with independent streams.
#[must_use]
pub fn evaluate(weights: &Weights, seeds: SeedRange) -> Scores {
    mean(seeds, |setup| {
        let mut play = Play::new(Episode::reset(setup), weights);
        Actor::new(weights).finish_greedily(&mut play);
        play.score()
    })
}

/// The same for a scripted policy.
#[must_use]
pub fn evaluate_scripted(policy: PolicyName, seeds: SeedRange) -> Scores {
    mean(seeds, |setup| {
        let mut player = policy.player(setup.seed, setup.streams);
        let mut episode = Episode::reset(setup);
        while let Some(action) = player.act(&episode) {
            // A player acts only while the episode runs.
            if episode.step(action).is_err() {
                break;
            }
        }
        episode.tally().score()
    })
}

fn mean(seeds: SeedRange, score: impl Fn(&Setup) -> f64 + Sync) -> Scores {
    let tasks = Task::ALL.map(|task| {
        let scores: Vec<f64> = (seeds.range().into_par_iter())
            .map(|seed| score(&Setup::new(task, seed, Streams::Independent)))
            .collect();
        // Summed in order: the same on any number of cores.
        scores.iter().sum::<f64>() / scores.len() as f64
    });
    Scores {
        tasks,
        overall: tasks.iter().sum::<f64>() / tasks.len() as f64,
    }
}
