//! Planting of medicines that must be replaced: one with a serious partner, or a product of two
//! components.

use super::patient_generator::{MAX_TRIES, PatientGenerator};
use crate::polyguard::model::formulary::{ArchetypeId, each_archetype};
use crate::polyguard::model::hidden::Issue;
use crate::polyguard::model::regimen::{DoseBucket, Drug};
use crate::polyguard::model::task_spec::Split;

/// Probability, by difficulty, that the chart shows the intolerance from the start.
const KNOWN_ADE: [f64; 3] = [1.0, 0.6, 0.3];

impl PatientGenerator {
    /// Returns the archetypes that form a serious pair with `id` that the split allows. For the
    /// first planting of the split `holdout`, returns only those of held-out pairs, if there are
    /// any.
    fn serious_partners(&self, id: ArchetypeId) -> u64 {
        let formulary = self.formulary();
        let egfr = Some(self.state.hidden.egfr());
        let serious = formulary.serious_partners(id, egfr) & self.allowed();
        let held_out = formulary.held_out_partners(id);
        match self.split() {
            Split::Train => serious & !held_out,
            Split::Holdout if self.planted == 0 && serious & held_out != 0 => serious & held_out,
            Split::All | Split::Holdout => serious,
        }
    }

    /// Returns the other archetypes that treat the first indication of `id`.
    fn alternatives(&self, id: ArchetypeId) -> u64 {
        let condition = self.formulary().get(id).indication;
        self.allowed() & !id.bit() & self.formulary().trait_sets().treating[condition as usize]
    }

    /// Returns the alternatives that could replace a medicine without a duplicate, a clashing pair
    /// or a renal problem.
    pub(super) fn good_alternatives(&self, id: ArchetypeId) -> u64 {
        let others = self.present & !id.bit();
        each_archetype(self.alternatives(id))
            .filter(|other| {
                others & other.bit() == 0
                    && !self.has_clash(*other, others)
                    && !self.renal_unsafe(*other)
            })
            .fold(0, |bits, other| bits | other.bit())
    }

    /// Plants a medicine with a serious partner; one of its alternatives may not be tolerated.
    pub(super) fn inject_medicine_to_replace(&mut self) -> Option<()> {
        let pool = self.allowed_where(|id| {
            !self.formulary().get(id).taper
                && self.alternatives(id).count_ones() >= 2
                && self.serious_partners(id) != 0
        });
        for _ in 0..MAX_TRIES {
            let problem = self.pick(self.prefer_held_out(pool))?;
            let Some(partner) = self.pick(self.serious_partners(problem)) else {
                continue;
            };
            if !self.can_add(problem) || !self.can_add(partner) {
                continue;
            }
            let free = |id: &ArchetypeId| !self.has_clash(*id, partner.bit());
            if each_archetype(self.alternatives(problem))
                .find(free)
                .is_none()
            {
                continue;
            }
            self.add_known(problem, Some(DoseBucket::Medium));
            self.add_known(partner, Some(DoseBucket::Medium));
            self.planted += 2;
            self.note_problem(problem, partner);
            return Some(());
        }
        None
    }

    fn note_problem(&mut self, problem: ArchetypeId, partner: ArchetypeId) {
        let level = self.state.observation.task.difficulty() as usize;
        let condition = self.formulary().get(problem).indication;
        self.state.observation.problem = Some(Drug::Known(problem));
        if let Some(pair) = self.formulary().pair_between(problem, partner) {
            self.state.observation.flagged |= pair.bit();
        }
        self.add_issue(Issue::Replace(Drug::Known(problem), condition));
        let good = self.good_alternatives(problem);
        if good.count_ones() >= 2 {
            self.state.hidden.intolerant = self.pick(good);
            if let Some(id) = self.state.hidden.intolerant
                && self.unit() < KNOWN_ADE[level]
            {
                self.state.observation.ade_history |= id.bit();
            }
        }
    }

    /// Plants a product of two components, one of which may have a serious partner.
    pub(super) fn inject_product(&mut self) -> Option<()> {
        let benign = self.unit() < 0.35;
        let all = self.allowed();
        let plain = self.allowed() & !self.formulary().trait_sets().taper;
        for _ in 0..MAX_TRIES {
            let first_pool = if benign {
                self.prefer_held_out(plain)
            } else {
                plain
            };
            let (a, b) = (self.pick(first_pool)?, self.pick(all)?);
            let formulary = self.formulary();
            let apart = a != b
                && formulary.pair_between(a, b).is_none()
                && formulary.get(a).indication != formulary.get(b).indication;
            if !apart || !self.can_add(a) || !self.can_add(b) {
                continue;
            }
            let condition = formulary.get(a).indication;
            if benign {
                self.add_product(a, b);
                self.add_issue(Issue::Decompose);
                self.add_issue(Issue::Sign);
                return Some(());
            }
            let Some(partner) = self.pick(self.serious_partners(b) & !self.serious_partners(a))
            else {
                continue;
            };
            let free = partner != a && !self.has_clash(partner, a.bit());
            let Some(pair) = formulary.pair_between(b, partner) else {
                continue;
            };
            let first = self.split() == Split::Holdout && self.planted == 0;
            let asked_for = !first || formulary.pair(pair).held_out;
            if !free || !asked_for || !self.can_add(partner) {
                continue;
            }
            self.add_product(a, b);
            self.add_known(partner, Some(DoseBucket::Medium));
            self.planted += 1;
            self.add_issue(Issue::Decompose);
            self.add_issue(Issue::ComponentPair(pair));
            self.add_issue(Issue::Replace(Drug::Product, condition));
            return Some(());
        }
        None
    }

    fn add_product(&mut self, a: ArchetypeId, b: ArchetypeId) {
        self.state.hidden.components = Some([a, b]);
        let condition = self.formulary().get(a).indication;
        self.add(Drug::Product, Some(DoseBucket::Medium), condition);
        self.planted += 1;
    }

    /// Returns `true` if the medicine or product that must be replaced can be replaced, given the
    /// rest of the regimen.
    pub(super) fn is_solvable(&self) -> bool {
        let intolerant = self.state.hidden.intolerant.map_or(0, ArchetypeId::bit);
        match (self.state.observation.problem, self.state.hidden.components) {
            (Some(Drug::Known(problem)), _) => self.good_alternatives(problem) & !intolerant != 0,
            (_, Some([a, b])) => {
                let others = self.present & !(a.bit() | b.bit());
                !self.has_clash(a, others) && !self.renal_unsafe(a)
            }
            _ => true,
        }
    }
}
