//! Acts, candidates and their ids, and the list of candidates that is shown.

use super::regimen::Drug;
use crate::named_enum;

/// Maximum number of candidates in a step.
pub const MAX_CANDIDATES: usize = 10;

named_enum! {
    /// The kind of an act, in the order of the features (spec polyguard §5).
    pub enum ActKind {
        /// Changes nothing; signs off if all other issues are resolved.
        KeepRegimen = "KEEP_REGIMEN",
        /// Removes a medicine at once.
        StopDrug = "STOP_DRUG",
        /// Replaces a medicine by a listed substitute.
        SubstituteWithinClass = "SUBSTITUTE_WITHIN_CLASS",
        /// Replaces a medicine by any other that treats the same condition.
        RecommendAlternative = "RECOMMEND_ALTERNATIVE",
        /// Moves the dose by one bucket, or resumes a paused medicine.
        AdjustDoseBucket = "ADJUST_DOSE_BUCKET",
        /// Starts tapering a medicine off.
        InitiateTaper = "INITIATE_TAPER",
        /// Continues a taper by one bucket.
        ContinueTaper = "CONTINUE_TAPER",
        /// Pauses a medicine, which can be resumed later.
        HoldDose = "HOLD_DOSE",
        /// Measures a level, or orders all laboratory values.
        OrderMonitoring = "ORDER_MONITORING",
        /// Searches for missing information.
        FetchExternalEvidence = "FETCH_EXTERNAL_EVIDENCE",
        /// Reveals the components of a product.
        DecomposeNewDrug = "DECOMPOSE_NEW_DRUG",
        /// Requests a review by a specialist.
        RequestSpecialistReview = "REQUEST_SPECIALIST_REVIEW",
        /// Requests a review by a pharmacist.
        RequestPharmacistReview = "REQUEST_PHARMACIST_REVIEW",
    }
}

impl ActKind {
    /// Returns `true` if the act only gathers information.
    #[must_use]
    pub const fn is_information(self) -> bool {
        matches!(
            self,
            Self::OrderMonitoring | Self::FetchExternalEvidence | Self::DecomposeNewDrug
        )
    }

    /// Returns `true` if the act requests a review.
    #[must_use]
    pub const fn is_review(self) -> bool {
        matches!(
            self,
            Self::RequestSpecialistReview | Self::RequestPharmacistReview
        )
    }

    /// Returns `true` if the act tapers a medicine.
    #[must_use]
    pub const fn is_taper(self) -> bool {
        matches!(self, Self::InitiateTaper | Self::ContinueTaper)
    }

    /// Returns `true` if the act changes the regimen.
    #[must_use]
    pub const fn is_change(self) -> bool {
        !(self.is_information() || self.is_review() || matches!(self, Self::KeepRegimen))
    }
}

/// The argument of an act, besides its medicine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ActArg {
    /// The act has no argument.
    None,
    /// The change of the dose by -1 or 1 buckets; 1 also resumes a paused medicine.
    Dose(i8),
    /// The medicine that is added.
    Target(Drug),
}

/// An act: a kind, a medicine and an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Act {
    /// The kind of the act.
    pub kind: ActKind,
    /// The medicine that the act is about, if any.
    pub drug: Option<Drug>,
    /// The argument of the act.
    pub arg: ActArg,
}

/// The number of a candidate, 1..=10.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CandidateId(u8);

impl CandidateId {
    /// The first id, which always stands for keeping the regimen.
    pub const FIRST: Self = Self(1);

    /// Returns the id with this number, or `None` outside 1..=10.
    #[must_use]
    pub const fn new(number: u8) -> Option<Self> {
        match number {
            1..=10 => Some(Self(number)),
            _ => None,
        }
    }

    /// Iterates over all ids, in ascending order.
    pub fn all() -> impl Iterator<Item = Self> {
        (1..=MAX_CANDIDATES as u8).map(Self)
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

    /// Returns the name, `cand_01` to `cand_10`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        [
            "cand_01", "cand_02", "cand_03", "cand_04", "cand_05", "cand_06", "cand_07", "cand_08",
            "cand_09", "cand_10",
        ][self.index()]
    }

    /// Returns the id with this name, or `None` if there is none.
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
    /// The id of the candidate.
    pub id: CandidateId,
    /// The act that the candidate stands for.
    pub act: Act,
    /// Estimated observable risk after the act, with noise of up to 0.06.
    pub est_risk: f64,
    /// Difference between `est_risk` and the current observable risk.
    pub est_delta: f64,
}

/// The candidates of a step, with gaps where illegal ones are not shown.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Candidates(pub(crate) [Option<Candidate>; MAX_CANDIDATES]);

impl Candidates {
    /// Returns the candidate with this id, if it is shown.
    #[must_use]
    #[inline]
    pub const fn get(&self, id: CandidateId) -> Option<&Candidate> {
        self.0[id.index()].as_ref()
    }

    /// Iterates over the shown candidates, in order of their ids.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Candidate> + Clone {
        self.0.iter().flatten()
    }

    /// Returns the number of shown candidates.
    #[must_use]
    pub fn count(&self) -> usize {
        self.iter().count()
    }

    /// Returns the first shown candidate that satisfies `is`.
    pub fn find(&self, is: impl Fn(&Candidate) -> bool) -> Option<&Candidate> {
        self.iter().find(|candidate| is(candidate))
    }
}
