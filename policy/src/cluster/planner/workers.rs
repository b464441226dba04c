//! What a scheduler can know of its workers: who was caught, and who works at half speed.

use sentinel_env::cluster::Observation;
use sentinel_env::slot::{SLOTS, Slot, argmax};

use crate::cluster::evidence::{Speeds, honesty, lies};

/// What was seen of the workers.
#[derive(Clone, Debug, Default)]
pub(super) struct Workers {
    speeds: Speeds,
    /// Who was given a job to see how fast it works.
    tried: [bool; SLOTS],
}

impl Workers {
    /// Takes in one observation.
    pub(super) fn observe(&mut self, o: &Observation) {
        self.speeds.observe(o);
    }

    /// Who gets a job: honest and not slow, or for a job that may take its time somebody slow, who
    /// is looked for by giving everybody one.
    pub(super) fn for_job(&mut self, o: &Observation, slowly: bool) -> Slot {
        let somebody_slow = self.speeds.slow.contains(&Some(true));
        let worth = Slot::ALL.map(|slot| {
            let slow = self.speeds.slow[slot.index()];
            let untried = slow.is_none() && !self.tried[slot.index()];
            match (slowly, slow) {
                (true, Some(true)) => 1.0 + honesty(o, slot),
                (true, _) if untried && !somebody_slow => 2.0,
                (false, Some(true)) => honesty(o, slot) - 0.5,
                _ => honesty(o, slot),
            }
        });
        let chosen = argmax(&worth);
        self.tried[chosen.index()] |= slowly;
        chosen
    }

    /// Who was caught, in the greatest share of reports.
    pub(super) fn liar(o: &Observation) -> Option<Slot> {
        let caught = Slot::ALL.into_iter().filter(|slot| lies(o, *slot) > 0);
        caught.min_by(|a, b| honesty(o, *a).total_cmp(&honesty(o, *b)))
    }

    /// Somebody who never reported.
    pub(super) fn unknown(o: &Observation) -> Option<Slot> {
        Slot::ALL
            .into_iter()
            .find(|slot| o.ledger[*slot].calls == 0)
    }

    /// One of those who were never caught, by turns; the most honest one when all were.
    pub(super) fn honest(o: &Observation, turn: usize) -> Slot {
        let clean = |slot: &Slot| lies(o, *slot) == 0;
        let count = Slot::ALL.iter().filter(|slot| clean(slot)).count();
        let chosen = Slot::ALL.into_iter().filter(clean).nth(turn % count.max(1));
        chosen.unwrap_or_else(|| argmax(&Slot::ALL.map(|slot| honesty(o, slot))))
    }
}
