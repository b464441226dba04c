//! The hidden state of an episode, which is never part of an observation.

use super::candidate::{Act, CandidateId, MAX_CANDIDATES};
use super::formulary::{ArchetypeId, Condition, Conditions, PairId, SetRule};
use super::history::Violation;
use super::patient::TrueLabs;
use super::regimen::{Drug, MAX_MEDICATIONS};
use crate::rng::PcgRandom;

/// Maximum number of issues in an episode.
pub(crate) const MAX_ISSUES: usize = 6;

/// Candidates that are not shown, by index, with the reason.
pub(crate) type WithheldCandidates = [Option<(Act, Violation)>; MAX_CANDIDATES];

/// A problem that must be resolved for an episode to end well (spec polyguard §3).
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Issue {
    /// The two archetypes must not both be taken.
    Pair(PairId),
    /// The set rule must not be broken.
    Set(SetRule),
    /// The medicine with this mark is not needed and must be removed.
    NoIndication(u8),
    /// The suspect that causes the symptom must be removed, and the others must be taken.
    Culprit(ArchetypeId),
    /// The medicine must be taken, have been measured, and have a steady state inside its window.
    Dose(ArchetypeId),
    /// The eGFR must be known.
    Info,
    /// The medicine is unsafe for the kidney and must not be taken.
    Renal(ArchetypeId),
    /// Keeping the regimen must be chosen once all other issues are resolved.
    Sign,
    /// The product must be decomposed or removed.
    Decompose,
    /// A component of the product and another medicine must not both be taken.
    ComponentPair(PairId),
    /// The medicine must be removed, and its condition must be treated by a tolerated one.
    Replace(Drug, Condition),
}

/// The hidden truth about one row of the regimen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MedicationTruth {
    /// Relative personal clearance; the exposure is inversely proportional to it.
    pub kappa: f64,
    /// Current exposure; 1 is the middle of the window.
    pub exposure: f64,
    /// `true` if the patient still needs the medicine.
    pub needed: bool,
    /// The condition that the medicine is given for.
    pub condition: Condition,
    /// Mark of the [`Issue::NoIndication`] that the medicine belongs to; 0 for none.
    pub mark: u8,
}

/// The patient's state at the start, for comparison.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StartValues {
    /// True risk at the start, in `[0, 1)`.
    pub risk: f64,
    /// True burden at the start, in `[0, 1)`.
    pub burden: f64,
    /// True stability at the start, 0..=1.
    pub stability: f64,
    /// Serious pairs present at the start, as bits of [`PairId`].
    pub serious: u64,
}

/// Totals over the steps so far.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Tally {
    /// Sum of the amounts that the steps count towards the score.
    pub counted: f64,
    /// Sum of the rewards that the steps returned.
    pub returned: f64,
    /// Score of the episode, once it has ended.
    pub score: f64,
    /// Number of fallbacks by a critic.
    pub vetoes: u8,
    /// Largest number of issues that were resolved at the same time.
    pub resolved: u8,
}

/// The complete hidden state of an episode.
#[derive(Clone, Debug, PartialEq)]
pub struct Hidden {
    /// The truth about each row of the regimen.
    pub(crate) truths: [MedicationTruth; MAX_MEDICATIONS],
    /// True laboratory values, in the order of `Lab`.
    pub labs: TrueLabs,
    /// True adherence of the patient, 0.7..=1.
    pub adherence: f64,
    /// The components of the product, if there is one.
    pub components: Option<[ArchetypeId; 2]>,
    /// The conditions that need a medicine.
    pub needed: Conditions,
    pub(crate) issues: [Option<Issue>; MAX_ISSUES],
    /// The archetype that the patient does not tolerate, if any.
    pub intolerant: Option<ArchetypeId>,
    /// The culprit of the symptom, if there is a symptom.
    pub culprit: Option<ArchetypeId>,
    /// The suspects of the symptom, as bits of [`ArchetypeId`]; public from the start.
    pub(crate) suspects: u64,
    /// True strength of the symptom, 0..=1.
    pub symptom: f64,
    /// Control of the needed conditions, 0..=1.
    pub stability: f64,
    /// Value that `stability` moves towards, 0..=1.
    pub stability_target: f64,
    /// True risk of the regimen, in `[0, 1)`.
    pub risk: f64,
    /// True burden of the regimen, in `[0, 1)`.
    pub burden: f64,
    /// Lowest true risk so far.
    pub best_risk: f64,
    /// Lowest true burden so far.
    pub best_burden: f64,
    /// The patient's state at the start.
    pub start: StartValues,
    /// Number of issues resolved after the last step, and number of all issues.
    pub(crate) resolved: (u8, u8),
    /// `true` if the regimen was signed off by keeping it.
    pub signed: bool,
    /// The candidates that are not shown, with the reason.
    pub(crate) withheld: WithheldCandidates,
    /// Bit mask of the steps that made progress. It depends on the true risk and the issues, so no
    /// agent may see it.
    pub(crate) progressed: u16,
    /// Number of times that a withheld candidate was chosen.
    pub(crate) withheld_choices: u8,
    /// Totals over the steps so far.
    pub(crate) tally: Tally,
    pub(crate) stream: PcgRandom,
}

impl Hidden {
    /// Creates placeholder values, used before a patient is generated.
    pub(crate) fn new(stream: PcgRandom) -> Self {
        let nothing = MedicationTruth {
            kappa: 1.0,
            exposure: 0.0,
            needed: false,
            condition: Condition::ClotRisk,
            mark: 0,
        };
        Self {
            truths: [nothing; MAX_MEDICATIONS],
            labs: [0.0; 5],
            adherence: 1.0,
            components: None,
            needed: Conditions::EMPTY,
            issues: [None; MAX_ISSUES],
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
            start: StartValues::default(),
            signed: false,
            resolved: (0, 0),
            withheld: WithheldCandidates::default(),
            progressed: 0,
            withheld_choices: 0,
            tally: Tally::default(),
            stream,
        }
    }

    /// Iterates over the issues, in the order in which they were planted.
    pub fn issues(&self) -> impl Iterator<Item = Issue> {
        self.issues.iter().flatten().copied()
    }

    /// Returns the same hidden state with other issues, of which the first six count.
    #[cfg(feature = "testing")]
    #[must_use]
    pub fn with_issues(mut self, issues: impl IntoIterator<Item = Issue>) -> Self {
        let mut issues = issues.into_iter();
        self.issues = std::array::from_fn(|_| issues.next());
        self
    }

    /// Returns the same hidden state with every row of the regimen changed by `change`.
    #[cfg(feature = "testing")]
    #[must_use]
    pub fn with_truths(mut self, change: impl FnMut(&mut MedicationTruth)) -> Self {
        self.truths.iter_mut().for_each(change);
        self
    }

    /// Iterates over the candidates that are not shown, each with its act and the reason why it is
    /// illegal.
    pub fn withheld(&self) -> impl Iterator<Item = (CandidateId, Act, Violation)> {
        let each = CandidateId::all().zip(self.withheld);
        each.filter_map(|(id, withheld)| withheld.map(|(act, why)| (id, act, why)))
    }

    /// Returns the reason why the candidate with this index is not shown, or `None` if it is shown
    /// or does not exist.
    pub(crate) const fn withheld_at(&self, index: usize) -> Option<Violation> {
        match &self.withheld[index] {
            Some((_, why)) => Some(*why),
            None => None,
        }
    }

    /// Returns the hidden truth about a row of the regimen.
    #[must_use]
    #[inline]
    pub const fn truth(&self, place: usize) -> &MedicationTruth {
        &self.truths[place]
    }

    /// Returns the totals over the steps so far.
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
