//! Why a step is refused, and what counts as cheating.

use super::case::named;

named! {
    /// Why a choice was refused: nothing but time passes then (spec polyguard §6.1).
    Violation {
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
    }
}

named! {
    /// What ends an episode as cheating (spec §8, anti-cheat).
    Exploit {
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
