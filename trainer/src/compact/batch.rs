//! What one update learns from: observations, and actions taken there with their advantage.

use sentinel_policy::learned::Features;

use sentinel_env::slot::SLOTS;

/// An observation that was acted on.
#[derive(Clone, Debug)]
pub struct Sample {
    /// What the policy saw.
    pub features: Features,
    /// Which actions were legal.
    pub legal: [bool; 12],
    /// Behaviour behind each slot: what the belief is trained on, and nothing else sees.
    pub behaviours: [u8; SLOTS],
}

/// An action taken at a sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Token {
    /// Index of the sample in its batch.
    pub sample: u32,
    /// Index in [`Action::ALL`](sentinel_env::trust::Action::ALL).
    pub action: u8,
    /// Log-probability when it was taken.
    pub old_logp: f64,
    /// Log-probability under the reference policy, where one is kept.
    pub ref_logp: f64,
    /// How much better than its group it turned out.
    pub advantage: f64,
}

/// Samples with the sequences of actions taken there. A sequence is an episode, or a single action
/// where groups start from one step.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    /// Observations.
    pub samples: Vec<Sample>,
    /// Actions, sequence by sequence, each pointing to its sample.
    pub sequences: Vec<Vec<Token>>,
}

impl Batch {
    /// Adds another batch behind this one.
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

    /// How many actions there are.
    #[must_use]
    pub fn tokens(&self) -> usize {
        self.sequences.iter().map(Vec::len).sum()
    }
}
