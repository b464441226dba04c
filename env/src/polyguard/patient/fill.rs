//! Fills the regimen with medicines that are no problem.

use super::draft::Draft;
use crate::polyguard::case::SubEnvironment;
use crate::polyguard::formulary::{ArchetypeId, Conditions};
use crate::polyguard::risk;

/// Tries in all.
const TRIES: usize = 300;

impl Draft {
    /// Adds medicines until there are as many as the difficulty asks for.
    pub(super) fn fill(&mut self) {
        let all = self.allowed();
        let kept_apart = self.kept_apart();
        for _ in 0..TRIES {
            if self.episode.observation.regimen.len() >= self.size {
                return;
            }
            let Some(id) = self.pick(all) else {
                return;
            };
            let treats = self.formulary().get(id).treats;
            if !self.fits(id)
                || self.has_class_of(id)
                || self.breaks_a_rule(id)
                || !treats.and(kept_apart).is_empty()
            {
                continue;
            }
            let place = self.add_known(id, None);
            if self.unit() < 0.15 {
                self.episode.hidden.truths[place].needed = false;
            }
        }
    }

    /// Conditions of the first three planted medicines, which must stay theirs.
    fn kept_apart(&self) -> Conditions {
        use SubEnvironment::{
            AlternativeSuggestion, BanditMining, NewDrugDecomposition, PrecisionDosing,
        };
        let apart = [
            BanditMining,
            PrecisionDosing,
            AlternativeSuggestion,
            NewDrugDecomposition,
        ];
        let mut conditions = Conditions::EMPTY;
        if apart.contains(&self.episode.observation.case.sub()) {
            for place in 0..self.planted.min(3) {
                conditions.insert(self.episode.hidden.truths[place].condition);
            }
        }
        conditions
    }

    /// Whether a medicine would break a rule, or make one that is broken harder to mend.
    fn breaks_a_rule(&self, id: ArchetypeId) -> bool {
        let name = self.episode.observation.case.formulary();
        let present = self.episode.present();
        let with = present | id.bit();
        let before = risk::sets(self.formulary(), name, present);
        let after = risk::sets(self.formulary(), name, with);
        before.iter().zip(after).any(|(before, (rule, broken))| {
            broken && (!before.1 || risk::is_member(self.formulary(), rule, with, id))
        })
    }
}
