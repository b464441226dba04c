//! The hidden state of an episode: never part of an observation.

use super::candidate::{Act, CANDIDATES, CandidateId};
use super::formulary::{ArchetypeId, Condition, Conditions, PairId, SetRule};
use super::history::Violation;
use super::patient::TrueLabs;
use super::regimen::{Drug, ROWS};
use crate::rng::PcgRandom;

/// Most issues of an episode.
pub(crate) const ISSUES: usize = 6;

/// Candidates that are not shown, by index, with the reason.
pub(crate) type Withheld = [Option<(Act, Violation)>; CANDIDATES];

/// A problem that must be resolved for an episode to end well (spec polyguard §3).
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Issue {
    /// The two may not both be taken.
    Pair(PairId),
    /// The rule may not be broken.
    Set(SetRule),
    /// The medicine with this mark is not needed and must go.
    NoIndication(u8),
    /// The suspect that causes the symptom must go, the others must be taken.
    Culprit(ArchetypeId),
    /// The medicine is taken, was measured, and settles inside its window.
    Dose(ArchetypeId),
    /// The eGFR is known.
    Info,
    /// The kidney does not allow this medicine.
    Renal(ArchetypeId),
    /// Keeping was chosen when nothing else was left.
    Sign,
    /// The product was looked into, or is gone.
    Decompose,
    /// A component of the product and another medicine may not both be taken.
    ComponentPair(PairId),
    /// The medicine is gone, and what it was for is treated by another that is tolerated.
    Replace(Drug, Condition),
}

/// The hidden truth of one row of the regimen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Truth {
    /// Personal clearance, relative.
    pub kappa: f64,
    /// Current exposure, 1 being the middle of the window.
    pub exposure: f64,
    /// Whether the patient still needs it.
    pub needed: bool,
    /// What it is given for.
    pub condition: Condition,
    /// The mark of the [`Issue::NoIndication`] it belongs to; 0 for none.
    pub mark: u8,
}

/// The patient's state at the start, for comparison.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Start {
    /// True risk.
    pub risk: f64,
    /// True burden.
    pub burden: f64,
    /// True stability.
    pub stability: f64,
    /// Serious pairs that there were, as bits.
    pub serious: u64,
}

/// Sums over the steps so far.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Tally {
    /// Sum of what steps count towards the score.
    pub counted: f64,
    /// Sum of what steps returned.
    pub returned: f64,
    /// Score, once the episode has ended.
    pub score: f64,
    /// Fallbacks of a critic.
    pub vetoes: u8,
    /// Most issues that were resolved at once.
    pub resolved: u8,
}

/// Everything hidden about an episode.
#[derive(Clone, Debug, PartialEq)]
pub struct Hidden {
    /// Medication by row of the regimen.
    pub(crate) truths: [Truth; ROWS],
    /// True laboratory values.
    pub labs: TrueLabs,
    /// True adherence, .7..1.
    pub adherence: f64,
    /// The components of the product.
    pub components: Option<[ArchetypeId; 2]>,
    /// Conditions that need a medicine.
    pub needed: Conditions,
    pub(crate) issues: [Option<Issue>; ISSUES],
    /// What the patient does not tolerate.
    pub intolerant: Option<ArchetypeId>,
    /// The culprit of the symptom.
    pub culprit: Option<ArchetypeId>,
    /// The suspects of the symptom, as bits; public from the start.
    pub(crate) suspects: u64,
    /// The true symptom.
    pub symptom: f64,
    /// Control of the conditions, 0..=1.
    pub stability: f64,
    /// The value that `stability` moves towards.
    pub stability_target: f64,
    /// True risk.
    pub risk: f64,
    /// True burden.
    pub burden: f64,
    /// Lowest true risk so far.
    pub best_risk: f64,
    /// Lowest true burden so far.
    pub best_burden: f64,
    /// The state at the start.
    pub start: Start,
    /// Number of issues resolved after the last step, and of all issues.
    pub(crate) resolved: (u8, u8),
    /// Whether keeping signed off.
    pub signed: bool,
    /// Candidates that are not shown, with the reason.
    pub(crate) withheld: Withheld,
    /// Steps that made progress, as bits. True risk and issues decide, so no agent may see it.
    pub(crate) progressed: u16,
    /// Number of times that a withheld candidate was chosen.
    pub(crate) withheld_choices: u8,
    /// Sums over the steps so far.
    pub(crate) tally: Tally,
    pub(crate) stream: PcgRandom,
}

impl Hidden {
    /// Placeholder used before a patient is drawn.
    pub(crate) fn new(stream: PcgRandom) -> Self {
        let nothing = Truth {
            kappa: 1.0,
            exposure: 0.0,
            needed: false,
            condition: Condition::ClotRisk,
            mark: 0,
        };
        Self {
            truths: [nothing; ROWS],
            labs: [0.0; 5],
            adherence: 1.0,
            components: None,
            needed: Conditions::EMPTY,
            issues: [None; ISSUES],
            intolerant: None,
            culprit: None,
            suspects: 0,
            symptom: 0.0,
            stability: 1.0,
            stability_target: 1.0,
            risk: 0.0,
            burden: 0.0,
            best_risk: 0.0,
            best_burden: 0.0,
            start: Start::default(),
            signed: false,
            resolved: (0, 0),
            withheld: Withheld::default(),
            progressed: 0,
            withheld_choices: 0,
            tally: Tally::default(),
            stream,
        }
    }

    /// Returns the issues, in the order in which they were planted.
    pub fn issues(&self) -> impl Iterator<Item = Issue> {
        self.issues.iter().flatten().copied()
    }

    /// Returns the candidates that are not shown, each with what it would do and why it is illegal.
    pub fn withheld(&self) -> impl Iterator<Item = (CandidateId, Act, Violation)> {
        let each = CandidateId::all().zip(self.withheld);
        each.filter_map(|(id, withheld)| withheld.map(|(act, why)| (id, act, why)))
    }

    /// Returns why the candidate with this index is not shown; `None` if it is shown or there is none.
    pub(crate) const fn withheld_at(&self, index: usize) -> Option<Violation> {
        match &self.withheld[index] {
            Some((_, why)) => Some(*why),
            None => None,
        }
    }

    /// Returns what is true of a row of the regimen.
    #[must_use]
    #[inline]
    pub const fn truth(&self, place: usize) -> &Truth {
        &self.truths[place]
    }

    /// Sums over the steps so far.
    #[must_use]
    pub const fn tally(&self) -> &Tally {
        &self.tally
    }

    /// Returns the true eGFR in mL/min.
    #[must_use]
    #[inline]
    pub const fn egfr(&self) -> f64 {
        self.labs[0]
    }
}
