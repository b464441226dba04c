//! Plants doses in question, and medicines that the kidney may not allow.

use super::draft::{Draft, TRIES};
use crate::polyguard::case::Difficulty;
use crate::polyguard::hidden::Issue;
use crate::polyguard::labs::Lab;
use crate::polyguard::regimen::Bucket;

impl Draft {
    /// Plants medicines whose dose may not suit the patient.
    pub(super) fn plant_doses(&mut self, count: usize) -> Option<()> {
        let benign = self.unit() < 0.3;
        let pool = self.pool(|id| {
            let archetype = self.formulary().get(id);
            archetype.narrow || archetype.renal_below.is_some()
        });
        let mut left = count;
        for _ in 0..TRIES {
            if left == 0 {
                break;
            }
            let id = self.pick(self.held_out_first(pool))?;
            if !self.fits(id) {
                continue;
            }
            let bucket = 1 + self.below(3);
            let aim = if benign {
                bucket
            } else if self.unit() < 0.35 {
                bucket + 1
            } else {
                bucket - 1
            };
            let aim = if (1..=3).contains(&aim) { aim } else { 2 };
            let best = 0.9 + 0.2 * self.unit();
            let place = self.add_known(id, Some(Bucket::ALL[bucket]));
            let kappa = Bucket::ALL[aim].dose() / best;
            let exposure = Bucket::ALL[bucket].dose() / kappa;
            let truth = &mut self.episode.hidden.truths[place];
            (truth.kappa, truth.exposure) = (kappa, exposure);
            self.episode.observation.regimen[place].questioned = true;
            let renal = self.formulary().get(id).renal_below.is_some();
            if renal && self.unit() < 0.6 && exposure > 1.2 {
                self.episode.hidden.labs[0] = 35.0 + 20.0 * self.unit();
            }
            self.planted += 1;
            self.issue(Issue::Dose(id));
            left -= 1;
        }
        (left == 0).then_some(())?;
        if benign {
            self.issue(Issue::Sign);
        }
        Some(())
    }

    /// Plants a medicine whose safety hangs on a laboratory value that is missing.
    pub(super) fn plant_renal(&mut self) -> Option<()> {
        let benign = self.unit() < 0.45;
        let pool = self.pool(|id| {
            let archetype = self.formulary().get(id);
            archetype.renal_below.is_some() && !archetype.taper
        });
        let id = self.pick(self.held_out_first(pool))?;
        let below = self.formulary().get(id).renal_below?;
        let place = self.add_known(id, Some(Bucket::Medium));
        self.planted += 1;
        let u = self.unit();
        self.episode.hidden.labs[0] = if benign {
            below + 5.0 + 30.0 * u
        } else {
            (below - 3.0 - 12.0 * u).max(12.0)
        };
        let condition = self.formulary().get(id).indication;
        if !benign && !self.is_clean(id, condition) {
            // What nothing can replace may go only where it is not needed.
            self.make_needless(place, 0.6);
        }
        self.issue(Issue::Info);
        self.issue(if benign {
            Issue::Sign
        } else {
            Issue::Renal(id)
        });
        self.missing[Lab::Egfr as usize] = true;
        if self.episode.observation.case.difficulty() != Difficulty::Easy {
            self.missing[Lab::Inr as usize] = true;
        }
        Some(())
    }
}
