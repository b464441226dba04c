//! The digest of a trajectory: equal on every target, or the episodes were not the same.

use super::{Episode, Step};
use crate::digest::Digest;

/// A running digest with a mark after each step, so that the first difference can be named.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fingerprints {
    digest: Digest,
    trail: Vec<u32>,
}

impl Fingerprints {
    /// Takes in a step, just after it was taken: what was done, what it brought, how jobs and GPUs
    /// stand, all trust and all true progress.
    pub fn push(&mut self, episode: &Episode, step: &Step) {
        let (o, hidden, tally) = (episode.observation(), episode.hidden(), episode.tally());
        let attack = step.attack.map_or(0, |attack| attack.kind as u64 + 1);
        self.digest.int(u64::from(step.action.signature()));
        self.digest
            .int(attack << 16 | u64::from(o.step_count) << 8 | u64::from(step.success));
        self.digest.bytes(&o.jobs.counts());
        self.digest.bytes(&hidden.pool.counts());
        self.digest.float(step.grades.reward);
        self.digest.float(tally.total_reward);
        for trust in o.ledger.trust() {
            self.digest.float(trust);
        }
        for actual in &hidden.progress[..o.jobs.rows().len()] {
            self.digest.float(*actual);
        }
        if let Some(end) = &step.terminal {
            self.digest.float(end.reward);
            self.digest.float(tally.score());
            self.digest.float(hidden.peek_failures());
            self.digest.float(hidden.peek_attacks());
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
