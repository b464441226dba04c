//! Plants broken rules about sets of medicines, and makes sure that they can be put right.

use super::draft::{Draft, TRIES};
use crate::polyguard::formulary::{ArchetypeId, SetRule, each};
use crate::polyguard::hidden::Issue;
use crate::polyguard::regimen::Bucket;
use crate::polyguard::risk;

impl Draft {
    /// Plants one or two broken rules.
    pub(super) fn plant_sets(&mut self, count: usize) -> Option<()> {
        let mut rules = SetRule::ALL;
        self.episode.hidden.stream.shuffle(&mut rules);
        let both = [rules[0], rules[1]];
        // Sedation and anticholinergic burden come together too often to be two problems.
        if both.contains(&SetRule::Cns3) && both.contains(&SetRule::Acb3) {
            rules.swap(1, 2);
        }
        for rule in &rules[..count] {
            self.break_rule(*rule)?;
        }
        for rule in &rules[..count] {
            self.repair(*rule);
            self.issue(Issue::Set(*rule));
        }
        Some(())
    }

    fn is_broken(&self, rule: SetRule, mask: u64) -> bool {
        let name = self.episode.observation.case.formulary();
        let sets = risk::sets(self.formulary(), name, mask);
        sets.iter().any(|(other, broken)| *other == rule && *broken)
    }

    /// Adds medicines until a rule is broken.
    fn break_rule(&mut self, rule: SetRule) -> Option<()> {
        for _ in 0..TRIES {
            if self.is_broken(rule, self.episode.present()) {
                return Some(());
            }
            let pool = self.pool(|id| self.qualifies(rule, id));
            let id = self.pick(self.held_out_first(pool))?;
            if self.fits(id) {
                self.add_known(id, Some(Bucket::Medium));
                self.planted += 1;
            }
        }
        None
    }

    /// Whether a medicine brings the regimen nearer to breaking a rule.
    fn qualifies(&self, rule: SetRule, id: ArchetypeId) -> bool {
        let (formulary, present) = (self.formulary(), self.episode.present());
        let own = formulary.get(id);
        match rule {
            SetRule::Cns3 => own.cns,
            SetRule::Acb3 => own.acb > 0,
            SetRule::Whammy => {
                let parties = formulary.marks().whammy;
                let missing = parties.iter().filter(|party| **party & present == 0);
                missing.fold(0, |all, party| all | party) & id.bit() != 0
            }
            SetRule::Dup => {
                let same = |other| formulary.get(other).class_id == own.class_id;
                let others = each(self.allowed() & !id.bit());
                others.filter(|other| same(*other)).count() > 0
            }
        }
    }

    /// While what is needed and cannot be replaced breaks the rule on its own, the last of it
    /// becomes needless.
    fn repair(&mut self, rule: SetRule) {
        loop {
            let stuck: Vec<(usize, ArchetypeId)> = self.stuck(rule);
            let alone = stuck.iter().fold(0, |bits, (_, id)| bits | id.bit());
            if !self.is_broken(rule, alone) {
                return;
            }
            let Some((place, _)) = stuck.last() else {
                return;
            };
            self.make_needless(*place, 0.5);
        }
    }

    /// Members of a rule that are needed and have no clean substitute.
    fn stuck(&self, rule: SetRule) -> Vec<(usize, ArchetypeId)> {
        let (formulary, mask) = (self.formulary(), self.episode.present());
        let rows = self.episode.observation.regimen.iter().enumerate();
        rows.filter_map(|(place, row)| Some((place, row.drug.known()?)))
            .filter(|(place, id)| {
                let truth = self.episode.hidden.truths[*place];
                truth.needed
                    && risk::is_member(formulary, rule, mask, *id)
                    && !self.leaves_cleanly(rule, *id)
            })
            .collect()
    }

    /// Whether a substitute is clean and no member of the rule itself.
    fn leaves_cleanly(&self, rule: SetRule, id: ArchetypeId) -> bool {
        let formulary = self.formulary();
        let condition = formulary.get(id).indication;
        let mask = self.episode.present() & !id.bit();
        let substitutes = formulary.get(id).substitutes & self.allowed();
        self.is_clean(id, condition)
            && each(substitutes).any(|new| !risk::is_member(formulary, rule, mask | new.bit(), new))
    }
}
