//! A part of the episodes of an update or an evaluation, which any engine can play.

use std::ops::Range;

use sentinel_compact::evaluate::{GreedyEpisode, greedy_episodes};
use sentinel_compact::{Learn, PlayedEpisodes, Sequential, TrainConfig};
use sentinel_env::{WorldName, in_world};
use sentinel_page_protocol::{TrainingSpec, decode, encode};
use sentinel_policy::nn::{Architecture, Weights};
use serde::{Deserialize, Serialize};

use crate::settings::phases;

/// The kind of work that a part belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Work {
    /// Episodes to learn from.
    Update {
        /// Number of updates of the phase that are done.
        update: u64,
    },
    /// Greedy episodes of the validation.
    Evaluation {
        /// Number of updates that the policy had.
        updates: u64,
    },
}

/// A part of the episodes, with everything that is needed to play it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Part {
    pub spec: TrainingSpec,
    /// Index of the phase.
    pub phase: usize,
    pub work: Work,
    /// Values of all parameters, in order.
    pub weights: Vec<f32>,
    /// Index of the first episode.
    pub first: u64,
    /// Index after that of the last episode.
    pub last: u64,
}

/// The episodes of a part.
#[derive(Debug, Serialize, Deserialize)]
#[serde(bound = "")]
pub(crate) enum Played<W: Learn> {
    /// Episodes to learn from.
    Update(PlayedEpisodes<W>),
    /// Results of the validation.
    Evaluation(Vec<GreedyEpisode>),
}

impl<W: Learn> Played<W> {
    /// Plays the episodes `range` with `weights`.
    ///
    /// # Errors
    /// Returns a phrase if the configuration does not fit the world.
    pub(crate) fn new(
        work: Work,
        config: &TrainConfig,
        weights: &Weights<W::Net>,
        range: Range<u64>,
    ) -> Result<Self, String> {
        let workers = &Sequential;
        let message = |error: sentinel_compact::Error| error.to_string();
        Ok(match work {
            Work::Update { update } => {
                let episodes = PlayedEpisodes::play(workers, config, weights, update, range);
                Self::Update(episodes.map_err(message)?)
            }
            Work::Evaluation { .. } => {
                let rules = config.rules::<W>().map_err(message)?;
                let tasks = config.selected::<W>().map_err(message)?;
                let seeds = config.validation_seeds;
                let all = greedy_episodes::<W>(workers, weights, rules, &tasks, seeds, range);
                Self::Evaluation(all)
            }
        })
    }

    /// Returns the number of episodes.
    pub(crate) const fn count(&self) -> usize {
        match self {
            Self::Update(episodes) => episodes.count(),
            Self::Evaluation(episodes) => episodes.len(),
        }
    }
}

/// The answer of an engine that has played a part.
#[derive(Debug, Serialize, Deserialize)]
#[serde(bound = "")]
pub(crate) struct Answer<W: Learn> {
    pub work: Work,
    pub first: u64,
    pub last: u64,
    /// The episodes, or a phrase about why they could not be played.
    pub played: Result<Played<W>, String>,
}

impl Part {
    fn play<W: Learn>(&self) -> Result<Played<W>, String> {
        let phases = phases::<W>(&self.spec)?;
        let config = phases.get(self.phase).ok_or("there is no such phase")?;
        let weights = weights_from(W::net(config), &self.weights);
        let weights = weights.ok_or("the weights have another shape")?;
        Played::new(self.work, config, &weights, self.first..self.last)
    }

    fn answer<W: Learn>(&self) -> Vec<u8> {
        let answer = Answer::<W> {
            work: self.work,
            first: self.first,
            last: self.last,
            played: self.play(),
        };
        encode(&answer).unwrap_or_default()
    }
}

/// Plays an encoded part, and returns the encoded [`Answer`]; empty if the part cannot be read.
pub(crate) fn play(part: &[u8]) -> Vec<u8> {
    let Ok(part) = decode::<Part>(part) else {
        return Vec::new();
    };
    match WorldName::parse(&part.spec.world) {
        Some(world) => in_world!(world, W => part.answer::<W>()),
        None => Vec::new(),
    }
}

/// Returns the values of all parameters, in order.
pub(crate) fn values<A: Architecture>(weights: &Weights<A>) -> Vec<f32> {
    let all = weights.iter().flat_map(|(_, values)| values);
    all.copied().collect()
}

/// Returns the weights of a network from the values of all parameters; `None` if their number differs.
pub(crate) fn weights_from<A: Architecture>(net: A, values: &[f32]) -> Option<Weights<A>> {
    let mut rest = values;
    let mut tensors = Vec::new();
    for shape in net.shapes() {
        let (next, left) = rest.split_at_checked(shape.rows * shape.columns)?;
        tensors.push(next.to_vec());
        rest = left;
    }
    rest.is_empty().then_some(())?;
    Weights::from_tensors(net, tensors)
}
