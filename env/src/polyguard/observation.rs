//! What an agent may see (spec polyguard §9).

use super::Rules;
use super::candidates::{Candidates, Estimate, suspicion};
use super::case::{Case, named};
use super::ending::End;
use super::formulary::{ArchetypeId, Conditions, Formulary, PairId, SetRule, Severity, each};
use super::history::{Act, History};
use super::labs::{Lab, ShownLabs};
use super::regimen::{Drug, Regimen, Row};
use super::risk::{self, Doses};
use super::violation::Violation;

named! {
    /// Sex of the patient.
    Sex {
        /// Female.
        Female = "female",
        /// Male.
        Male = "male",
    }
}

/// Who is treated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Patient {
    /// Years, 65..=90.
    pub age: u8,
    /// Sex.
    pub sex: Sex,
    /// Observed frailty, 0..=1, one decimal, off by up to .1.
    pub frailty: f64,
    /// Observed adherence, 0..=1, one decimal, off by up to .1.
    pub adherence: f64,
    /// What the chart gives medicines for at the start.
    pub comorbidities: Conditions,
    /// Systolic blood pressure, mmHg.
    pub systolic_mmhg: f64,
    /// Heart rate, beats a minute.
    pub heart_rate: f64,
    /// Respiratory rate, breaths a minute.
    pub respiratory_rate: f64,
}

/// Everything that an agent may know.
#[derive(Clone, Debug, PartialEq)]
pub struct Observation {
    /// Which distribution the episode is drawn from.
    pub case: Case,
    /// Which rules are in force.
    pub rules: Rules,
    /// Steps taken.
    pub step_count: u8,
    /// Steps that may be taken.
    pub budget: u8,
    /// Who is treated.
    pub patient: Patient,
    /// Laboratory values.
    pub labs: ShownLabs,
    /// Whether all values come with the next step.
    pub labs_ordered: bool,
    /// The medicines.
    pub regimen: Regimen,
    /// The components of the product, once they were looked up.
    pub components: Option<[ArchetypeId; 2]>,
    /// Pairs that are flagged, as bits of [`PairId`]; also of medicines that are gone.
    pub flagged: u64,
    /// Whether specialists disagree.
    pub conflict: bool,
    /// A symptom, 0..=1, read with noise.
    pub symptom: Option<f64>,
    /// What must be replaced.
    pub problem: Option<Drug>,
    /// What the patient did not tolerate, as bits of [`ArchetypeId`].
    pub ade_history: u64,
    /// How unsafe the regimen looks, 0..1.
    pub risk: f64,
    /// How heavy the regimen looks, 0..1.
    pub burden: f64,
    /// How little is known, 0..=1.
    pub uncertainty: f64,
    /// What can be chosen.
    pub candidates: Candidates,
    /// What was done.
    pub history: History,
    /// Steps that were refused.
    pub invalid_count: u8,
    /// Why the last step was refused.
    pub last_violation: Option<Violation>,
    /// How the episode ended.
    pub end: Option<End>,
}

impl Observation {
    /// The tables that names and traits come from.
    #[must_use]
    pub fn formulary(&self) -> &'static Formulary {
        self.case.formulary().tables()
    }

    /// Whether the episode has ended.
    #[must_use]
    #[inline]
    pub const fn done(&self) -> bool {
        self.end.is_some()
    }

    /// Estimated glomerular filtration rate in mL/min, if known.
    #[must_use]
    #[inline]
    pub const fn egfr(&self) -> Option<f64> {
        self.labs.get(Lab::Egfr)
    }

    /// The known archetypes of a row: one, the looked-up components, or none.
    #[must_use]
    pub fn parts(&self, drug: Drug) -> u64 {
        match drug {
            Drug::Known(id) => id.bit(),
            Drug::Product => self.components.map_or(0, |[a, b]| a.bit() | b.bit()),
        }
    }

    /// Whether there is a product that nobody has looked into.
    #[must_use]
    pub fn has_unknown_product(&self) -> bool {
        self.components.is_none() && self.regimen.place(Drug::Product).is_some()
    }

    /// The known archetypes that are taken, as bits.
    #[must_use]
    #[inline]
    pub fn taken(&self) -> u64 {
        let active = self.regimen.iter().filter(|row| row.is_active());
        active.fold(0, |bits, row| bits | self.parts(row.drug))
    }

    /// The known archetypes that are taken, with their doses.
    #[must_use]
    #[inline]
    pub fn doses(&self) -> Doses {
        let mut doses = Doses::default();
        for row in self.regimen.iter() {
            doses.add(self.parts(row.drug), row.bucket);
        }
        doses
    }

    /// Pairs that are flagged and taken together, with their severity, in the order of the table.
    pub fn flags(&self) -> impl Iterator<Item = (PairId, Severity)> {
        let (formulary, egfr) = (self.formulary(), self.egfr());
        // A flag may outlive its medicines.
        let pairs = risk::pairs_among(formulary, self.taken(), self.flagged);
        risk::each_pair(pairs).map(move |pair| (pair, formulary.pair(pair).grade.at(egfr)))
    }

    /// Whether a flagged pair is serious.
    #[must_use]
    pub fn has_serious_flag(&self) -> bool {
        self.flags().any(|(_, severity)| severity.is_serious())
    }

    /// Which rules about sets are visibly broken.
    #[must_use]
    pub fn broken_rules(&self) -> [(SetRule, bool); 4] {
        risk::sets(self.formulary(), self.case.formulary(), self.taken())
    }

    /// What the eGFR does not allow; where it is not known, what it may not allow. Bits of
    /// [`ArchetypeId`].
    pub(super) fn renal_limits(&self) -> u64 {
        let limited = self.formulary().marks().renal;
        let Some(egfr) = self.egfr() else {
            return limited;
        };
        each(limited)
            .filter(|id| self.formulary().get(*id).unsafe_at(egfr))
            .fold(0, |bits, id| bits | id.bit())
    }

    /// Whether a row is visibly unsafe for the kidney; `None` where the eGFR decides and is unknown.
    #[must_use]
    pub fn renal_alert(&self, row: &Row) -> Option<bool> {
        let formulary = self.formulary();
        let limited = self.parts(row.drug) & formulary.marks().renal;
        if limited == 0 {
            return Some(false);
        }
        let egfr = self.egfr()?;
        Some(each(limited).any(|id| formulary.get(id).unsafe_at(egfr)))
    }

    /// Number of medicines taken, their anticholinergic burden, and how many act on the central
    /// nervous system, as far as they are known.
    #[must_use]
    pub fn burden_counts(&self) -> [u8; 3] {
        let count = self.regimen.iter().filter(|row| row.is_active()).count();
        risk::burden_counts(self.formulary(), self.taken(), count)
    }
}

impl Observation {
    /// Observable risk after an act, without the noise of a candidate's estimate.
    #[must_use]
    pub fn risk_after(&self, act: Act) -> f64 {
        Estimate::of(self, &self.doses()).after(act)
    }

    /// Whether a row takes part in a rule about sets.
    #[must_use]
    pub fn is_member(&self, rule: SetRule, row: &Row) -> bool {
        let members = risk::members(self.formulary(), rule, self.taken());
        self.parts(row.drug) & members != 0
    }

    /// How many of what is taken make a suspected pair with a medicine that is not flagged.
    #[must_use]
    pub fn suspicion(&self, row: &Row) -> u32 {
        suspicion(self, row, self.taken())
    }
}
