//! What is true of the patient: doses, levels, control of conditions, risk, issues.

use super::case::SubEnvironment;
use super::episode::Episode;
use super::formulary::{ArchetypeId, Condition, Conditions, Formulary, PairId, each};
use super::hidden::Issue;
use super::num::clip;
use super::regimen::{Drug, Row};
use super::risk::{self, Doses};
use super::violation::Violation;

/// How fast a level moves towards its steady state in one step.
pub(super) const SETTLING: f64 = 0.6;
/// How fast the control of conditions moves.
const CONTROL: f64 = 0.5;
/// Control of a condition that nothing treats.
const UNTREATED: f64 = 0.15;

impl Episode {
    #[inline]
    pub(super) const fn formulary(&self) -> &'static Formulary {
        self.formulary
    }

    /// The true archetypes of a row.
    #[must_use]
    #[inline]
    pub(super) fn true_parts(&self, drug: Drug) -> u64 {
        match drug {
            Drug::Known(id) => id.bit(),
            Drug::Product => self.hidden.components.map_or(0, |[a, b]| a.bit() | b.bit()),
        }
    }

    /// The true archetypes that are taken, with their doses.
    #[must_use]
    pub(super) fn true_doses(&self) -> Doses {
        let mut doses = Doses::default();
        for row in self.observation.regimen.iter() {
            doses.add(self.true_parts(row.drug), row.bucket);
        }
        doses
    }

    /// The true archetypes that are taken.
    #[must_use]
    #[inline]
    pub(super) fn taken(&self) -> u64 {
        let active = self
            .observation
            .regimen
            .iter()
            .filter(|row| row.is_active());
        active.fold(0, |bits, row| bits | self.true_parts(row.drug))
    }

    /// The true archetypes in the regimen, paused or not.
    #[must_use]
    pub(super) fn present(&self) -> u64 {
        let rows = self.observation.regimen.iter();
        rows.fold(0, |bits, row| bits | self.true_parts(row.drug))
    }

    /// What any part of a row treats.
    #[must_use]
    pub fn treats(&self, drug: Drug) -> Conditions {
        if let Drug::Known(id) = drug {
            return self.formulary.get(id).treats;
        }
        let parts = each(self.true_parts(drug));
        parts.fold(Conditions::EMPTY, |all, id| {
            all.or(self.formulary.get(id).treats)
        })
    }

    /// The level that a dose settles at (spec polyguard §6.2).
    #[must_use]
    pub fn settles_at(&self, place: usize) -> f64 {
        let row = &self.observation.regimen[place];
        let dose = row.bucket.dose() / self.hidden.truths[place].kappa;
        if row.questioned {
            return dose;
        }
        let renal = |id: ArchetypeId| self.formulary.get(id).renal_below.is_some();
        let fraction = if each(self.true_parts(row.drug)).any(renal) {
            0.6
        } else {
            0.2
        };
        let kidney = (self.hidden.egfr() / 75.0).min(1.0);
        self.hidden.adherence * dose / (1.0 - fraction + fraction * kidney)
    }

    /// The window between too little and too much.
    #[must_use]
    pub fn window(&self, row: &Row) -> (f64, f64) {
        if row.questioned || self.is_narrow(row) {
            (0.75, 1.25)
        } else {
            (0.5, 1.5)
        }
    }

    /// Whether a row is an archetype with a narrow window.
    #[inline]
    pub(super) fn is_narrow(&self, row: &Row) -> bool {
        let narrow = self.formulary.marks().narrow;
        row.drug.known().is_some_and(|id| narrow & id.bit() != 0)
    }

    /// How much too much and how much too little a row acts, 0..=1 each.
    #[must_use]
    pub(super) fn off_window(&self, place: usize) -> (f64, f64) {
        let (low, high) = self.window(&self.observation.regimen[place]);
        let exposure = self.hidden.truths[place].exposure;
        (clip((exposure - high) / 0.5), clip((low - exposure) / low))
    }

    /// True risk of the regimen as it is.
    #[must_use]
    pub(super) fn true_risk(&self) -> f64 {
        let doses = self.true_doses();
        let (name, egfr) = (self.observation.case.formulary(), Some(self.hidden.egfr()));
        let mut load = risk::load(self.formulary, name, &doses, u64::MAX, egfr);
        for (place, row) in self.observation.regimen.iter().enumerate() {
            if row.is_active() {
                load += 0.3 * self.off_window(place).0;
            }
        }
        if self.observation.case.sub() == SubEnvironment::BanditMining {
            load += 0.6 * (self.hidden.symptom - 0.2).max(0.0);
        }
        risk::saturate(load)
    }

    /// True burden of the regimen as it is.
    #[must_use]
    pub(super) fn true_burden(&self) -> f64 {
        let taken = self
            .observation
            .regimen
            .iter()
            .filter(|row| row.is_active())
            .count();
        let mask = self.taken();
        risk::burden(risk::burden_counts(self.formulary, mask, taken))
    }

    /// Where the control of the needed conditions is heading.
    #[must_use]
    pub(super) fn control(&self) -> f64 {
        let mut best = [UNTREATED; Condition::ALL.len()];
        for (place, row) in self.observation.regimen.iter().enumerate() {
            if row.is_active() {
                let (over, under) = self.off_window(place);
                let control = 1.0 - 0.8 * under - 0.4 * over;
                for condition in self.treats(row.drug).and(self.hidden.needed).iter() {
                    let best = &mut best[condition as usize];
                    *best = f64::max(*best, control);
                }
            }
        }
        let needed = self.hidden.needed;
        let sum: f64 = needed
            .iter()
            .map(|condition| best[condition as usize])
            .sum();
        if needed.is_empty() {
            1.0
        } else {
            sum / f64::from(needed.len())
        }
    }

    /// Moves the control of conditions by a step.
    pub(super) fn follow_control(&mut self) {
        self.hidden.stability_target = self.control();
        let gap = self.hidden.stability_target - self.hidden.stability;
        self.hidden.stability += CONTROL * gap;
    }

    /// Needed conditions that nothing treats.
    #[must_use]
    pub fn untreated(&self) -> u32 {
        let active = self
            .observation
            .regimen
            .iter()
            .filter(|row| row.is_active());
        let treated = active.fold(Conditions::EMPTY, |all, row| all.or(self.treats(row.drug)));
        self.hidden.needed.len() - self.hidden.needed.and(treated).len()
    }

    /// Whether every needed condition has a medicine.
    #[must_use]
    pub fn all_treated(&self) -> bool {
        self.untreated() == 0
    }

    /// Serious pairs that are taken together, as bits.
    #[must_use]
    pub fn serious_pairs(&self) -> u64 {
        let mask = self.taken();
        risk::each_pair(risk::pairs_of(self.formulary, mask))
            .filter(|pair| self.is_serious(*pair))
            .fold(0, |bits, pair| bits | pair.bit())
    }

    /// Whether a pair is serious for this patient.
    #[must_use]
    pub(super) fn is_serious(&self, pair: PairId) -> bool {
        self.formulary
            .pair(pair)
            .grade
            .at(Some(self.hidden.egfr()))
            .is_serious()
    }

    /// Whether an issue is put right (spec polyguard §3).
    #[must_use]
    pub fn is_resolved(&self, issue: Issue) -> bool {
        self.resolves(issue, self.taken())
    }

    /// The same for what is known to be taken.
    fn resolves(&self, issue: Issue, taken: u64) -> bool {
        let (o, h) = (&self.observation, &self.hidden);
        let takes = |id: ArchetypeId| taken & id.bit() != 0;
        match issue {
            Issue::Pair(pair) | Issue::ComponentPair(pair) => {
                let pair = self.formulary.pair(pair);
                !(takes(pair.first) && takes(pair.second))
            }
            Issue::Set(rule) => {
                let sets = risk::sets(self.formulary, o.case.formulary(), taken);
                !sets.iter().any(|(other, broken)| *other == rule && *broken)
            }
            Issue::NoIndication(mark) => {
                !(0..o.regimen.len()).any(|place| h.truths[place].mark == mark)
            }
            Issue::Culprit(culprit) => {
                o.regimen.place(Drug::Known(culprit)).is_none() && self.other_suspects_taken()
            }
            Issue::Dose(id) => o.regimen.place(Drug::Known(id)).is_some_and(|place| {
                let row = &o.regimen[place];
                let (low, high) = self.window(row);
                let level = self.settles_at(place);
                row.is_active() && row.level.is_some() && (low..=high).contains(&level)
            }),
            Issue::Info => o.egfr().is_some(),
            Issue::Renal(id) => !takes(id),
            Issue::Sign => h.signed,
            Issue::Decompose => o.components.is_some() || o.regimen.place(Drug::Product).is_none(),
            Issue::Replace(drug, condition) => {
                let tolerated = h.intolerant.is_none_or(|id| !takes(id));
                let treats = |row: &Row| row.is_active() && self.treats(row.drug).has(condition);
                tolerated && o.regimen.place(drug).is_none() && o.regimen.iter().any(treats)
            }
        }
    }

    /// Whether every suspect but the culprit is taken.
    fn other_suspects_taken(&self) -> bool {
        let others = self.hidden.suspects & !self.hidden.culprit.map_or(0, ArchetypeId::bit);
        others & self.taken() == others
    }

    /// How many issues are resolved after the last step, and how many there are.
    #[must_use]
    #[inline]
    pub const fn resolved(&self) -> (u8, u8) {
        self.hidden.resolved
    }

    /// Counts both anew.
    pub(super) fn count_resolved(&self) -> (u8, u8) {
        let (taken, mut resolved, mut all) = (self.taken(), 0, 0);
        for issue in self.hidden.issues() {
            resolved += u8::from(self.resolves(issue, taken));
            all += 1;
        }
        (resolved, all)
    }

    /// The withheld act with this id, and why it is withheld.
    pub(super) const fn withheld(&self, index: usize) -> Option<Violation> {
        match &self.hidden.withheld[index] {
            Some((_, why)) => Some(*why),
            None => None,
        }
    }
}
