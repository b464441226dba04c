//! Planting of broken set rules that can be resolved.

use super::patient_generator::{MAX_TRIES, PatientGenerator};
use crate::polyguard::dynamics::risk;
use crate::polyguard::model::formulary::{ArchetypeId, SetRule, each_archetype};
use crate::polyguard::model::hidden::Issue;
use crate::polyguard::model::regimen::DoseBucket;

impl PatientGenerator {
    /// Plants one or two broken rules.
    pub(super) fn inject_set_rule_violations(&mut self, count: usize) -> Option<()> {
        let mut rules = SetRule::ALL;
        self.state.hidden.stream.shuffle(&mut rules);
        let both = [rules[0], rules[1]];
        // Sedation and anticholinergic burden overlap too often to count as two problems.
        if both.contains(&SetRule::Cns3) && both.contains(&SetRule::Acb3) {
            rules.swap(1, 2);
        }
        for rule in &rules[..count] {
            self.break_rule(*rule)?;
        }
        for rule in &rules[..count] {
            self.repair(*rule);
            self.add_issue(Issue::Set(*rule));
        }
        Some(())
    }

    fn is_broken(&self, rule: SetRule, mask: u64) -> bool {
        let name = self.state.observation.task.formulary();
        risk::evaluate_set_rules(self.formulary(), name, mask)[rule as usize].1
    }

    /// Adds medicines until a rule is broken.
    fn break_rule(&mut self, rule: SetRule) -> Option<()> {
        for _ in 0..MAX_TRIES {
            if self.is_broken(rule, self.present) {
                return Some(());
            }
            let pool = self.allowed() & self.qualifying(rule);
            let id = self.pick(self.prefer_held_out(pool))?;
            if self.can_add(id) {
                self.add_known(id, Some(DoseBucket::Medium));
                self.planted += 1;
            }
        }
        None
    }

    /// Returns the archetypes that bring the regimen closer to breaking a rule.
    fn qualifying(&self, rule: SetRule) -> u64 {
        let marks = self.formulary().trait_sets();
        match rule {
            SetRule::Cns3 => marks.cns,
            SetRule::Acb3 => marks.acb[0] | marks.acb[1],
            SetRule::Whammy => {
                let present = self.present;
                let missing = marks.whammy.iter().filter(|party| **party & present == 0);
                missing.fold(0, |all, party| all | party)
            }
            SetRule::Dup => {
                let allowed = self.allowed();
                each_archetype(allowed & marks.with_class)
                    .filter(|id| marks.same_class[id.index()] & allowed != 0)
                    .fold(0, |bits, id| bits | id.bit())
            }
        }
    }

    /// TraitSets medicines as not needed until the members that are needed and cannot be replaced no
    /// longer break the rule by themselves.
    fn repair(&mut self, rule: SetRule) {
        loop {
            let stuck: Vec<(usize, ArchetypeId)> = self.irreplaceable(rule);
            let alone = stuck.iter().fold(0, |bits, (_, id)| bits | id.bit());
            if !self.is_broken(rule, alone) {
                return;
            }
            let Some((place, _)) = stuck.last() else {
                return;
            };
            self.mark_unneeded(*place, 0.5);
        }
    }

    /// Returns the members of a rule that are needed and have no clean substitute, with their
    /// positions.
    fn irreplaceable(&self, rule: SetRule) -> Vec<(usize, ArchetypeId)> {
        let (formulary, mask) = (self.formulary(), self.present);
        let rows = self.state.observation.regimen.iter().enumerate();
        rows.filter_map(|(place, row)| Some((place, row.drug.archetype()?)))
            .filter(|(place, id)| {
                let truth = self.state.hidden.truths[*place];
                truth.needed
                    && risk::is_member(formulary, rule, mask, *id)
                    && !self.leaves_cleanly(rule, *id)
            })
            .collect()
    }

    /// Returns `true` if the medicine has a clean substitute and a listed one that is not a member
    /// of the rule.
    fn leaves_cleanly(&self, rule: SetRule, id: ArchetypeId) -> bool {
        let formulary = self.formulary();
        let condition = formulary.get(id).indication;
        let mask = self.present & !id.bit();
        let substitutes = formulary.get(id).substitutes & self.allowed();
        self.is_valid_substitute(id, condition)
            && each_archetype(substitutes)
                .any(|new| !risk::is_member(formulary, rule, mask | new.bit(), new))
    }
}
