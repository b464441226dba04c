//! Public knowledge about the workers: their lies, and their speed.

use sentinel_env::cluster::Observation;
use sentinel_env::slot::{SLOTS, Slot, argmax};

use crate::cluster::evidence::{Speeds, honest_share, lie_count};

/// Evidence about the workers over one episode.
#[derive(Clone, Debug, Default)]
pub(super) struct Workers {
    speeds: Speeds,
    /// `true` for each worker that was given a job to measure its speed.
    tried: [bool; SLOTS],
}

impl Workers {
    /// Updates the evidence with an observation. Call it once for every observation of an episode,
    /// in order.
    pub(super) fn observe(&mut self, o: &Observation) {
        self.speeds.observe(o);
    }

    /// Returns the worker for a job. It is the most honest one, preferring full speed. If `slowly`
    /// is `true` it prefers the slow worker; until that is known, every worker gets one such job.
    pub(super) fn for_job(&mut self, o: &Observation, slowly: bool) -> Slot {
        let somebody_slow = self.speeds.slow.contains(&Some(true));
        let worth = Slot::ALL.map(|slot| {
            let slow = self.speeds.slow[slot.index()];
            let untried = slow.is_none() && !self.tried[slot.index()];
            match (slowly, slow) {
                (true, Some(true)) => 1.0 + honest_share(o, slot),
                (true, _) if untried && !somebody_slow => 2.0,
                (false, Some(true)) => honest_share(o, slot) - 0.5,
                _ => honest_share(o, slot),
            }
        });
        let chosen = argmax(&worth);
        self.tried[chosen.index()] |= slowly;
        chosen
    }

    /// Returns the worker with the lowest share of honest reports among those that were caught
    /// lying.
    pub(super) fn worst_known_liar(o: &Observation) -> Option<Slot> {
        let caught = Slot::ALL.into_iter().filter(|slot| lie_count(o, *slot) > 0);
        caught.min_by(|a, b| honest_share(o, *a).total_cmp(&honest_share(o, *b)))
    }

    /// Returns the first worker that never reported.
    pub(super) fn first_without_report(o: &Observation) -> Option<Slot> {
        Slot::ALL
            .into_iter()
            .find(|slot| o.ledger[*slot].calls == 0)
    }

    /// Returns the workers that were never caught lying in rotation, by `turn`; the most honest one
    /// if all were caught.
    pub(super) fn honest_in_rotation(o: &Observation, turn: usize) -> Slot {
        let clean = |slot: &Slot| lie_count(o, *slot) == 0;
        let count = Slot::ALL.iter().filter(|slot| clean(slot)).count();
        let chosen = Slot::ALL.into_iter().filter(clean).nth(turn % count.max(1));
        chosen.unwrap_or_else(|| argmax(&Slot::ALL.map(|slot| honest_share(o, slot))))
    }
}
