//! The true state of the patient: exposures, control of conditions, risk, burden, issues.

use super::risk::{self, Doses};
use crate::num::clip01;
use crate::polyguard::model::candidate::{Act, ActKind};
use crate::polyguard::model::formulary::{ArchetypeId, Condition, Conditions, PairId};
use crate::polyguard::model::hidden::Issue;
use crate::polyguard::model::regimen::{Drug, Medication};
use crate::polyguard::model::state::State;
use crate::polyguard::model::task_spec::SubEnvironment;

/// Fraction of the distance to its steady state that an exposure moves in one step.
pub(super) const SETTLING_RATE: f64 = 0.6;
/// Fraction of the distance to its target that the stability moves in one step.
const CONTROL: f64 = 0.5;
/// Control of a condition that no medicine treats.
const UNTREATED: f64 = 0.15;

impl State {
    /// Returns the true archetypes that are taken, with their doses.
    pub(super) fn true_doses(&self) -> Doses {
        let mut doses = Doses::default();
        for row in self.observation.regimen.iter() {
            doses.add(self.true_archetypes(row.drug), row.bucket);
        }
        doses
    }

    /// Returns the steady-state exposure of a row at its dose (spec polyguard §6.2).
    pub(crate) fn steady_state_exposure(&self, place: usize) -> f64 {
        self.settles_at_clearance(place, &self.clearance())
    }

    /// Returns the patient's clearance of medicines without and with a renal limit, in this order,
    /// relative to a healthy kidney.
    pub(super) fn clearance(&self) -> [f64; 2] {
        let kidney = (self.hidden.egfr() / 75.0).min(1.0);
        [0.2, 0.6].map(|fraction| 1.0 - fraction + fraction * kidney)
    }

    /// Returns the same as [`State::steady_state_exposure`], for a known result of [`State::clearance`].
    pub(super) fn settles_at_clearance(&self, place: usize, clearance: &[f64; 2]) -> f64 {
        let row = &self.observation.regimen[place];
        let dose = row.bucket.dose() / self.hidden.truths[place].kappa;
        if row.questioned {
            return dose;
        }
        let renal = self.true_archetypes(row.drug) & self.formulary.trait_sets().renal != 0;
        self.hidden.adherence * dose / clearance[usize::from(renal)]
    }

    /// Returns how far the exposure of a row is above and below its window, 0..=1 each.
    pub(crate) fn window_excess(&self, place: usize) -> (f64, f64) {
        let (low, high) = self.observation.regimen[place].window(self.formulary);
        let exposure = self.hidden.truths[place].exposure;
        (
            clip01((exposure - high) / 0.5),
            clip01((low - exposure) / low),
        )
    }

    /// Updates the true values after a step that carried out `act`: risk, burden, issues, and the
    /// sign-off by keeping the regimen.
    pub(crate) fn update_truth(&mut self, act: Option<Act>) {
        if act.is_some_and(|act| act.kind == ActKind::KeepRegimen) && !self.hidden.signed {
            let signed = (self.hidden.issues())
                .filter(|issue| *issue != Issue::Sign)
                .all(|issue| self.is_resolved(issue));
            self.hidden.signed = signed;
        }
        let doses = self.true_doses();
        self.hidden.risk = self.true_risk(&doses);
        self.hidden.burden = self.true_burden(doses.mask());
        self.hidden.resolved = self.count_resolved(doses.mask());
    }

    /// Returns the true risk of the regimen at its doses, in `[0, 1)`.
    pub(super) fn true_risk(&self, doses: &Doses) -> f64 {
        let (name, egfr) = (self.observation.task.formulary(), Some(self.hidden.egfr()));
        let mut load = risk::risk_load(self.formulary, name, doses, u64::MAX, egfr);
        for (place, row) in self.observation.regimen.iter().enumerate() {
            if row.is_active() {
                load += 0.3 * self.window_excess(place).0;
            }
        }
        if self.observation.task.sub_environment() == SubEnvironment::BanditMining {
            load += 0.6 * (self.hidden.symptom - 0.2).max(0.0);
        }
        risk::risk_from_load(load)
    }

    /// Returns the true burden of the regimen, in `[0, 1)`, given the archetypes that are taken.
    pub(super) fn true_burden(&self, taken: u64) -> f64 {
        let rows = self.observation.regimen.iter();
        let count = rows.filter(|row| row.is_active()).count();
        risk::burden(risk::burden_counts(self.formulary, taken, count))
    }

    /// Returns the mean control of the needed conditions, 0..=1, which is the target of the
    /// stability.
    pub(crate) fn condition_control(&self) -> f64 {
        let mut best = [UNTREATED; Condition::ALL.len()];
        for (place, row) in self.observation.regimen.iter().enumerate() {
            if row.is_active() {
                let (over, under) = self.window_excess(place);
                let control = 1.0 - 0.8 * under - 0.4 * over;
                for condition in self
                    .treats(row.drug)
                    .intersection(self.hidden.needed)
                    .iter()
                {
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

    /// Moves the stability towards its target by one step.
    pub(super) fn update_control(&mut self) {
        self.hidden.stability_target = self.condition_control();
        let gap = self.hidden.stability_target - self.hidden.stability;
        self.hidden.stability += CONTROL * gap;
    }

    /// Returns the number of needed conditions that no active medicine treats.
    pub(crate) fn count_untreated(&self) -> u32 {
        let active = self
            .observation
            .regimen
            .iter()
            .filter(|row| row.is_active());
        let treated = active.fold(Conditions::EMPTY, |all, row| {
            all.union(self.treats(row.drug))
        });
        self.hidden.needed.len() - self.hidden.needed.intersection(treated).len()
    }

    /// Returns the serious pairs that are taken together, as bits of [`PairId`].
    pub(crate) fn serious_pairs(&self) -> u64 {
        let serious = (self.formulary.trait_sets()).serious_pairs(Some(self.hidden.egfr()));
        risk::pairs_of(self.formulary, self.taken_archetypes()) & serious
    }

    /// Returns `true` if a pair is serious for this patient.
    pub(crate) fn is_serious(&self, pair: PairId) -> bool {
        let egfr = Some(self.hidden.egfr());
        self.formulary.trait_sets().serious_pairs(egfr) & pair.bit() != 0
    }

    /// Returns `true` if an issue is resolved (spec polyguard §3).
    pub(crate) fn is_resolved(&self, issue: Issue) -> bool {
        self.resolves(issue, self.taken_archetypes())
    }

    /// Returns the same as [`State::is_resolved`], given the archetypes that are taken.
    fn resolves(&self, issue: Issue, taken: u64) -> bool {
        let (o, h) = (&self.observation, &self.hidden);
        let takes = |id: ArchetypeId| taken & id.bit() != 0;
        match issue {
            Issue::Pair(pair) | Issue::ComponentPair(pair) => {
                let pair = self.formulary.pair(pair);
                !(takes(pair.first) && takes(pair.second))
            }
            Issue::Set(rule) => {
                let (_, broken) =
                    risk::evaluate_set_rules(self.formulary, o.task.formulary(), taken)
                        [rule as usize];
                !broken
            }
            Issue::NoIndication(mark) => {
                !(0..o.regimen.len()).any(|place| h.truths[place].mark == mark)
            }
            Issue::Culprit(culprit) => {
                o.regimen.position(Drug::Known(culprit)).is_none() && self.other_suspects_taken()
            }
            Issue::Dose(id) => o.regimen.position(Drug::Known(id)).is_some_and(|place| {
                let row = &o.regimen[place];
                let (low, high) = row.window(self.formulary);
                let level = self.steady_state_exposure(place);
                row.is_active() && row.level.is_some() && (low..=high).contains(&level)
            }),
            Issue::Info => o.egfr().is_some(),
            Issue::Renal(id) => !takes(id),
            Issue::Sign => h.signed,
            Issue::Decompose => {
                o.components.is_some() || o.regimen.position(Drug::Product).is_none()
            }
            Issue::Replace(drug, condition) => {
                let tolerated = h.intolerant.is_none_or(|id| !takes(id));
                let treats =
                    |row: &Medication| row.is_active() && self.treats(row.drug).contains(condition);
                tolerated && o.regimen.position(drug).is_none() && o.regimen.iter().any(treats)
            }
        }
    }

    /// Returns `true` if every suspect except the culprit is taken.
    fn other_suspects_taken(&self) -> bool {
        let others = self.hidden.suspects & !self.hidden.culprit.map_or(0, ArchetypeId::bit);
        others & self.taken_archetypes() == others
    }

    /// Returns the number of resolved issues and of all issues, given the archetypes that are
    /// taken.
    pub(super) fn count_resolved(&self, taken: u64) -> (u8, u8) {
        let (mut resolved, mut all) = (0, 0);
        for issue in self.hidden.issues() {
            resolved += u8::from(self.resolves(issue, taken));
            all += 1;
        }
        (resolved, all)
    }
}
