//! What an agent may not see: never part of an observation.

use super::candidates::CANDIDATES;
use super::formulary::{ArchetypeId, Condition, Conditions, PairId, SetRule};
use super::history::Act;
use super::labs::TrueLabs;
use super::regimen::{Drug, ROWS};
use super::stream::Stream;
use super::violation::Violation;

/// Most issues of an episode.
pub(super) const ISSUES: usize = 6;

/// What must be put right for an episode to end well (spec polyguard §3).
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Issue {
    /// The two may not both be taken.
    Pair(PairId),
    /// The rule may not be broken.
    Set(SetRule),
    /// What bears this mark is not needed and must go.
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

/// What is true of one row of the regimen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Truth {
    /// Personal clearance, relative.
    pub kappa: f64,
    /// How much of it acts at present, 1 being the middle of the window.
    pub exposure: f64,
    /// Whether the patient still needs it.
    pub needed: bool,
    /// What it is given for.
    pub condition: Condition,
    /// Which [`Issue::NoIndication`] it belongs to; 0 for none.
    pub mark: u8,
}

/// How the patient was at the start, for comparison.
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
    /// Row by row of the regimen.
    pub(super) truths: [Truth; ROWS],
    /// True laboratory values.
    pub labs: TrueLabs,
    /// True adherence, .7..1.
    pub adherence: f64,
    /// What the product is made of.
    pub components: Option<[ArchetypeId; 2]>,
    /// Conditions that need a medicine.
    pub needed: Conditions,
    pub(super) issues: [Option<Issue>; ISSUES],
    /// What the patient does not tolerate.
    pub intolerant: Option<ArchetypeId>,
    /// The culprit of the symptom.
    pub culprit: Option<ArchetypeId>,
    /// The suspects of the symptom, as bits; public from the start.
    pub(super) suspects: u64,
    /// The true symptom.
    pub symptom: f64,
    /// How well the conditions are controlled, 0..=1.
    pub stability: f64,
    /// Where that is heading.
    pub stability_target: f64,
    /// True risk.
    pub risk: f64,
    /// True burden.
    pub burden: f64,
    /// Lowest true risk so far.
    pub best_risk: f64,
    /// Lowest true burden so far.
    pub best_burden: f64,
    /// As at the start.
    pub start: Start,
    /// Issues that are resolved after the last step, and how many there are.
    pub(super) resolved: (u8, u8),
    /// Whether keeping signed off.
    pub signed: bool,
    /// Candidates that are not shown, with the reason.
    pub(super) withheld: [Option<(Act, Violation)>; CANDIDATES],
    /// Steps that got anywhere, as bits: true risk and issues decide, so no agent may see it.
    pub(super) progressed: u16,
    /// Times that something which is not shown was chosen.
    pub(super) withheld_choices: u8,
    /// Whether acts that nobody can know to be good were measured.
    pub(super) tally: Tally,
    pub(super) stream: Stream,
}

impl Hidden {
    /// The issues, in the order in which they were planted.
    pub fn issues(&self) -> impl Iterator<Item = Issue> {
        self.issues.iter().flatten().copied()
    }

    /// What is true of a row of the regimen.
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

    /// True eGFR in mL/min.
    #[must_use]
    #[inline]
    pub const fn egfr(&self) -> f64 {
        self.labs[0]
    }
}
