//! Effects of acts on the patient and on what is known (spec polyguard §6.2).

use super::truth::SETTLING_RATE;
use crate::num::clip01;
use crate::polyguard::model::candidate::{Act, ActArg, ActKind};
use crate::polyguard::model::formulary::{ArchetypeId, PairId, each_archetype, each_pair};
use crate::polyguard::model::hidden::MedicationTruth;
use crate::polyguard::model::observation::Observation;
use crate::polyguard::model::regimen::{DoseBucket, Drug, MAX_MEDICATIONS, Medication};
use crate::polyguard::model::state::State;
use crate::polyguard::model::task_spec::Difficulty;

/// Probability that a search for evidence succeeds.
const FOUND: f64 = 0.7;

/// Largest noise of a measured level, relative to the true one.
const LEVEL_NOISE: f64 = 0.1;
/// Tolerance of a comparison of a reading with its bounds.
const ROUNDING: f64 = 1e-9;

/// Number of suspects of a symptom, by difficulty.
pub(super) const SUSPECTS: [usize; 3] = [3, 4, SUSPECTS_MAX];
/// Largest number of suspects of a symptom.
pub const SUSPECTS_MAX: usize = 5;
/// True symptom at the start of an episode.
pub const SYMPTOM_START: f64 = 0.8;

/// Returns the true symptom after an act: it moves toward 0.8 while its culprit is taken, else
/// toward 0.2.
#[must_use]
pub fn next_symptom(symptom: f64, culprit_is_taken: bool) -> f64 {
    let goal = if culprit_is_taken { SYMPTOM_START } else { 0.2 };
    symptom + 0.5 * (goal - symptom)
}

/// Returns the likelihood of a reading given the true symptom, up to a factor that depends on the
/// reading alone. Readings are uniform around the symptom, and clipped to `[0, 1]`.
#[must_use]
pub fn symptom_likelihood(difficulty: Difficulty, symptom: f64, read: f64) -> f64 {
    let noise = symptom_noise(difficulty) + ROUNDING;
    if read <= 0.0 {
        (noise - symptom).max(0.0)
    } else if read >= 1.0 {
        (symptom + noise - 1.0).max(0.0)
    } else if (read - symptom).abs() <= noise {
        1.0
    } else {
        0.0
    }
}

/// Returns the largest noise of a reading of the symptom.
const fn symptom_noise(difficulty: Difficulty) -> f64 {
    [0.1, 0.2, 0.3][difficulty as usize]
}

/// The immediate outcome of an act.
#[derive(Clone, Copy, Default)]
struct Outcome {
    /// `true` if the act brought information.
    gained: bool,
    /// The medicine whose level is to be measured.
    measured: Option<Drug>,
}

impl State {
    /// Carries out a legal act and advances the patient by one step. Returns `true` if the act
    /// brought information.
    pub(crate) fn apply_act(&mut self, act: Act) -> bool {
        let outcome = self.carry_out(act);
        self.settle();
        if let Some(drug) = outcome.measured {
            self.read_level(drug);
        }
        self.update_symptom();
        self.update_control();
        self.show_intolerance();
        outcome.gained
    }

    fn carry_out(&mut self, act: Act) -> Outcome {
        let place = act
            .drug
            .and_then(|drug| self.observation.regimen.position(drug));
        let mut outcome = Outcome::default();
        match (act.kind, place) {
            (ActKind::StopDrug, Some(at)) => self.remove(at),
            (ActKind::HoldDose, Some(at)) => {
                let row = &mut self.observation.regimen[at];
                row.resumes = row.bucket;
                self.set_bucket(at, DoseBucket::Hold);
            }
            (ActKind::AdjustDoseBucket, Some(at)) => self.adjust(at, act.arg),
            (ActKind::InitiateTaper | ActKind::ContinueTaper, Some(at)) => self.taper(at),
            (ActKind::SubstituteWithinClass | ActKind::RecommendAlternative, Some(at)) => {
                if let ActArg::Target(Drug::Known(target)) = act.arg {
                    self.replace(at, target);
                }
            }
            (ActKind::OrderMonitoring, Some(at)) => {
                let row = &self.observation.regimen[at];
                outcome.gained = row.level.is_none() || row.level_is_old;
                outcome.measured = Some(row.drug);
            }
            (ActKind::OrderMonitoring, None) => {
                let o = &mut self.observation;
                outcome.gained = o.labs.missing() > 0 && !o.labs_ordered;
                o.labs_ordered = true;
            }
            (ActKind::FetchExternalEvidence, _) => outcome.gained = self.fetch(),
            (ActKind::DecomposeNewDrug, _) => {
                self.decompose();
                outcome.gained = true;
            }
            (ActKind::RequestSpecialistReview, _) => self.observation.conflict = false,
            _ => {}
        }
        outcome
    }

    fn remove(&mut self, at: usize) {
        self.observation.regimen.remove(at);
        self.hidden.truths.copy_within(at + 1..MAX_MEDICATIONS, at);
    }

    fn set_bucket(&mut self, at: usize, bucket: DoseBucket) {
        let row = &mut self.observation.regimen[at];
        row.bucket = bucket;
        row.level_is_old = row.level.is_some();
    }

    fn adjust(&mut self, at: usize, arg: ActArg) {
        let row = &self.observation.regimen[at];
        let ActArg::Dose(by) = arg else {
            return;
        };
        let to = if row.is_active() {
            row.bucket.shifted(by).unwrap_or(row.bucket)
        } else {
            row.resumes
        };
        self.set_bucket(at, to);
    }

    /// Lowers the dose by one bucket. A medicine at LOW, or on hold, is removed.
    fn taper(&mut self, at: usize) {
        match self.observation.regimen[at].bucket.shifted(-1) {
            Some(lower) => {
                self.observation.regimen[at].tapering = true;
                self.set_bucket(at, lower);
            }
            None => self.remove(at),
        }
    }

    /// Replaces a medicine by another. A medicine that needs tapering stays at LOW beside the new
    /// one; if there is no room for both, nothing happens, because the verifier refuses that act.
    fn replace(&mut self, at: usize, target: ArchetypeId) {
        let old = self.observation.regimen[at];
        let tapers = old.drug.needs_taper(self.formulary);
        if tapers && self.observation.regimen.is_full() {
            return;
        }
        let truth = self.hidden.truths[at];
        let treats = self.formulary.get(target).treats;
        let condition = if treats.contains(truth.condition) {
            truth.condition
        } else {
            let shared = self.treats(old.drug).intersection(treats);
            let first = shared.iter().next();
            first.unwrap_or(self.formulary.get(target).indication)
        };
        if tapers {
            self.observation.regimen[at].tapering = true;
            self.hidden.truths[at].needed = false;
            self.set_bucket(at, DoseBucket::Low);
        } else {
            self.remove(at);
        }
        let new = Medication {
            stale: old.stale,
            status: old.status,
            ..Medication::new(
                Drug::Known(target),
                DoseBucket::Medium,
                old.indication.map(|_| condition),
            )
        };
        if let Some(place) = self.observation.regimen.push(new) {
            self.hidden.truths[place] = MedicationTruth {
                kappa: 1.0,
                exposure: 0.0,
                needed: truth.needed,
                condition,
                mark: truth.mark,
            };
            // The current step moves the exposure towards its steady state.
            self.flag_new(target);
        }
    }

    /// Draws for each true pair of a new medicine whether it is flagged.
    fn flag_new(&mut self, target: ArchetypeId) {
        let others = self.taken_archetypes() & !target.bit();
        let unflagged = self.observation.task.difficulty().unflagged_probability();
        for other in each_archetype(self.formulary.partners(target) & others) {
            if let Some(pair) = self.formulary.pair_between(target, other)
                && self.hidden.stream.unit() >= unflagged
            {
                self.observation.flagged |= pair.bit();
            }
        }
    }

    /// Searches for the first of these that exists: a missing laboratory value, an unrevealed
    /// status, an unflagged serious pair. Returns `true` if it was found.
    fn fetch(&mut self) -> bool {
        if let Some(lab) = self.observation.labs.first_missing() {
            let found = self.hidden.stream.unit() < FOUND;
            if found {
                self.observation.labs.show(lab, &self.hidden.labs);
            }
            return found;
        }
        let stale = self
            .observation
            .regimen
            .iter()
            .position(Medication::is_unrevealed);
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
        let known = o.taken_archetypes();
        let serious = self.serious_pairs() & !o.flagged;
        each_pair(serious).find(|pair| {
            let pair = self.formulary.pair(*pair);
            known & pair.first.bit() != 0 && known & pair.second.bit() != 0
        })
    }

    /// Reveals the components of the product and flags their pairs.
    fn decompose(&mut self) {
        self.observation.components = self.hidden.components;
        let mask = self.taken_archetypes();
        for part in self.hidden.components.into_iter().flatten() {
            for other in each_archetype(self.formulary.partners(part) & mask) {
                if let Some(pair) = self.formulary.pair_between(part, other) {
                    self.observation.flagged |= pair.bit();
                }
            }
        }
    }

    /// Shows the laboratory values that were ordered in the last step. Returns `true` if any was
    /// missing.
    pub(crate) fn deliver_labs(&mut self) -> bool {
        let arrive = self.observation.labs_ordered;
        if arrive {
            let missed = self.observation.labs.missing() > 0;
            self.observation.labs.show_all(&self.hidden.labs);
            self.observation.labs_ordered = false;
            return missed;
        }
        false
    }

    /// Moves all exposures towards their steady state.
    fn settle(&mut self) {
        let clearance = self.clearance();
        for place in 0..self.observation.regimen.len() {
            let goal = self.settles_at_clearance(place, &clearance);
            let truth = &mut self.hidden.truths[place];
            truth.exposure += SETTLING_RATE * (goal - truth.exposure);
        }
    }

    /// Measures the level of a medicine, with noise of up to [`LEVEL_NOISE`] of its value.
    fn read_level(&mut self, drug: Drug) {
        let Some(at) = self.observation.regimen.position(drug) else {
            return;
        };
        let noise = self.hidden.stream.uniform_symmetric(LEVEL_NOISE);
        let row = &mut self.observation.regimen[at];
        row.level = Some(self.hidden.truths[at].exposure * (1.0 + noise));
        row.level_is_old = false;
    }

    /// Moves the true symptom towards 0.8 while its culprit is taken, else towards 0.2.
    fn update_symptom(&mut self) {
        let Some(culprit) = self.hidden.culprit else {
            return;
        };
        let is_taken = self.taken_archetypes() & culprit.bit() != 0;
        self.hidden.symptom = next_symptom(self.hidden.symptom, is_taken);
        self.read_symptom();
    }

    /// Updates the observed symptom from the true one, with noise.
    pub(super) fn read_symptom(&mut self) {
        if self.hidden.culprit.is_some() {
            let noise = symptom_noise(self.observation.task.difficulty());
            let read = self.hidden.symptom + self.hidden.stream.uniform_symmetric(noise);
            self.observation.symptom = Some(clip01(read));
        }
    }

    /// Returns `true` if this state could have led to the observation `shown`: the medicines, the
    /// reading of the symptom, the level that was measured in the last step, if any, and what is
    /// known of an intolerance.
    pub(crate) fn could_show(&self, shown: &Observation) -> bool {
        let (o, h) = (&self.observation, &self.hidden);
        let drugs = |o: &Observation| o.regimen.iter().map(|row| row.drug).collect::<Vec<_>>();
        if o.ade_history != shown.ade_history || drugs(o) != drugs(shown) {
            return false;
        }
        let read_fits = (shown.symptom)
            .is_none_or(|read| symptom_likelihood(o.task.difficulty(), h.symptom, read) > 0.0);
        let measured = |act: Act| (act.kind == ActKind::OrderMonitoring).then_some(act.drug)?;
        let last = shown.history.last().filter(|past| past.violation.is_none());
        let level_fits = last
            .and_then(|past| measured(past.act?))
            .is_none_or(|drug| {
                let Some(at) = shown.regimen.position(drug) else {
                    return true;
                };
                let (exposure, level) = (h.truths[at].exposure, shown.regimen[at].level);
                level.is_none_or(|level| {
                    (level - exposure).abs() <= LEVEL_NOISE * exposure + ROUNDING
                })
            });
        read_fits && level_fits
    }

    /// Reveals an intolerance once the medicine is taken.
    fn show_intolerance(&mut self) {
        if let Some(id) = self.hidden.intolerant
            && self.taken_archetypes() & id.bit() != 0
        {
            self.observation.ade_history |= id.bit();
            self.observation.problem = Some(Drug::Known(id));
        }
    }
}
