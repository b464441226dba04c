//! The digest of a trajectory: equal on every target, or the episodes were not the same.

use super::{Action, Episode, Step};
use crate::digest::Digest;

/// A running digest with a mark after each step, so that the first difference can be named.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fingerprints {
    digest: Digest,
    trail: Vec<u32>,
}

impl Fingerprints {
    /// Takes in a step, just after it was taken: what was done, what it brought, and all trust.
    pub(super) fn push(&mut self, episode: &Episode, step: &Step) {
        let (o, tally) = (episode.observation(), episode.tally());
        let action = Action::ALL
            .iter()
            .position(|a| *a == step.action)
            .unwrap_or(Action::ALL.len());
        self.digest.int(action as u64);
        self.digest
            .int(u64::from(o.step_count) << 8 | u64::from(step.adversarial));
        self.digest.float(step.grades.reward);
        self.digest.float(tally.total_reward);
        for trust in o.ledger.trust() {
            self.digest.float(trust);
        }
        if let Some(end) = &step.terminal {
            self.digest.float(end.reward);
            self.digest.float(end.calibration);
            self.digest.float(tally.score());
        }
        self.trail.push(self.digest.hash as u32);
    }

    /// Size and hash of all steps so far.
    #[must_use]
    pub const fn digest(&self) -> Digest {
        self.digest
    }

    /// The low 32 bits of the running hash after each step.
    #[must_use]
    pub fn trail(&self) -> &[u32] {
        &self.trail
    }
}
