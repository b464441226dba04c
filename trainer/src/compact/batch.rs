//! The data of one update: observations, and actions taken there with their advantage.

use super::learn::{FeaturesOf, Learn};

/// An observation that was acted on.
#[derive(Clone, Debug)]
pub struct Sample<W: Learn> {
    /// The input of the network.
    pub features: FeaturesOf<W>,
    /// Which columns could be chosen.
    pub action_mask: Vec<bool>,
    /// Classes that the belief is trained on, see [`Learn::belief_targets`].
    pub belief_targets: Vec<u8>,
}

/// One factor of an action taken at a sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Token {
    /// Index of the sample in its batch.
    pub sample: u32,
    /// The column that was chosen, see [`Network::SEGMENTS`](sentinel_policy::nn::Network::SEGMENTS).
    pub column: u16,
    /// Log-probability when it was taken.
    pub old_logp: f64,
    /// Log-probability under the reference policy, where one is kept.
    pub ref_logp: f64,
    /// How much better than its group it was.
    pub advantage: f64,
}

/// Samples with the sequences of tokens chosen there. A sequence is an episode, or a single action
/// where groups start from one step.
#[derive(Clone, Debug)]
pub struct Batch<W: Learn> {
    /// Observations.
    pub samples: Vec<Sample<W>>,
    /// Tokens, sequence by sequence, each pointing to its sample.
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
    /// Appends another batch.
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
