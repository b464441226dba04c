//! A patient in the making, and the tests that every new medicine must pass.

use crate::polyguard::Setup;
use crate::polyguard::case::Split;
use crate::polyguard::episode::Episode;
use crate::polyguard::formulary::{ArchetypeId, Condition, Formulary, each};
use crate::polyguard::hidden::{Issue, Truth};
use crate::polyguard::labs::LABS;
use crate::polyguard::num::clip;
use crate::polyguard::observation::Sex;
use crate::polyguard::regimen::{Bucket, Drug, ROWS, Row};
use crate::polyguard::stream::Stream;

/// Tries before a planting gives up.
pub(super) const TRIES: usize = 200;
/// Clearances that a patient may have.
const KAPPAS: [f64; 4] = [0.8, 1.0, 1.0, 1.25];

/// An episode whose patient is being drawn.
pub(super) struct Draft {
    pub(super) episode: Episode,
    /// Medicines that the table of difficulties asks for.
    pub(super) size: usize,
    /// True frailty.
    pub(super) frailty: f64,
    /// Conditions of the planted medicines, which a filler may not treat too.
    pub(super) planted: usize,
    /// Laboratory values that the chart never shows at the start, in the order of `Lab`.
    pub(super) missing: [bool; LABS],
}

impl Draft {
    /// Draws who the patient is.
    pub(super) fn person(setup: &Setup, stream: Stream) -> Self {
        let mut episode = Episode::blank(setup, stream);
        let w = &mut episode.hidden.stream;
        let age = 65 + w.below(26);
        let sex = [Sex::Female, Sex::Male][w.below(2)];
        let over = age as f64 - 65.0;
        let frailty = clip(0.1 + 0.01 * over + 0.35 * w.unit());
        let adherence = 0.7 + 0.3 * w.unit();
        let u = w.unit();
        let egfr = (95.0 - 0.8 * over - 50.0 * u * u).clamp(15.0, 100.0);
        let inr = 1.0 + w.unit();
        let size = match setup.case.difficulty() as usize {
            0 => 3 + w.below(3),
            1 => 6 + w.below(4),
            _ => 10 + w.below(5),
        };
        let patient = &mut episode.observation.patient;
        (patient.age, patient.sex) = (age as u8, sex);
        episode.hidden.labs = [egfr, 0.0, 0.0, inr, 0.0];
        episode.hidden.adherence = adherence;
        Self {
            episode,
            size,
            frailty,
            planted: 0,
            missing: [false; LABS],
        }
    }

    pub(super) const fn formulary(&self) -> &'static Formulary {
        self.episode.formulary()
    }

    pub(super) fn unit(&mut self) -> f64 {
        self.episode.hidden.stream.unit()
    }

    pub(super) fn below(&mut self, n: usize) -> usize {
        self.episode.hidden.stream.below(n)
    }

    /// One of a set of archetypes.
    pub(super) fn pick(&mut self, bits: u64) -> Option<ArchetypeId> {
        self.episode.hidden.stream.pick(bits).map(ArchetypeId)
    }

    pub(super) fn split(&self) -> Split {
        self.episode.observation.case.split()
    }

    /// The archetypes that the split allows.
    pub(super) fn allowed(&self) -> u64 {
        let all = (1 << self.formulary().archetypes().len()) - 1;
        match self.split() {
            Split::Train => all & !self.formulary().held_out(),
            Split::All | Split::Holdout => all,
        }
    }

    /// Those of the allowed archetypes that are such.
    pub(super) fn pool(&self, is: impl Fn(ArchetypeId) -> bool) -> u64 {
        each(self.allowed())
            .filter(|id| is(*id))
            .fold(0, |bits, id| bits | id.bit())
    }

    /// For the first planting of the split `holdout`: those of a pool that are held out, if any.
    pub(super) fn held_out_first(&self, pool: u64) -> u64 {
        let held_out = pool & self.formulary().held_out();
        if self.split() == Split::Holdout && self.planted == 0 && held_out != 0 {
            held_out
        } else {
            pool
        }
    }

    /// Whether an archetype makes a serious or a barred pair with any of a set.
    pub(super) fn clash_with(&self, id: ArchetypeId, others: u64) -> bool {
        let formulary = self.formulary();
        let train = self.split() == Split::Train;
        each(formulary.partners(id) & others)
            .filter_map(|other| formulary.between(id, other))
            .any(|pair| self.episode.is_serious(pair) || train && formulary.pair(pair).held_out)
    }

    /// Whether an archetype clashes with any part of the regimen.
    pub(super) fn clash(&self, id: ArchetypeId) -> bool {
        self.clash_with(id, self.episode.present())
    }

    pub(super) fn is_present(&self, id: ArchetypeId) -> bool {
        self.episode.present() & id.bit() != 0
    }

    pub(super) fn renal_unsafe(&self, id: ArchetypeId) -> bool {
        self.formulary()
            .get(id)
            .unsafe_at(self.episode.hidden.egfr())
    }

    /// Whether a new medicine is new, fits the others and the kidney.
    pub(super) fn fits(&self, id: ArchetypeId) -> bool {
        !self.is_present(id) && !self.clash(id) && !self.renal_unsafe(id)
    }

    /// Whether some listed substitute could take the place of a medicine.
    pub(super) fn is_clean(&self, id: ArchetypeId, condition: Condition) -> bool {
        let formulary = self.formulary();
        let others = self.episode.present() & !id.bit();
        each(formulary.get(id).substitutes & self.allowed()).any(|substitute| {
            !self.is_present(substitute)
                && !self.clash_with(substitute, others)
                && !self.renal_unsafe(substitute)
                && formulary.get(substitute).treats.has(condition)
        })
    }

    /// Adds a medicine with what is drawn for it; its place.
    pub(super) fn add(&mut self, drug: Drug, bucket: Option<Bucket>, for_what: Condition) -> usize {
        let u = self.unit();
        let drawn = match u {
            u if u < 0.2 => Bucket::Low,
            u if u < 0.85 => Bucket::Medium,
            _ => Bucket::High,
        };
        let kappa = KAPPAS[self.below(4)];
        let row = Row::new(drug, bucket.unwrap_or(drawn), Some(for_what));
        let regimen = &mut self.episode.observation.regimen;
        let place = regimen.len().min(ROWS - 1);
        if regimen.push(row) {
            self.episode.hidden.truths[place] = Truth {
                kappa,
                exposure: 0.0,
                needed: true,
                condition: for_what,
                mark: 0,
            };
        }
        place
    }

    /// Adds an archetype for its first indication.
    pub(super) fn add_known(&mut self, id: ArchetypeId, bucket: Option<Bucket>) -> usize {
        let indication = self.formulary().get(id).indication;
        self.add(Drug::Known(id), bucket, indication)
    }

    /// Notes an issue.
    pub(super) fn issue(&mut self, issue: Issue) {
        if let Some(free) = self
            .episode
            .hidden
            .issues
            .iter_mut()
            .find(|slot| slot.is_none())
        {
            *free = Some(issue);
        }
    }

    /// Makes a medicine needless: the chart shows no indication, or puts it under review.
    pub(super) fn make_needless(&mut self, place: usize, empty_below: f64) {
        self.episode.hidden.truths[place].needed = false;
        let empty = self.unit() < empty_below;
        let row = &mut self.episode.observation.regimen[place];
        if empty {
            row.indication = None;
        } else {
            row.stale = true;
        }
    }

    /// Whether nothing treats a condition but the rows excepted.
    pub(super) fn treats_condition(&self, condition: Condition, except: Drug) -> bool {
        let rows = self.episode.observation.regimen.iter();
        rows.filter(|row| row.drug != except)
            .any(|row| self.episode.treats(row.drug).has(condition))
    }
}
