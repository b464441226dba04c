//! How well a policy plays while it is trained: greedy, on seeds that are not trained on.

use rayon::prelude::*;
use sentinel_env::rng::Streams;
use sentinel_env::trust::{Episode, Setup, Task};
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
    let tasks = Task::ALL.map(|task| {
        let scores: Vec<f64> = (seeds.range().into_par_iter())
            .map_init(
                || Actor::new(weights),
                |actor, seed| {
                    let setup = Setup::new(task, seed, Streams::Independent);
                    let mut play = Play::new(Episode::reset(&setup), weights);
                    actor.finish_greedily(&mut play);
                    play.score()
                },
            )
            .collect();
        // Summed in order: the same on any number of cores.
        scores.iter().sum::<f64>() / scores.len() as f64
    });
    Scores {
        tasks,
        overall: tasks.iter().sum::<f64>() / tasks.len() as f64,
    }
}
