//! The chart of a new patient, and the patient's values at the start.

use super::patient_generator::PatientGenerator;
use crate::num::{clip01, round_to};
use crate::polyguard::dynamics::risk;
use crate::polyguard::model::formulary::{Conditions, each_pair};
use crate::polyguard::model::hidden::StartValues;
use crate::polyguard::model::patient::Lab;
use crate::polyguard::model::regimen::Drug;

impl PatientGenerator {
    /// Draws the observable part of the chart: laboratory values, a conflict, flags, and the order
    /// of rows.
    pub(super) fn generate_chart(&mut self) {
        let difficulty = self.state.observation.task.difficulty();
        let (ast, alt) = (20.0 + 20.0 * self.unit(), 20.0 + 20.0 * self.unit());
        let glucose = 90.0 + 90.0 * self.unit();
        let labs = &mut self.state.hidden.labs;
        (labs[1], labs[2], labs[4]) = (ast, alt, glucose);
        for lab in Lab::ALL {
            if self.unit() >= difficulty.missing_lab_probability() && !self.missing[lab as usize] {
                self.state
                    .observation
                    .labs
                    .show(lab, &self.state.hidden.labs);
            }
        }
        self.state.observation.conflict = self.unit() < difficulty.missing_lab_probability();
        self.flags();
        let len = self.state.observation.regimen.len();
        for i in (1..len).rev() {
            let j = self.below(i + 1);
            self.state.observation.regimen.swap(i, j);
            self.state.hidden.truths.swap(i, j);
        }
        let vitals = [
            110.0 + 50.0 * self.unit(),
            55.0 + 40.0 * self.unit(),
            12.0 + 8.0 * self.unit(),
        ];
        let patient = &mut self.state.observation.patient;
        [
            patient.systolic_mmhg,
            patient.heart_rate,
            patient.respiratory_rate,
        ] = vitals.map(|value| round_to(value, 0));
    }

    /// Draws which true pairs are flagged, in table order. Pairs of an unknown product's components
    /// are never flagged.
    fn flags(&mut self) {
        let unflagged = self
            .state
            .observation
            .task
            .difficulty()
            .unflagged_probability();
        let taken = self.state.taken_archetypes();
        let true_pairs = risk::pairs_of(self.formulary(), taken);
        let unknown = self
            .state
            .hidden
            .components
            .map_or(0, |[a, b]| a.bit() | b.bit());
        for pair in each_pair(true_pairs) {
            let flagged = self.unit() >= unflagged;
            let row = self.formulary().pair(pair);
            if flagged && (row.first.bit() | row.second.bit()) & unknown == 0 {
                self.state.observation.flagged |= pair.bit();
            }
        }
    }

    /// Sets exposures to their steady state, draws what the chart shows of the patient, and records
    /// the start values.
    pub(super) fn initialize_levels(&mut self) {
        self.settle();
        let (a, b) = (self.unit(), self.unit());
        let near = |value: f64, u: f64| round_to(clip01(value + 0.1 * (2.0 * u - 1.0)), 1);
        let patient = &mut self.state.observation.patient;
        patient.frailty = near(self.frailty, a);
        patient.adherence = near(self.state.hidden.adherence, b);
        self.start();
    }

    /// Sets exposures to their steady state and records the needed conditions.
    pub(super) fn settle(&mut self) {
        let regimen = &self.state.observation.regimen;
        let (mut needed, mut charted) = (Conditions::EMPTY, Conditions::EMPTY);
        for (place, row) in regimen.iter().enumerate() {
            let truth = &self.state.hidden.truths[place];
            if truth.needed {
                needed.insert(truth.condition);
            }
            if let Some(condition) = row.indication {
                charted.insert(condition);
            }
        }
        self.drop_culprit_conditions(&mut needed);
        self.state.hidden.needed = needed;
        self.state.observation.patient.comorbidities = charted;
        for place in 0..self.state.observation.regimen.len() {
            if !self.state.observation.regimen[place].questioned {
                self.state.hidden.truths[place].exposure = self.state.steady_state_exposure(place);
            }
        }
    }

    /// Removes the conditions that only the culprit treats, because removing the culprit leaves
    /// them untreated.
    fn drop_culprit_conditions(&self, needed: &mut Conditions) {
        let Some(culprit) = self.state.hidden.culprit else {
            return;
        };
        let drug = Drug::Known(culprit);
        for condition in self.formulary().get(culprit).treats.iter() {
            if !self.treats_condition(condition, drug) {
                needed.remove(condition);
            }
        }
    }

    /// Records the start values of the patient.
    pub(super) fn start(&mut self) {
        let e = &mut self.state;
        let (stability, doses) = (e.condition_control(), e.true_doses());
        let start = StartValues {
            risk: e.true_risk(&doses),
            burden: e.true_burden(doses.mask()),
            stability,
            serious: e.serious_pairs(),
        };
        let resolved = e.count_resolved(doses.mask());
        let h = &mut e.hidden;
        (h.stability, h.stability_target) = (stability, stability);
        (h.risk, h.best_risk) = (start.risk, start.risk);
        (h.burden, h.best_burden) = (start.burden, start.burden);
        h.start = start;
        h.resolved = resolved;
        h.tally.resolved = resolved.0;
        e.read_symptom();
    }
}
