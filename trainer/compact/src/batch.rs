//! The data of one update: observations, and the actions taken there with their advantages.

use serde::{Deserialize, Serialize};

use super::learn::{FeaturesOf, Learn};

/// An observation at which an action was taken.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(bound = "")]
pub struct Sample<W: Learn> {
    /// The input features of the network.
    pub features: FeaturesOf<W>,
    /// `true` for each column that could be chosen.
    pub action_mask: Vec<bool>,
    /// The classes that the belief is trained on, see [`Learn::belief_targets`].
    pub belief_targets: Vec<u8>,
}

/// One factor of an action taken at a sample.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Token {
    /// The index of the sample in its batch.
    pub sample: u32,
    /// The chosen column, see [`FACTOR_COLUMNS`](sentinel_policy::nn::Network::FACTOR_COLUMNS).
    pub column: u16,
    /// The log-probability of the choice when it was made.
    pub old_logp: f64,
    /// The log-probability under the reference policy, if there is one.
    pub ref_logp: f64,
    /// The advantage of the action over its group.
    pub advantage: f64,
}

/// Samples with the sequences of tokens chosen there. A sequence is an episode, or a single action
/// if groups start from one step.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(bound = "")]
pub struct Batch<W: Learn> {
    /// The observations of the batch.
    pub samples: Vec<Sample<W>>,
    /// The tokens of each sequence, each with the index of its sample.
    pub sequences: Vec<Vec<Token>>,
}

impl<W: Learn> Default for Batch<W> {
    fn default() -> Self {
        Self {
            samples: Vec::new(),
            sequences: Vec::new(),
        }
    }
}

impl<W: Learn> Batch<W> {
    /// Appends another batch and shifts the sample indices of its tokens.
    pub fn append(&mut self, mut other: Self) {
        let shift = self.samples.len() as u32;
        self.samples.append(&mut other.samples);
        for sequence in &mut other.sequences {
            for token in sequence {
                token.sample += shift;
            }
        }
        self.sequences.append(&mut other.sequences);
    }
}
