//! The history of an episode: its steps, why they were refused, and how it ended.

use super::candidate::{Act, Kind};
use super::case::STEPS;
use crate::named_enum;

/// A step that was taken.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PastStep {
    /// The act that was chosen; `None` where the answer stood for none.
    pub act: Option<Act>,
    /// The reason of a refusal.
    pub violation: Option<Violation>,
    /// Whether it brought information.
    pub gained: bool,
}

/// The steps of an episode, oldest first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct History {
    steps: [Option<PastStep>; STEPS],
    len: u8,
}

impl History {
    pub(crate) fn push(&mut self, past: PastStep) {
        if let Some(free) = self.steps.get_mut(usize::from(self.len)) {
            *free = Some(past);
            self.len += 1;
        }
    }

    /// Returns the steps, oldest first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &PastStep> + Clone {
        self.steps[..usize::from(self.len)].iter().flatten()
    }

    /// Returns how many there are.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.len as usize
    }

    /// Returns whether no step was taken yet.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the last step.
    #[must_use]
    pub fn last(&self) -> Option<&PastStep> {
        self.iter().next_back()
    }

    /// Returns whether an act of this kind was carried out.
    #[must_use]
    pub fn did(&self, kind: Kind) -> bool {
        self.count(|k| k == kind) > 0
    }

    /// Counts the acts carried out whose kind satisfies `counts`.
    pub fn count(&self, counts: impl Fn(Kind) -> bool) -> usize {
        let carried_out = self.iter().filter(|past| past.violation.is_none());
        carried_out
            .filter_map(|past| past.act)
            .filter(|act| counts(act.kind))
            .count()
    }
}

named_enum! {
    /// The reason why an answer was refused: only time passes then (spec polyguard §6.1).
    pub enum Violation {
        /// No such candidate is shown.
        UnknownCandidate = "unknown_candidate",
        /// What was stated beside the id is not what the id stands for.
        CandidateMismatch = "candidate_mismatch",
        /// The medicine is not in the regimen.
        TargetNotActive = "target_not_active",
        /// The medicine must be tapered.
        AbruptStop = "abrupt_stop",
        /// There is no such dose.
        DoseOutOfRange = "dose_out_of_range",
        /// A taper that goes on without a beginning, or begins twice.
        TaperState = "taper_state",
        /// The new medicine is taken already.
        DuplicateDrug = "duplicate_drug",
        /// The new medicine makes a known serious pair.
        CreatesMajorPair = "creates_major_pair",
        /// The kidney is known not to allow the new medicine.
        RenalUnsafe = "renal_unsafe",
        /// There is no product of unknown components.
        NothingToDecompose = "nothing_to_decompose",
        /// The new medicine treats nothing that the old one treats.
        NotAnAlternative = "not_an_alternative",
        /// The completion, or its rationale, says nothing.
        Empty = "empty",
        /// The completion names no candidate.
        NoCandidate = "no_candidate",
        /// The completion names a candidate in a form that does not exist.
        BadId = "bad_id",
        /// The completion names several candidates.
        Ambiguous = "ambiguous",
        /// The completion has a field that there is not.
        UnknownField = "unknown_field",
        /// The confidence is not a number from 0 to 1.
        BadConfidence = "bad_confidence",
        /// The rationale or the completion is too long.
        TooLong = "too_long",
        /// The old medicine must be tapered beside the new one, and the regimen is full.
        RegimenFull = "regimen_full",
    }
}

named_enum! {
    /// A kind of cheating, which ends an episode (spec polyguard §8, anti-cheat).
    pub enum Exploit {
        /// The same act more than three times in a row.
        ActionLoop = "action_loop",
        /// Hardly anything but keeping.
        KeepAbuse = "keep_abuse",
        /// Hardly anything but asking for review.
        ReviewAbuse = "review_abuse",
        /// Stating another act than the one that is chosen.
        CandidateMismatch = "candidate_mismatch",
        /// Choosing what is not shown, again.
        IllegalChoice = "illegal_choice",
        /// Keeping twice in a row while a serious pair is flagged.
        NoopHighRisk = "noop_high_risk",
        /// Asking again for what brought nothing.
        FailedRetry = "failed_retry",
        /// A completion made to confuse the reader.
        ParserExploit = "parser_exploit",
    }
}

named_enum! {
    /// The reason why an episode ended.
    pub enum End {
        /// Cheating.
        ExploitDetection = "exploit_detection",
        /// The episode took too long by the clock.
        WallClockTimeout = "wall_clock_timeout",
        /// A step took too long by the clock.
        StepTimeout = "step_timeout",
        /// No step is left.
        StepBudgetExhausted = "step_budget_exhausted",
        /// Three steps were refused.
        RepeatedInvalid = "repeated_invalid",
        /// A critic had to step in three times.
        SafetyVeto = "safety_veto",
        /// The patient's conditions are out of control.
        Destabilised = "destabilised",
        /// Everything was put right.
        SafeResolution = "safe_resolution",
        /// Handed over with good reason.
        JustifiedReview = "justified_review",
    }
}

impl End {
    /// Returns whether it ended well.
    #[must_use]
    pub const fn is_success(self) -> bool {
        matches!(self, Self::SafeResolution | Self::JustifiedReview)
    }

    /// Returns whether time ran out: nobody decided to end it.
    #[must_use]
    pub const fn is_truncated(self) -> bool {
        matches!(
            self,
            Self::WallClockTimeout | Self::StepTimeout | Self::StepBudgetExhausted
        )
    }
}
