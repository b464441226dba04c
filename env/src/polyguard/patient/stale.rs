//! Plants medicines whose indication is under review.

use super::draft::{Draft, TRIES};
use crate::polyguard::formulary::Condition;
use crate::polyguard::hidden::Issue;
use crate::polyguard::regimen::Bucket;

/// Probability that the chart already says whether a medicine is needed.
const VISIBLE: [f64; 3] = [0.6, 0.45, 0.3];

impl Draft {
    /// Plants medicines that are not needed, and decoys that are.
    pub(super) fn plant_stale(&mut self, needless: usize, decoys: usize) -> Option<()> {
        let pool = self.pool(|id| {
            let a = self.formulary().get(id);
            a.taper || a.acb >= 2 || ["ppi_like", "nsaid_like"].contains(&a.name.as_str())
        });
        let mut conditions: Vec<Condition> = Vec::new();
        for _ in 0..TRIES {
            if conditions.len() == needless + decoys {
                break;
            }
            let id = self.pick(self.held_out_first(pool))?;
            let condition = self.formulary().get(id).indication;
            if !self.fits(id) || conditions.contains(&condition) {
                continue;
            }
            let bucket = if self.unit() < 0.7 {
                Bucket::Medium
            } else {
                Bucket::Low
            };
            let place = self.add_known(id, Some(bucket));
            let needed = conditions.len() >= needless;
            let level = self.episode.observation.case.difficulty() as usize;
            let visible = self.unit() < VISIBLE[level];
            let row = &mut self.episode.observation.regimen[place];
            row.stale = true;
            row.status = visible.then_some(needed);
            conditions.push(condition);
            self.planted += 1;
            if !needed {
                let mark = conditions.len() as u8;
                let truth = &mut self.episode.hidden.truths[place];
                (truth.needed, truth.mark) = (false, mark);
                self.issue(Issue::NoIndication(mark));
            }
        }
        (conditions.len() == needless + decoys).then_some(())
    }
}
