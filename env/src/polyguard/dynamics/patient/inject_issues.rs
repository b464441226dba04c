//! Planting of pairs, suspects, medicines under review, and questioned doses.

use super::patient_generator::{MAX_TRIES, PatientGenerator};
use crate::polyguard::dynamics::effects::SYMPTOM_START;
use crate::polyguard::model::formulary::{ArchetypeId, Condition, PairId};
use crate::polyguard::model::hidden::Issue;
use crate::polyguard::model::patient::Lab;
use crate::polyguard::model::regimen::DoseBucket;
use crate::polyguard::model::task_spec::{Difficulty, Split};

/// Probability, by difficulty, that the chart shows from the start whether a medicine is needed.
const VISIBLE: [f64; 3] = [0.6, 0.45, 0.3];
/// Maximum number of tries for one pair.
const PAIR_TRIES: usize = 80;

impl PatientGenerator {
    /// Plants a serious pair, of which one medicine may not be needed.
    pub(super) fn inject_serious_pair(&mut self) -> Option<()> {
        for _ in 0..PAIR_TRIES {
            let pool = self.pair_pool();
            let pair = self.state.hidden.stream.pick(pool).map(PairId)?;
            let (a, b) = (
                self.formulary().pair(pair).first,
                self.formulary().pair(pair).second,
            );
            if !self.state.is_serious(pair) || !self.can_add(a) || !self.can_add(b) {
                continue;
            }
            self.add_pair(a, b);
            self.add_issue(Issue::Pair(pair));
            return Some(());
        }
        None
    }

    /// Returns the pairs that the split allows; for the first planting of the split `holdout`, the
    /// held-out pairs.
    fn pair_pool(&self) -> u64 {
        let marks = self.formulary().trait_sets();
        let (all, held_out) = (marks.pairs, marks.held_out_pairs);
        match self.split() {
            Split::Train => all & !held_out,
            Split::Holdout if self.planted == 0 => held_out,
            Split::All | Split::Holdout => all,
        }
    }

    fn add_pair(&mut self, a: ArchetypeId, b: ArchetypeId) {
        let first = self.add_known(a, Some(DoseBucket::Medium));
        let second = self.add_known(b, Some(DoseBucket::Medium));
        self.planted += 2;
        let clean =
            [a, b].map(|id| self.is_valid_substitute(id, self.formulary().get(id).indication));
        let u = self.unit();
        if u < 0.3 || clean == [false, false] {
            let place = if self.unit() < 0.5 { first } else { second };
            self.mark_unneeded(place, 0.6);
        }
    }

    /// Plants the suspects of a symptom and draws the culprit.
    pub(super) fn inject_suspects(&mut self, count: usize) -> Option<()> {
        let mut chosen = Vec::new();
        let plain = self.allowed() & !self.formulary().trait_sets().taper;
        for _ in 0..MAX_TRIES {
            if chosen.len() == count {
                break;
            }
            let id = self.pick(self.prefer_held_out(plain))?;
            if !self.can_add(id) || self.has_class_of(id) {
                continue;
            }
            let place = self.add_known(id, Some(DoseBucket::Medium));
            self.state.observation.regimen[place].prior = if chosen.is_empty() { 2 } else { 1 };
            self.state.hidden.suspects |= id.bit();
            self.planted += 1;
            chosen.push(id);
        }
        (chosen.len() == count).then_some(())?;
        // The first suspect has twice the weight of the others.
        let at = self.below(count + 1).saturating_sub(1);
        let culprit = chosen[at];
        self.state.hidden.culprit = Some(culprit);
        self.state.hidden.symptom = SYMPTOM_START;
        self.add_issue(Issue::Culprit(culprit));
        Some(())
    }

    /// Returns `true` if the regimen has a medicine of the same class.
    pub(super) fn has_class_of(&self, id: ArchetypeId) -> bool {
        let class = id.bit() | self.formulary().trait_sets().same_class[id.index()];
        self.present & class != 0
    }

    /// Plants medicines that are not needed, and decoys that are needed; all of them are under
    /// review.
    pub(super) fn inject_unneeded_medicines(
        &mut self,
        needless: usize,
        decoys: usize,
    ) -> Option<()> {
        let pool = self.allowed_where(|id| {
            let a = self.formulary().get(id);
            a.taper || a.acb >= 2 || ["ppi_like", "nsaid_like"].contains(&a.name.as_str())
        });
        let mut conditions: Vec<Condition> = Vec::new();
        for _ in 0..MAX_TRIES {
            if conditions.len() == needless + decoys {
                break;
            }
            let id = self.pick(self.prefer_held_out(pool))?;
            let condition = self.formulary().get(id).indication;
            if !self.can_add(id) || conditions.contains(&condition) {
                continue;
            }
            let bucket = if self.unit() < 0.7 {
                DoseBucket::Medium
            } else {
                DoseBucket::Low
            };
            let place = self.add_known(id, Some(bucket));
            let needed = conditions.len() >= needless;
            let level = self.state.observation.task.difficulty() as usize;
            let visible = self.unit() < VISIBLE[level];
            let row = &mut self.state.observation.regimen[place];
            row.stale = true;
            row.status = visible.then_some(needed);
            conditions.push(condition);
            self.planted += 1;
            if !needed {
                let mark = conditions.len() as u8;
                let truth = &mut self.state.hidden.truths[place];
                (truth.needed, truth.mark) = (false, mark);
                self.add_issue(Issue::NoIndication(mark));
            }
        }
        (conditions.len() == needless + decoys).then_some(())
    }

    /// Plants medicines whose dose may not suit the patient.
    pub(super) fn inject_unsuitable_doses(&mut self, count: usize) -> Option<()> {
        let benign = self.unit() < 0.3;
        let marks = self.formulary().trait_sets();
        let pool = self.allowed() & (marks.narrow | marks.renal);
        let mut left = count;
        for _ in 0..MAX_TRIES {
            if left == 0 {
                break;
            }
            let id = self.pick(self.prefer_held_out(pool))?;
            if !self.can_add(id) {
                continue;
            }
            let bucket = 1 + self.below(3);
            let (kappa, exposure) = self.draw_dose(DoseBucket::ALL[bucket], benign);
            let place = self.add_known(id, Some(DoseBucket::ALL[bucket]));
            let truth = &mut self.state.hidden.truths[place];
            (truth.kappa, truth.exposure) = (kappa, exposure);
            self.state.observation.regimen[place].questioned = true;
            let renal = self.formulary().get(id).renal_below.is_some();
            if renal && self.unit() < 0.6 && exposure > 1.2 {
                self.state.hidden.labs[0] = 35.0 + 20.0 * self.unit();
            }
            self.planted += 1;
            self.add_issue(Issue::Dose(id));
            left -= 1;
        }
        (left == 0).then_some(())?;
        if benign {
            self.add_issue(Issue::Sign);
        }
        Some(())
    }

    /// Draws the clearance of a questioned dose, and the exposure at it. A benign dose is right as it
    /// is.
    pub(super) fn draw_dose(&mut self, bucket: DoseBucket, benign: bool) -> (f64, f64) {
        let bucket = bucket as usize;
        let aim = if benign {
            bucket
        } else if self.unit() < 0.35 {
            bucket + 1
        } else {
            bucket.saturating_sub(1)
        };
        let aim = if (1..=3).contains(&aim) { aim } else { 2 };
        let best = 0.9 + 0.2 * self.unit();
        let kappa = DoseBucket::ALL[aim].dose() / best;
        (kappa, DoseBucket::ALL[bucket].dose() / kappa)
    }

    /// Plants a medicine whose safety depends on the missing eGFR.
    pub(super) fn inject_renal_risk(&mut self) -> Option<()> {
        let benign = self.unit() < 0.45;
        let marks = self.formulary().trait_sets();
        let pool = self.allowed() & marks.renal & !marks.taper;
        let id = self.pick(self.prefer_held_out(pool))?;
        let below = self.formulary().get(id).renal_below?;
        let place = self.add_known(id, Some(DoseBucket::Medium));
        self.planted += 1;
        let u = self.unit();
        self.state.hidden.labs[0] = if benign {
            below + 5.0 + 30.0 * u
        } else {
            (below - 3.0 - 12.0 * u).max(12.0)
        };
        let condition = self.formulary().get(id).indication;
        if !benign && !self.is_valid_substitute(id, condition) {
            // A medicine without a clean substitute can only be removed if it is not needed.
            self.mark_unneeded(place, 0.6);
        }
        self.add_issue(Issue::Info);
        self.add_issue(if benign {
            Issue::Sign
        } else {
            Issue::Renal(id)
        });
        self.missing[Lab::Egfr as usize] = true;
        if self.state.observation.task.difficulty() != Difficulty::Easy {
            self.missing[Lab::Inr as usize] = true;
        }
        Some(())
    }
}
