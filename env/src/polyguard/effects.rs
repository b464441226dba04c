//! What acts do to the patient and to what is known (spec polyguard §6.2).

use super::candidates::{Arg, Kind};
use super::episode::Episode;
use super::formulary::{ArchetypeId, PairId, each};
use super::hidden::Truth;
use super::history::Act;
use super::labs::{LABS, Lab};
use super::num::clip;
use super::regimen::{Bucket, Drug, ROWS, Row};
use super::risk::each_pair;
use super::truth::SETTLING;

/// Probability that evidence is found.
const FOUND: f64 = 0.7;

/// What an act brought.
#[derive(Clone, Copy, Default)]
pub(super) struct Outcome {
    /// Whether something was found out.
    pub gained: bool,
    /// The medicine whose level is to be read.
    pub measured: Option<Drug>,
}

impl Episode {
    /// Carries out a legal act.
    pub(super) fn carry_out(&mut self, act: Act) -> Outcome {
        let place = act
            .drug
            .and_then(|drug| self.observation.regimen.place(drug));
        let mut outcome = Outcome::default();
        match (act.kind, place) {
            (Kind::StopDrug, Some(at)) => self.remove(at),
            (Kind::HoldDose, Some(at)) => {
                let row = &mut self.observation.regimen[at];
                row.resumes = row.bucket;
                self.set_bucket(at, Bucket::Hold);
            }
            (Kind::AdjustDoseBucket, Some(at)) => self.adjust(at, act.arg),
            (Kind::InitiateTaper | Kind::ContinueTaper, Some(at)) => self.taper(at),
            (Kind::SubstituteWithinClass | Kind::RecommendAlternative, Some(at)) => {
                if let Arg::Target(Drug::Known(target)) = act.arg {
                    self.replace(at, target);
                }
            }
            (Kind::OrderMonitoring, Some(at)) => {
                let row = &self.observation.regimen[at];
                outcome.gained = row.level.is_none() || row.level_is_old;
                outcome.measured = Some(row.drug);
            }
            (Kind::OrderMonitoring, None) => {
                let o = &mut self.observation;
                outcome.gained = o.labs.missing() > 0 && !o.labs_ordered;
                o.labs_ordered = true;
            }
            (Kind::FetchExternalEvidence, _) => outcome.gained = self.fetch(),
            (Kind::DecomposeNewDrug, _) => {
                self.decompose();
                outcome.gained = true;
            }
            (Kind::RequestSpecialistReview, _) => self.observation.conflict = false,
            _ => {}
        }
        outcome
    }

    fn remove(&mut self, at: usize) {
        self.observation.regimen.remove(at);
        self.hidden.truths.copy_within(at + 1..ROWS, at);
    }

    fn set_bucket(&mut self, at: usize, bucket: Bucket) {
        let row = &mut self.observation.regimen[at];
        row.bucket = bucket;
        row.level_is_old = row.level.is_some();
    }

    fn adjust(&mut self, at: usize, arg: Arg) {
        let row = &self.observation.regimen[at];
        let Arg::Dose(by) = arg else {
            return;
        };
        let to = if row.is_active() {
            row.bucket.moved(by).unwrap_or(row.bucket)
        } else {
            row.resumes
        };
        self.set_bucket(at, to);
    }

    /// One down; below LOW it goes.
    fn taper(&mut self, at: usize) {
        match self.observation.regimen[at].bucket.moved(-1) {
            Some(lower) => {
                self.observation.regimen[at].tapering = true;
                self.set_bucket(at, lower);
            }
            None => self.remove(at),
        }
    }

    /// Puts a medicine in the place of another; what must be tapered stays at LOW for now.
    fn replace(&mut self, at: usize, target: ArchetypeId) {
        let old = self.observation.regimen[at];
        let truth = self.hidden.truths[at];
        let treats = self.formulary().get(target).treats;
        let condition = if treats.has(truth.condition) {
            truth.condition
        } else {
            let shared = self.treats(old.drug).and(treats);
            let first = shared.iter().next();
            first.unwrap_or(self.formulary().get(target).indication)
        };
        if old.drug.needs_taper(self.formulary()) {
            self.observation.regimen[at].tapering = true;
            self.hidden.truths[at].needed = false;
            self.set_bucket(at, Bucket::Low);
        } else {
            self.remove(at);
        }
        let new = Row {
            stale: old.stale,
            status: old.status,
            ..Row::new(
                Drug::Known(target),
                Bucket::Medium,
                old.indication.map(|_| condition),
            )
        };
        let place = self.observation.regimen.len();
        if self.observation.regimen.push(new) {
            self.hidden.truths[place] = Truth {
                kappa: 1.0,
                exposure: 0.0,
                needed: truth.needed,
                condition,
                mark: truth.mark,
            };
            // The step itself brings it to the share that a step settles.
            self.flag_new(target);
        }
    }

    /// Draws for each true pair of a new medicine whether it is flagged.
    fn flag_new(&mut self, target: ArchetypeId) {
        let others = self.taken() & !target.bit();
        let unflagged = self.observation.case.difficulty().unflagged();
        for other in each(self.formulary().partners(target) & others) {
            if let Some(pair) = self.formulary().between(target, other)
                && self.hidden.stream.unit() >= unflagged
            {
                self.observation.flagged |= pair.bit();
            }
        }
    }

    /// Looks for a missing value, an open status, an unflagged pair, in this order.
    fn fetch(&mut self) -> bool {
        if let Some(lab) = self.observation.labs.first_missing() {
            let found = self.hidden.stream.unit() < FOUND;
            if found {
                self.observation.labs.show(lab, &self.hidden.labs);
            }
            return found;
        }
        let stale = self.observation.regimen.iter().position(Row::is_unrevealed);
        if let Some(at) = stale {
            self.observation.regimen[at].status = Some(self.hidden.truths[at].needed);
            return true;
        }
        let Some(pair) = self.first_unflagged() else {
            return false;
        };
        let found = self.hidden.stream.unit() < FOUND;
        if found {
            self.observation.flagged |= pair.bit();
        }
        found
    }

    fn first_unflagged(&self) -> Option<PairId> {
        let o = &self.observation;
        let known = o.taken();
        let serious = self.serious_pairs() & !o.flagged;
        each_pair(serious).find(|pair| {
            let pair = self.formulary().pair(*pair);
            known & pair.first.bit() != 0 && known & pair.second.bit() != 0
        })
    }

    /// Looks up what the product is made of, and flags its pairs.
    fn decompose(&mut self) {
        self.observation.components = self.hidden.components;
        let mask = self.taken();
        for part in self.hidden.components.into_iter().flatten() {
            for other in each(self.formulary().partners(part) & mask) {
                if let Some(pair) = self.formulary().between(part, other) {
                    self.observation.flagged |= pair.bit();
                }
            }
        }
    }

    /// Values that were ordered with the last step.
    pub(super) fn labs_arrive(&mut self) -> bool {
        let arrive = self.observation.labs_ordered;
        if arrive {
            let missed = self.observation.labs.missing() > 0;
            self.observation.labs.show_all(&self.hidden.labs);
            self.observation.labs_ordered = false;
            return missed;
        }
        false
    }

    /// Levels move towards where they settle.
    pub(super) fn settle(&mut self) {
        for place in 0..self.observation.regimen.len() {
            let goal = self.settles_at(place);
            let truth = &mut self.hidden.truths[place];
            truth.exposure += SETTLING * (goal - truth.exposure);
        }
    }

    /// Reads a level, with a tenth of noise.
    pub(super) fn read_level(&mut self, drug: Drug) {
        let Some(at) = self.observation.regimen.place(drug) else {
            return;
        };
        let noise = self.hidden.stream.around_zero(0.1);
        let row = &mut self.observation.regimen[at];
        row.level = Some(self.hidden.truths[at].exposure * (1.0 + noise));
        row.level_is_old = false;
    }

    /// The symptom follows its culprit.
    pub(super) fn symptom_follows(&mut self) {
        let Some(culprit) = self.hidden.culprit else {
            return;
        };
        let taken = self.taken() & culprit.bit() != 0;
        let goal = if taken { 0.8 } else { 0.2 };
        self.hidden.symptom += 0.5 * (goal - self.hidden.symptom);
        self.read_symptom();
    }

    /// What can be seen of the symptom.
    pub(super) fn read_symptom(&mut self) {
        if self.hidden.culprit.is_some() {
            let noise = [0.1, 0.2, 0.3][self.observation.case.difficulty() as usize];
            let read = self.hidden.symptom + self.hidden.stream.around_zero(noise);
            self.observation.symptom = Some(clip(read));
        }
    }

    /// What is not tolerated shows when it is taken.
    pub(super) fn intolerance_shows(&mut self) {
        if let Some(id) = self.hidden.intolerant
            && self.taken() & id.bit() != 0
        {
            self.observation.ade_history |= id.bit();
            self.observation.problem = Some(Drug::Known(id));
        }
    }

    /// How little is known, shown to the agent (spec §6.3).
    pub(super) fn note_uncertainty(&mut self) {
        let o = &mut self.observation;
        let weigh = |holds: bool, weight: f64| if holds { weight } else { 0.0 };
        let narrow = self.formulary.marks().narrow;
        let narrow = |row: &Row| row.drug.known().is_some_and(|id| narrow & id.bit() != 0);
        let unmeasured = o
            .regimen
            .iter()
            .any(|row| narrow(row) && row.level.is_none());
        let uncertainty = 0.1
            + 0.4 * o.labs.missing() as f64 / LABS as f64
            + weigh(o.labs.get(Lab::Egfr).is_none(), 0.2)
            + weigh(o.conflict, 0.3)
            + weigh(o.has_unknown_product(), 0.3)
            + weigh(unmeasured, 0.1)
            + weigh(o.regimen.iter().any(Row::is_unrevealed), 0.2)
            + 0.2 * (o.symptom.unwrap_or(0.0) - 0.3).max(0.0);
        o.uncertainty = clip(uncertainty);
    }
}
