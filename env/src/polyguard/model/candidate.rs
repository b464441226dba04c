//! Acts, candidates and their ids, and the list of candidates that is shown.

use super::regimen::Drug;
use crate::named_enum;

/// Most candidates of a step.
pub const CANDIDATES: usize = 10;

named_enum! {
    /// The kind of an act, in the order of the features (spec polyguard §5).
    pub enum Kind {
        /// Changes nothing; as a last step it signs off.
        KeepRegimen = "KEEP_REGIMEN",
        /// Takes a medicine out at once.
        StopDrug = "STOP_DRUG",
        /// Puts a listed substitute in the place of a medicine.
        SubstituteWithinClass = "SUBSTITUTE_WITHIN_CLASS",
        /// Puts anything that treats the same in the place of a medicine.
        RecommendAlternative = "RECOMMEND_ALTERNATIVE",
        /// Moves the dose by one, or resumes what is paused.
        AdjustDoseBucket = "ADJUST_DOSE_BUCKET",
        /// Begins to taper a medicine off.
        InitiateTaper = "INITIATE_TAPER",
        /// Goes on tapering.
        ContinueTaper = "CONTINUE_TAPER",
        /// Pauses a medicine.
        HoldDose = "HOLD_DOSE",
        /// Measures a level, or orders all laboratory values.
        OrderMonitoring = "ORDER_MONITORING",
        /// Looks for what is missing.
        FetchExternalEvidence = "FETCH_EXTERNAL_EVIDENCE",
        /// Looks up what a product is made of.
        DecomposeNewDrug = "DECOMPOSE_NEW_DRUG",
        /// Asks a specialist.
        RequestSpecialistReview = "REQUEST_SPECIALIST_REVIEW",
        /// Asks a pharmacist.
        RequestPharmacistReview = "REQUEST_PHARMACIST_REVIEW",
    }
}

impl Kind {
    /// Returns whether the act only gathers information.
    #[must_use]
    pub const fn is_information(self) -> bool {
        matches!(
            self,
            Self::OrderMonitoring | Self::FetchExternalEvidence | Self::DecomposeNewDrug
        )
    }

    /// Returns whether the act hands the case over for review.
    #[must_use]
    pub const fn is_review(self) -> bool {
        matches!(
            self,
            Self::RequestSpecialistReview | Self::RequestPharmacistReview
        )
    }

    /// Returns whether the act tapers a medicine.
    #[must_use]
    pub const fn is_taper(self) -> bool {
        matches!(self, Self::InitiateTaper | Self::ContinueTaper)
    }

    /// Returns whether the act changes the regimen.
    #[must_use]
    pub const fn is_change(self) -> bool {
        !(self.is_information() || self.is_review() || matches!(self, Self::KeepRegimen))
    }
}

/// The argument of an act, besides its medicine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Arg {
    /// Nothing.
    None,
    /// The change of the dose: -1, or 1, which also resumes what is paused.
    Dose(i8),
    /// The medicine that comes in.
    Target(Drug),
}

/// An act: a kind, a medicine, an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Act {
    /// Kind.
    pub kind: Kind,
    /// The medicine that it is about.
    pub drug: Option<Drug>,
    /// What else it needs.
    pub arg: Arg,
}

/// The number of a candidate, 1..=10.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CandidateId(u8);

impl CandidateId {
    /// Keeping the regimen, always.
    pub const FIRST: Self = Self(1);

    /// Returns the candidate with this number, 1..=10.
    #[must_use]
    pub const fn new(number: u8) -> Option<Self> {
        match number {
            1..=10 => Some(Self(number)),
            _ => None,
        }
    }

    /// Iterates over all ids.
    pub fn all() -> impl Iterator<Item = Self> {
        (1..=CANDIDATES as u8).map(Self)
    }

    /// Returns the number, 1..=10.
    #[must_use]
    pub const fn number(self) -> u8 {
        self.0
    }

    /// Returns the index, 0..=9.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize - 1
    }

    /// Returns the name, `cand_01`..=`cand_10`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        [
            "cand_01", "cand_02", "cand_03", "cand_04", "cand_05", "cand_06", "cand_07", "cand_08",
            "cand_09", "cand_10",
        ][self.index()]
    }

    /// Returns the candidate with this name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::all().find(|id| id.name() == name)
    }
}

impl std::fmt::Display for CandidateId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// An act that can be chosen, with estimates of its effect.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Candidate {
    /// Its id.
    pub id: CandidateId,
    /// The act it stands for.
    pub act: Act,
    /// Observable risk afterwards, read with noise of up to .06.
    pub est_risk: f64,
    /// `est_risk` less the observable risk now.
    pub est_delta: f64,
}

/// The candidates of a step; there are gaps where an illegal one is not shown.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Candidates(pub(crate) [Option<Candidate>; CANDIDATES]);

impl Candidates {
    /// Returns the candidate with this id, if it is shown.
    #[must_use]
    #[inline]
    pub const fn get(&self, id: CandidateId) -> Option<&Candidate> {
        self.0[id.index()].as_ref()
    }

    /// Iterates over the candidates that are shown.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Candidate> + Clone {
        self.0.iter().flatten()
    }

    /// Returns the number of candidates shown.
    #[must_use]
    pub fn count(&self) -> usize {
        self.iter().count()
    }

    /// Returns the first candidate that satisfies `is`.
    pub fn find(&self, is: impl Fn(&Candidate) -> bool) -> Option<&Candidate> {
        self.iter().find(|candidate| is(candidate))
    }
}
