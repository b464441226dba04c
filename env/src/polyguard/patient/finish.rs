//! What the chart shows of the patient, and how everything stands at the start.

use super::draft::Draft;
use crate::num::round_to;
use crate::polyguard::formulary::Conditions;
use crate::polyguard::hidden::Start;
use crate::polyguard::labs::Lab;
use crate::polyguard::num::clip;
use crate::polyguard::risk;

impl Draft {
    /// Draws what is known: laboratory values, a conflict, flags, the order of the chart.
    pub(super) fn chart(&mut self) {
        let difficulty = self.episode.observation.case.difficulty();
        let (ast, alt) = (20.0 + 20.0 * self.unit(), 20.0 + 20.0 * self.unit());
        let glucose = 90.0 + 90.0 * self.unit();
        let labs = &mut self.episode.hidden.labs;
        (labs[1], labs[2], labs[4]) = (ast, alt, glucose);
        for lab in Lab::ALL {
            if self.unit() >= difficulty.missing() && !self.missing[*lab as usize] {
                self.episode
                    .observation
                    .labs
                    .show(*lab, &self.episode.hidden.labs);
            }
        }
        self.episode.observation.conflict = self.unit() < difficulty.missing();
        self.flags();
        let len = self.episode.observation.regimen.len();
        for i in (1..len).rev() {
            let j = self.below(i + 1);
            self.episode.observation.regimen.swap(i, j);
            self.episode.hidden.truths.swap(i, j);
        }
        let vitals = [
            110.0 + 50.0 * self.unit(),
            55.0 + 40.0 * self.unit(),
            12.0 + 8.0 * self.unit(),
        ];
        let patient = &mut self.episode.observation.patient;
        [
            patient.systolic_mmhg,
            patient.heart_rate,
            patient.respiratory_rate,
        ] = vitals.map(|value| round_to(value, 0));
    }

    /// Draws which true pairs are flagged, in the order of the table; a product that nobody has
    /// looked into keeps its own to itself.
    fn flags(&mut self) {
        let unflagged = self.episode.observation.case.difficulty().unflagged();
        let taken = self.episode.taken();
        let true_pairs = risk::pairs_of(self.formulary(), taken);
        let unknown = self
            .episode
            .hidden
            .components
            .map_or(0, |[a, b]| a.bit() | b.bit());
        for pair in risk::each_pair(true_pairs) {
            let flagged = self.unit() >= unflagged;
            let row = self.formulary().pair(pair);
            if flagged && (row.first.bit() | row.second.bit()) & unknown == 0 {
                self.episode.observation.flagged |= pair.bit();
            }
        }
    }

    /// Levels in their steady state, what is needed, and the numbers of the start.
    pub(super) fn levels(&mut self) {
        let regimen = &self.episode.observation.regimen;
        let (mut needed, mut charted) = (Conditions::EMPTY, Conditions::EMPTY);
        for (place, row) in regimen.iter().enumerate() {
            let truth = &self.episode.hidden.truths[place];
            if truth.needed {
                needed.insert(truth.condition);
            }
            if let Some(condition) = row.indication {
                charted.insert(condition);
            }
        }
        self.waive(&mut needed);
        self.episode.hidden.needed = needed;
        self.episode.observation.patient.comorbidities = charted;
        for place in 0..self.episode.observation.regimen.len() {
            if !self.episode.observation.regimen[place].questioned {
                self.episode.hidden.truths[place].exposure = self.episode.settles_at(place);
            }
        }
        let (a, b) = (self.unit(), self.unit());
        let near = |value: f64, u: f64| round_to(clip(value + 0.1 * (2.0 * u - 1.0)), 1);
        let patient = &mut self.episode.observation.patient;
        patient.frailty = near(self.frailty, a);
        patient.adherence = near(self.episode.hidden.adherence, b);
        self.start();
    }

    /// A condition that only the culprit treats cannot be asked for.
    fn waive(&self, needed: &mut Conditions) {
        let Some(culprit) = self.episode.hidden.culprit else {
            return;
        };
        let drug = crate::polyguard::regimen::Drug::Known(culprit);
        for condition in self.formulary().get(culprit).treats.iter() {
            if !self.treats_condition(condition, drug) {
                needed.remove(condition);
            }
        }
    }

    fn start(&mut self) {
        let e = &mut self.episode;
        let stability = e.control();
        let start = Start {
            risk: e.true_risk(),
            burden: e.true_burden(),
            stability,
            serious: e.serious_pairs(),
        };
        let resolved = e.count_resolved();
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
