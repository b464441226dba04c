//! The history of an episode: its steps, the reasons of refusals, and the reason of its end.

use super::candidate::{Act, ActKind};
use super::task_spec::MAX_STEPS;
use crate::named_enum;

/// A step that was taken.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PastStep {
    /// The act that was chosen, or `None` if the answer stood for none.
    pub act: Option<Act>,
    /// The reason why the step was refused, if it was.
    pub violation: Option<Violation>,
    /// `true` if the step brought information.
    pub gained: bool,
}

/// The steps of an episode, oldest first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct History {
    steps: [Option<PastStep>; MAX_STEPS],
    len: u8,
}

impl History {
    pub(crate) fn push(&mut self, past: PastStep) {
        if let Some(free) = self.steps.get_mut(usize::from(self.len)) {
            *free = Some(past);
            self.len += 1;
        }
    }

    /// Iterates over the steps, oldest first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &PastStep> + Clone {
        self.steps[..usize::from(self.len)].iter().flatten()
    }

    /// Returns the number of steps.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.len as usize
    }

    /// Returns `true` if no step has been taken yet.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the last step, if any.
    #[must_use]
    pub fn last(&self) -> Option<&PastStep> {
        self.iter().next_back()
    }

    /// Returns `true` if an act of this kind was carried out.
    #[must_use]
    pub fn has_kind(&self, kind: ActKind) -> bool {
        self.count(|k| k == kind) > 0
    }

    /// Returns the number of acts carried out whose kind satisfies `counts`.
    pub fn count(&self, counts: impl Fn(ActKind) -> bool) -> usize {
        let carried_out = self.iter().filter(|past| past.violation.is_none());
        carried_out
            .filter_map(|past| past.act)
            .filter(|act| counts(act.kind))
            .count()
    }
}

named_enum! {
    /// The reason why an answer was refused, in which case only time passes (spec polyguard §6.1).
    pub enum Violation {
        /// No candidate with this id is shown.
        UnknownCandidate = "unknown_candidate",
        /// The details stated beside the id differ from the candidate's.
        CandidateMismatch = "candidate_mismatch",
        /// The medicine is not in the regimen.
        TargetNotActive = "target_not_active",
        /// The medicine must be tapered and not stopped at once.
        AbruptStop = "abrupt_stop",
        /// The dose does not exist for this medicine.
        DoseOutOfRange = "dose_out_of_range",
        /// The taper has not been started, or has been started already.
        TaperState = "taper_state",
        /// The new medicine is in the regimen already.
        DuplicateDrug = "duplicate_drug",
        /// The new medicine forms a known serious pair.
        CreatesMajorPair = "creates_major_pair",
        /// The new medicine is unsafe at the known eGFR.
        RenalUnsafe = "renal_unsafe",
        /// There is no product with unknown components.
        NothingToDecompose = "nothing_to_decompose",
        /// The new medicine treats no condition that the old one treats.
        NotAnAlternative = "not_an_alternative",
        /// The completion or its rationale is empty.
        Empty = "empty",
        /// The completion names no candidate.
        NoCandidate = "no_candidate",
        /// The completion names a candidate in a form that does not exist.
        BadId = "bad_id",
        /// The completion does not single out one candidate, or repeats a field.
        Ambiguous = "ambiguous",
        /// The completion has an unknown field.
        UnknownField = "unknown_field",
        /// The confidence is not a number from 0 to 1.
        BadConfidence = "bad_confidence",
        /// The rationale is too long.
        TooLong = "too_long",
        /// The regimen has no room for both the old medicine, which must be tapered, and the new
        /// one.
        RegimenFull = "regimen_full",
    }
}

named_enum! {
    /// A kind of exploit, which ends an episode (spec polyguard §8, anti-cheat).
    pub enum Exploit {
        /// The same act was chosen more than three times in a row.
        ActionLoop = "action_loop",
        /// More than 60 % of at least four steps kept the regimen.
        KeepAbuse = "keep_abuse",
        /// More than half of the steps, and at least two, requested a review.
        ReviewAbuse = "review_abuse",
        /// The stated act differs from the one that was chosen.
        CandidateMismatch = "candidate_mismatch",
        /// A withheld candidate was chosen for the second time.
        IllegalChoice = "illegal_choice",
        /// The regimen was kept twice in a row while a serious pair was flagged.
        NoopHighRisk = "noop_high_risk",
        /// An information act that brought nothing was repeated without progress since.
        FailedRetry = "failed_retry",
        /// The completion is made to confuse the parser.
        ParserExploit = "parser_exploit",
    }
}

named_enum! {
    /// The reason why an episode ended.
    pub enum EndReason {
        /// A step was an exploit.
        ExploitDetection = "exploit_detection",
        /// The episode exceeded its time limit.
        WallClockTimeout = "wall_clock_timeout",
        /// A step exceeded its time limit.
        StepTimeout = "step_timeout",
        /// All steps of the budget were used.
        StepBudgetExhausted = "step_budget_exhausted",
        /// Three steps were refused.
        RepeatedInvalid = "repeated_invalid",
        /// A critic substituted three choices.
        SafetyVeto = "safety_veto",
        /// The patient's conditions are out of control.
        Destabilised = "destabilised",
        /// All issues are resolved, and nothing was made worse.
        SafeResolution = "safe_resolution",
        /// The case was handed over for good reason.
        JustifiedReview = "justified_review",
    }
}

impl EndReason {
    /// Returns `true` if the episode ended well.
    #[must_use]
    pub const fn is_success(self) -> bool {
        matches!(self, Self::SafeResolution | Self::JustifiedReview)
    }

    /// Returns `true` if the episode was cut off by a limit of time or steps.
    #[must_use]
    pub const fn is_truncated(self) -> bool {
        matches!(
            self,
            Self::WallClockTimeout | Self::StepTimeout | Self::StepBudgetExhausted
        )
    }
}
