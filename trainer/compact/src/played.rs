//! The played episodes of an update. Workers that share no memory play ranges of them, and the trainer
//! takes all, in order; so the result does not depend on who played what.

use std::ops::Range;

use sentinel_policy::nn::Weights;
use serde::{Deserialize, Serialize};

use crate::config::{Method, TrainConfig};
use crate::expert_iteration::ComparedEpisode;
use crate::grpo::Group;
use crate::imitation::LabeledEpisode;
use crate::learn::Learn;
use crate::workers::Workers;
use crate::{Error, expert_iteration, grpo, imitation};

/// Played episodes of an update, in the form that its method learns from.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(bound = "")]
pub enum PlayedEpisodes<W: Learn> {
    /// Groups of rollouts, for GRPO.
    Groups(Vec<Group<W>>),
    /// Steps with the labels of a teacher, for imitation.
    Labeled(Vec<LabeledEpisode<W>>),
    /// Steps with the targets of a look-ahead, for expert iteration.
    Compared(Vec<ComparedEpisode<W>>),
}

impl<W: Learn> PlayedEpisodes<W> {
    /// Plays the episodes `indices` of update `update` with `weights`.
    ///
    /// # Errors
    /// Returns an error if the configuration does not fit the world.
    pub fn play(
        workers: &impl Workers,
        config: &TrainConfig,
        weights: &Weights<W::Net>,
        update: u64,
        indices: Range<u64>,
    ) -> Result<Self, Error> {
        Ok(match config.method {
            Method::Imitation => {
                Self::Labeled(imitation::play(workers, config, weights, update, indices)?)
            }
            Method::ExpertIteration => Self::Compared(expert_iteration::play(
                workers, config, weights, update, indices,
            )?),
            Method::Grpo => Self::Groups(grpo::play(workers, config, weights, update, indices)?),
        })
    }

    /// Returns the number of episodes.
    #[must_use]
    pub const fn count(&self) -> usize {
        match self {
            Self::Groups(all) => all.len(),
            Self::Labeled(all) => all.len(),
            Self::Compared(all) => all.len(),
        }
    }

    /// Appends the episodes that follow; returns `false` if those were played for another method.
    #[must_use]
    pub fn append(&mut self, other: Self) -> bool {
        match (self, other) {
            (Self::Groups(all), Self::Groups(mut next)) => all.append(&mut next),
            (Self::Labeled(all), Self::Labeled(mut next)) => all.append(&mut next),
            (Self::Compared(all), Self::Compared(mut next)) => all.append(&mut next),
            _ => return false,
        }
        true
    }
}
