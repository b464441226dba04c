//! Construction of the hidden state of an episode from a hypothesis, for rollouts.
//!
//! This module does not read hidden state: everything else in the new episode follows from its
//! public history.

use crate::adaptive_difficulty::AdversaryProfile;
use crate::slot::SLOTS;
use crate::trust::model::{Behavior, Hidden, OUTCOME_DRAWS};

/// A hypothesis about the hidden state of an episode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hypothesis {
    /// The behavior behind each slot.
    pub assignment: [Behavior; SLOTS],
    /// Seed of the draws after this state.
    pub outcome_seed: u64,
}

impl Hypothesis {
    /// Returns the hidden state at the start of an episode. Its draws are placeholders: see
    /// [`Hidden::set_next_draw`] and [`Hidden::with_outcome_seed`].
    pub(crate) const fn hidden_at_start(&self, adversary: AdversaryProfile) -> Hidden {
        Hidden::new(self.assignment, adversary, [0.0; OUTCOME_DRAWS])
    }
}
