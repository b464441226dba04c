//! Plants what must be replaced: a medicine with a bad partner, or a product of two components.

use super::draft::{Draft, TRIES};
use crate::polyguard::case::Split;
use crate::polyguard::formulary::{ArchetypeId, each};
use crate::polyguard::hidden::Issue;
use crate::polyguard::regimen::{Bucket, Drug};

/// Probability that the chart says what was not tolerated.
const KNOWN_ADE: [f64; 3] = [1.0, 0.6, 0.3];

impl Draft {
    /// With whom an archetype makes a serious pair that the split allows; in the split `holdout`
    /// one that it asks for, if there is one.
    fn serious_partners(&self, id: ArchetypeId) -> u64 {
        let formulary = self.formulary();
        let such = |held_out_only: bool| {
            each(formulary.partners(id) & self.allowed())
                .filter(|other| {
                    let pair = formulary.between(id, *other);
                    pair.is_some_and(|pair| {
                        let held_out = formulary.pair(pair).held_out;
                        self.episode.is_serious(pair)
                            && (self.split() != Split::Train || !held_out)
                            && (!held_out_only || held_out)
                    })
                })
                .fold(0, |bits, other| bits | other.bit())
        };
        match self.split() {
            Split::Holdout if self.planted == 0 && such(true) != 0 => such(true),
            _ => such(false),
        }
    }

    /// Other archetypes that treat the first indication of one.
    fn alternatives(&self, id: ArchetypeId) -> u64 {
        let condition = self.formulary().get(id).indication;
        self.pool(|other| other != id && self.formulary().get(other).treats.has(condition))
    }

    /// The alternatives that could really take the place of a medicine.
    fn good_alternatives(&self, id: ArchetypeId) -> u64 {
        let others = self.episode.present() & !id.bit();
        each(self.alternatives(id))
            .filter(|other| {
                others & other.bit() == 0
                    && !self.clash_with(*other, others)
                    && !self.renal_unsafe(*other)
            })
            .fold(0, |bits, other| bits | other.bit())
    }

    /// Plants a medicine with a serious partner, of whose alternatives one may not be tolerated.
    pub(super) fn plant_problem(&mut self) -> Option<()> {
        let pool = self.pool(|id| {
            !self.formulary().get(id).taper
                && self.alternatives(id).count_ones() >= 2
                && self.serious_partners(id) != 0
        });
        for _ in 0..TRIES {
            let problem = self.pick(self.held_out_first(pool))?;
            let Some(partner) = self.pick(self.serious_partners(problem)) else {
                continue;
            };
            if !self.fits(problem) || !self.fits(partner) {
                continue;
            }
            let free = |id: &ArchetypeId| !self.clash_with(*id, partner.bit());
            if each(self.alternatives(problem)).find(free).is_none() {
                continue;
            }
            self.add_known(problem, Some(Bucket::Medium));
            self.add_known(partner, Some(Bucket::Medium));
            self.planted += 2;
            self.note_problem(problem, partner);
            return Some(());
        }
        None
    }

    fn note_problem(&mut self, problem: ArchetypeId, partner: ArchetypeId) {
        let level = self.episode.observation.case.difficulty() as usize;
        let condition = self.formulary().get(problem).indication;
        self.episode.observation.problem = Some(Drug::Known(problem));
        if let Some(pair) = self.formulary().between(problem, partner) {
            self.episode.observation.flagged |= pair.bit();
        }
        self.issue(Issue::Replace(Drug::Known(problem), condition));
        let good = self.good_alternatives(problem);
        if good.count_ones() >= 2 {
            self.episode.hidden.intolerant = self.pick(good);
            if let Some(id) = self.episode.hidden.intolerant
                && self.unit() < KNOWN_ADE[level]
            {
                self.episode.observation.ade_history |= id.bit();
            }
        }
    }

    /// Plants a product of two components, one of which may have a serious partner.
    pub(super) fn plant_product(&mut self) -> Option<()> {
        let benign = self.unit() < 0.35;
        let all = self.allowed();
        let plain = self.pool(|id| !self.formulary().get(id).taper);
        for _ in 0..TRIES {
            let first_pool = if benign {
                self.held_out_first(plain)
            } else {
                plain
            };
            let (a, b) = (self.pick(first_pool)?, self.pick(all)?);
            let formulary = self.formulary();
            let apart = a != b
                && formulary.between(a, b).is_none()
                && formulary.get(a).indication != formulary.get(b).indication;
            if !apart || !self.fits(a) || !self.fits(b) {
                continue;
            }
            let condition = formulary.get(a).indication;
            if benign {
                self.add_product(a, b);
                self.issue(Issue::Decompose);
                self.issue(Issue::Sign);
                return Some(());
            }
            let Some(partner) = self.pick(self.serious_partners(b) & !self.serious_partners(a))
            else {
                continue;
            };
            let free = partner != a && !self.clash_with(partner, a.bit());
            let Some(pair) = formulary.between(b, partner) else {
                continue;
            };
            let first = self.split() == Split::Holdout && self.planted == 0;
            let asked_for = !first || formulary.pair(pair).held_out;
            if !free || !asked_for || !self.fits(partner) {
                continue;
            }
            self.add_product(a, b);
            self.add_known(partner, Some(Bucket::Medium));
            self.planted += 1;
            self.issue(Issue::Decompose);
            self.issue(Issue::ComponentPair(pair));
            self.issue(Issue::Replace(Drug::Product, condition));
            return Some(());
        }
        None
    }

    fn add_product(&mut self, a: ArchetypeId, b: ArchetypeId) {
        self.episode.hidden.components = Some([a, b]);
        let condition = self.formulary().get(a).indication;
        self.add(Drug::Product, Some(Bucket::Medium), condition);
        self.planted += 1;
    }

    /// Whether what must be replaced can be, with everything else that is taken.
    pub(super) fn is_solvable(&self) -> bool {
        let intolerant = self.episode.hidden.intolerant.map_or(0, ArchetypeId::bit);
        match (
            self.episode.observation.problem,
            self.episode.hidden.components,
        ) {
            (Some(Drug::Known(problem)), _) => self.good_alternatives(problem) & !intolerant != 0,
            (_, Some([a, b])) => {
                let others = self.episode.present() & !(a.bit() | b.bit());
                !self.clash_with(a, others) && !self.renal_unsafe(a)
            }
            _ => true,
        }
    }
}
