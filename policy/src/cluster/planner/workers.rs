//! What a scheduler can know of its workers: who was caught, and who works at half speed.

use sentinel_env::cluster::{JOBS_MAX, JobStatus, Observation};
use sentinel_env::slot::{SLOTS, Slot, argmax};

use crate::cluster::evidence::{honesty, lies};

/// What was seen of the workers.
#[derive(Clone, Debug)]
pub(super) struct Workers {
    /// Progress of the jobs at the last observation.
    before: [f64; JOBS_MAX],
    step: u8,
    /// Whether a worker was seen to work at half speed, or at full.
    slow: [Option<bool>; SLOTS],
    /// Who was given a job to see how fast it works.
    tried: [bool; SLOTS],
}

impl Default for Workers {
    fn default() -> Self {
        Self {
            before: [0.0; JOBS_MAX],
            step: 0,
            slow: [None; SLOTS],
            tried: [false; SLOTS],
        }
    }
}

impl Workers {
    /// Takes in one observation.
    pub(super) fn observe(&mut self, o: &Observation) {
        for (id, job) in o.jobs.iter() {
            let before = std::mem::replace(&mut self.before[id.index()], job.reported);
            let Some(worker) = job.worker else {
                continue;
            };
            // An attack sets a job's progress to 1; then nothing can be read from it.
            let runs = job.status == JobStatus::Running && job.reported < 1.0;
            let full = 1.0 / f64::from(job.steps);
            let made = job.reported - before;
            if runs && self.step + 1 == o.step_count && made > 0.25 * full {
                self.slow[worker.index()] = Some(made < 0.75 * full);
            }
        }
        self.step = o.step_count;
    }

    /// Who gets a job: honest and not slow, or for a job that may take its time somebody slow, who
    /// is looked for by giving everybody one.
    pub(super) fn for_job(&mut self, o: &Observation, slowly: bool) -> Slot {
        let somebody_slow = self.slow.contains(&Some(true));
        let worth = Slot::ALL.map(|slot| {
            let slow = self.slow[slot.index()];
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
