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
    /// Takes in a step, just after it was taken: what was answered, what it earned, how the patient
    /// is, and what can be chosen next.
    pub fn push(&mut self, episode: &Episode, step: &Step) {
        let (o, h) = (episode.observation(), episode.hidden());
        let d = &mut self.digest;
        let choice = match step.action {
            Action::Choose(choice) => u64::from(choice.id.number()),
            Action::Invalid(why) => 100 + why as u64,
            Action::Exploit => 255,
        };
        let violation = step.violation.map_or(0, |why| why as u64 + 1);
        let end = step.end.map_or(0, |end| end as u64 + 1);
        d.int(choice << 24 | violation << 16 | end << 8 | u64::from(o.step_count));
        for value in step.reward.components {
            d.float(value);
        }
        for value in [
            h.risk,
            h.burden,
            h.stability,
            h.symptom,
            o.risk,
            o.uncertainty,
        ] {
            d.float(value);
        }
        d.int(o.flagged);
        for (place, row) in o.regimen.iter().enumerate() {
            d.bytes(&[row.drug.number(), row.bucket as u8]);
            d.float(h.truth(place).exposure);
        }
        for candidate in o.candidates.iter() {
            let act = candidate.act;
            let drug = act.drug.map_or(0xff, super::Drug::number);
            d.bytes(&[candidate.id.number(), act.kind as u8, drug]);
            d.float(candidate.est_risk);
        }
        if let Some(score) = step.score {
            d.float(score);
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
