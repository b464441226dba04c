//! What can be chosen: up to ten acts, made by rules, of which illegal ones are not shown.

mod legal;
mod list;
mod propose;
mod select;

use super::case::named;
use super::history::Act;
use super::regimen::{Bucket, Drug};

pub(super) use legal::violation;
pub(super) use propose::suspicion;
pub(super) use select::{Estimate, offer};

/// Most candidates of a step.
pub const CANDIDATES: usize = 10;

named! {
    /// What a candidate does, in the order of the features (spec polyguard §5).
    Kind {
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
    /// Whether it only finds something out.
    #[must_use]
    pub const fn is_information(self) -> bool {
        matches!(
            self,
            Self::OrderMonitoring | Self::FetchExternalEvidence | Self::DecomposeNewDrug
        )
    }

    /// Whether it hands the case to somebody else.
    #[must_use]
    pub const fn is_review(self) -> bool {
        matches!(
            self,
            Self::RequestSpecialistReview | Self::RequestPharmacistReview
        )
    }

    /// Whether it tapers.
    #[must_use]
    pub const fn is_taper(self) -> bool {
        matches!(self, Self::InitiateTaper | Self::ContinueTaper)
    }

    /// Whether it changes the regimen.
    #[must_use]
    pub const fn is_change(self) -> bool {
        !(self.is_information() || self.is_review() || matches!(self, Self::KeepRegimen))
    }
}

/// What an act needs besides a medicine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Arg {
    /// Nothing.
    None,
    /// Where the dose goes: one down, or one up (which resumes what is paused).
    Dose(i8),
    /// The medicine that comes in.
    Target(Drug),
}

/// The number of a candidate, 1..=10.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CandidateId(u8);

impl CandidateId {
    /// Keeping the regimen, always.
    pub const FIRST: Self = Self(1);

    /// The candidate with this number, 1..=10.
    #[must_use]
    pub const fn new(number: u8) -> Option<Self> {
        match number {
            1..=10 => Some(Self(number)),
            _ => None,
        }
    }

    /// All of them.
    pub fn all() -> impl Iterator<Item = Self> {
        (1..=CANDIDATES as u8).map(Self)
    }

    /// 1..=10.
    #[must_use]
    pub const fn number(self) -> u8 {
        self.0
    }

    /// 0..=9.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize - 1
    }

    /// `cand_01`..=`cand_10`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        [
            "cand_01", "cand_02", "cand_03", "cand_04", "cand_05", "cand_06", "cand_07", "cand_08",
            "cand_09", "cand_10",
        ][self.index()]
    }

    /// The candidate with this name.
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

/// An act that can be chosen, with what can be estimated of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Candidate {
    /// What it is chosen by.
    pub id: CandidateId,
    /// What it does.
    pub act: Act,
    /// Observable risk afterwards, read with noise of up to .06.
    pub est_risk: f64,
    /// `est_risk` less the observable risk now.
    pub est_delta: f64,
}

/// The candidates of a step; there are gaps where an illegal one is not shown.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Candidates([Option<Candidate>; CANDIDATES]);

impl Candidates {
    /// The candidate with this id, if it is shown.
    #[must_use]
    #[inline]
    pub const fn get(&self, id: CandidateId) -> Option<&Candidate> {
        self.0[id.index()].as_ref()
    }

    /// Those that are shown.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Candidate> + Clone {
        self.0.iter().flatten()
    }

    /// How many are shown.
    #[must_use]
    pub fn count(&self) -> usize {
        self.iter().count()
    }

    /// The first that is such.
    pub fn find(&self, is: impl Fn(&Candidate) -> bool) -> Option<&Candidate> {
        self.iter().find(|candidate| is(candidate))
    }
}

/// What an act makes of the dose of its medicine, and what it brings in: enough for an estimate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Effect {
    /// The new dose, if it changes; on hold when the medicine goes.
    pub dose: Option<Bucket>,
    /// What comes in at the usual dose.
    pub enters: Option<Drug>,
}

/// What an act does to the doses of a medicine in `bucket`.
#[must_use]
pub(super) fn effect(act: Act, bucket: Bucket, resumes: Bucket, needs_taper: bool) -> Effect {
    let to = |bucket| Effect {
        dose: Some(bucket),
        enters: None,
    };
    match (act.kind, act.arg) {
        (Kind::StopDrug | Kind::HoldDose, _) => to(Bucket::Hold),
        (Kind::SubstituteWithinClass | Kind::RecommendAlternative, Arg::Target(drug)) => Effect {
            dose: Some(if needs_taper {
                Bucket::Low
            } else {
                Bucket::Hold
            }),
            enters: Some(drug),
        },
        (Kind::AdjustDoseBucket, Arg::Dose(_)) if bucket == Bucket::Hold => to(resumes),
        (Kind::AdjustDoseBucket, Arg::Dose(by)) => to(bucket.moved(by).unwrap_or(bucket)),
        (Kind::InitiateTaper | Kind::ContinueTaper, _) => {
            to(bucket.moved(-1).unwrap_or(Bucket::Hold))
        }
        _ => Effect {
            dose: None,
            enters: None,
        },
    }
}
