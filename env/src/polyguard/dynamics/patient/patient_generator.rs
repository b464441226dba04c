//! The draft of a patient, and the checks that every new medicine must pass.

use crate::num::clip01;
use crate::polyguard::dynamics::risk;
use crate::polyguard::model::formulary::{
    ArchetypeId, Condition, Conditions, Formulary, each_archetype,
};
use crate::polyguard::model::hidden::{Issue, MedicationTruth};
use crate::polyguard::model::patient::LAB_COUNT;
use crate::polyguard::model::patient::Sex;
use crate::polyguard::model::regimen::{DoseBucket, Drug, MAX_START_MEDICATIONS, Medication};
use crate::polyguard::model::setup::Setup;
use crate::polyguard::model::state::State;
use crate::polyguard::model::task_spec::{Split, SubEnvironment};
use crate::rng::PcgRandom;

/// Maximum number of tries for one planting.
pub(super) const MAX_TRIES: usize = 200;
/// Maximum number of tries for filling the regimen.
const FILL_TRIES: usize = 300;
/// Relative clearances that a patient may have; each entry is equally likely.
pub(super) const KAPPAS: [f64; 4] = [0.8, 1.0, 1.0, 1.25];

/// An episode whose patient is being generated.
pub(super) struct PatientGenerator {
    pub(super) state: State,
    /// Target number of medicines, drawn from the range of the difficulty.
    pub(super) size: usize,
    /// True frailty of the patient, 0..=1.
    pub(super) frailty: f64,
    /// Number of planted medicines so far.
    pub(super) planted: usize,
    /// The true archetypes in the regimen, as bits of [`ArchetypeId`].
    pub(super) present: u64,
    /// `true` for each laboratory value that the chart never shows at the start, in the order of
    /// `Lab`.
    pub(super) missing: [bool; LAB_COUNT],
}

impl PatientGenerator {
    /// Probability that a medicine which is not part of a planted problem is not needed.
    pub(super) const NEEDLESS_FILL: f64 = 0.15;

    /// Draws the patient's personal data and the target number of medicines.
    pub(super) fn new(setup: &Setup, stream: PcgRandom) -> Self {
        let mut state = State::new(setup, stream);
        let w = &mut state.hidden.stream;
        let age = 65 + w.below(26);
        let sex = [Sex::Female, Sex::Male][w.below(2)];
        let over = age as f64 - 65.0;
        let frailty = clip01(0.1 + 0.01 * over + 0.35 * w.unit());
        let adherence = 0.7 + 0.3 * w.unit();
        let u = w.unit();
        let egfr = (95.0 - 0.8 * over - 50.0 * u * u).clamp(15.0, 100.0);
        let inr = 1.0 + w.unit();
        let size = match setup.task.difficulty() as usize {
            0 => 3 + w.below(3),
            1 => 6 + w.below(4),
            _ => 10 + w.below(5),
        };
        let patient = &mut state.observation.patient;
        (patient.age, patient.sex) = (age as u8, sex);
        state.hidden.labs = [egfr, 0.0, 0.0, inr, 0.0];
        state.hidden.adherence = adherence;
        Self {
            state,
            size,
            frailty,
            planted: 0,
            present: 0,
            missing: [false; LAB_COUNT],
        }
    }

    pub(super) const fn formulary(&self) -> &'static Formulary {
        self.state.formulary
    }

    pub(super) fn unit(&mut self) -> f64 {
        self.state.hidden.stream.unit()
    }

    pub(super) fn below(&mut self, n: usize) -> usize {
        self.state.hidden.stream.below(n)
    }

    /// Draws one archetype of a set, or `None` if it is empty.
    pub(super) fn pick(&mut self, bits: u64) -> Option<ArchetypeId> {
        self.state.hidden.stream.pick(bits).map(ArchetypeId)
    }

    pub(super) fn split(&self) -> Split {
        self.state.observation.task.split()
    }

    /// Returns the archetypes that the split allows, as bits.
    pub(super) fn allowed(&self) -> u64 {
        let all = (1 << self.formulary().archetypes().len()) - 1;
        all & !self.split().excluded(self.formulary())
    }

    /// Returns the allowed archetypes that satisfy `is`, as bits.
    pub(super) fn allowed_where(&self, is: impl Fn(ArchetypeId) -> bool) -> u64 {
        each_archetype(self.allowed())
            .filter(|id| is(*id))
            .fold(0, |bits, id| bits | id.bit())
    }

    /// Returns the pool or, for the first planting of the split `holdout`, its held-out part if
    /// that is not empty.
    pub(super) fn prefer_held_out(&self, pool: u64) -> u64 {
        let held_out = pool & self.formulary().held_out();
        if self.split() == Split::Holdout && self.planted == 0 && held_out != 0 {
            held_out
        } else {
            pool
        }
    }

    /// Returns `true` if an archetype forms a serious pair, or one that the split excludes, with
    /// any of `others`.
    pub(super) fn has_clash(&self, id: ArchetypeId, others: u64) -> bool {
        let formulary = self.formulary();
        let serious = formulary.serious_partners(id, Some(self.state.hidden.egfr()));
        let barred = match self.split() {
            Split::Train => formulary.held_out_partners(id),
            Split::All | Split::Holdout => 0,
        };
        (serious | barred) & others != 0
    }

    pub(super) fn renal_unsafe(&self, id: ArchetypeId) -> bool {
        self.formulary().get(id).unsafe_at(self.state.hidden.egfr())
    }

    /// Returns `true` if a medicine can be added: it is not present, forms no clashing pair, is
    /// safe for the kidney, and there is room.
    pub(super) fn can_add(&self, id: ArchetypeId) -> bool {
        self.present & id.bit() == 0
            && !self.has_clash(id, self.present)
            && !self.renal_unsafe(id)
            && self.state.observation.regimen.len() < MAX_START_MEDICATIONS
    }

    /// Returns `true` if a listed substitute could replace a medicine for `condition`.
    pub(super) fn is_valid_substitute(&self, id: ArchetypeId, condition: Condition) -> bool {
        let formulary = self.formulary();
        let present = self.present;
        let treating = formulary.trait_sets().treating[condition as usize];
        let substitutes = formulary.get(id).substitutes & self.allowed() & treating & !present;
        each_archetype(substitutes).any(|substitute| {
            !self.has_clash(substitute, present & !id.bit()) && !self.renal_unsafe(substitute)
        })
    }

    /// Adds a medicine that fits, with its drawn properties. Returns its position.
    pub(super) fn add(
        &mut self,
        drug: Drug,
        bucket: Option<DoseBucket>,
        for_what: Condition,
    ) -> usize {
        let u = self.unit();
        let drawn = match u {
            u if u < 0.2 => DoseBucket::Low,
            u if u < 0.85 => DoseBucket::Medium,
            _ => DoseBucket::High,
        };
        let kappa = KAPPAS[self.below(4)];
        let row = Medication::new(drug, bucket.unwrap_or(drawn), Some(for_what));
        self.present |= self.state.true_archetypes(drug);
        let Some(place) = self.state.observation.regimen.push(row) else {
            unreachable!("the regimen is full");
        };
        self.state.hidden.truths[place] = MedicationTruth {
            kappa,
            exposure: 0.0,
            needed: true,
            condition: for_what,
            mark: 0,
        };
        place
    }

    /// Adds an archetype for its first indication. Returns its position.
    pub(super) fn add_known(&mut self, id: ArchetypeId, bucket: Option<DoseBucket>) -> usize {
        let indication = self.formulary().get(id).indication;
        self.add(Drug::Known(id), bucket, indication)
    }

    /// Adds an issue to the episode.
    pub(super) fn add_issue(&mut self, issue: Issue) {
        let mut slots = self.state.hidden.issues.iter_mut();
        let free = slots.find(|slot| slot.is_none());
        debug_assert!(free.is_some(), "no room for {issue:?}");
        if let Some(free) = free {
            *free = Some(issue);
        }
    }

    /// TraitSets a medicine as not needed: its indication is left out of the chart with probability
    /// `empty_below`, otherwise it is put under review.
    pub(super) fn mark_unneeded(&mut self, place: usize, empty_below: f64) {
        self.state.hidden.truths[place].needed = false;
        let empty = self.unit() < empty_below;
        let row = &mut self.state.observation.regimen[place];
        if empty {
            row.indication = None;
        } else {
            row.stale = true;
        }
    }

    /// Returns `true` if a medicine other than `except` treats the condition.
    pub(super) fn treats_condition(&self, condition: Condition, except: Drug) -> bool {
        let rows = self.state.observation.regimen.iter();
        rows.filter(|row| row.drug != except)
            .any(|row| self.state.treats(row.drug).contains(condition))
    }

    /// Adds medicines until the target number is reached.
    pub(super) fn fill_to_target(&mut self) {
        let all = self.allowed();
        let kept_apart = self.kept_apart();
        for _ in 0..FILL_TRIES {
            if self.state.observation.regimen.len() >= self.size {
                return;
            }
            let Some(id) = self.pick(all) else {
                return;
            };
            let treats = self.formulary().get(id).treats;
            if !self.can_add(id)
                || self.has_class_of(id)
                || self.breaks_a_rule(id)
                || !treats.intersection(kept_apart).is_empty()
            {
                continue;
            }
            let place = self.add_known(id, None);
            if self.unit() < Self::NEEDLESS_FILL {
                self.state.hidden.truths[place].needed = false;
            }
        }
    }

    /// Returns the conditions of the first three planted medicines, which no added medicine may
    /// treat. Empty for sub-environments without this restriction.
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
        if apart.contains(&self.state.observation.task.sub_environment()) {
            for place in 0..self.planted.min(3) {
                conditions.insert(self.state.hidden.truths[place].condition);
            }
        }
        conditions
    }

    /// Returns `true` if adding a medicine would break a set rule, or add a member to one that is
    /// broken.
    fn breaks_a_rule(&self, id: ArchetypeId) -> bool {
        let name = self.state.observation.task.formulary();
        let present = self.present;
        let with = present | id.bit();
        let before = risk::evaluate_set_rules(self.formulary(), name, present);
        let after = risk::evaluate_set_rules(self.formulary(), name, with);
        before.iter().zip(after).any(|(before, (rule, broken))| {
            broken && (!before.1 || risk::is_member(self.formulary(), rule, with, id))
        })
    }
}
