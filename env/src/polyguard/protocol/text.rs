//! Sentences for human readers: the effect of an act, the reason of a refusal, the end of an
//! episode.

use crate::polyguard::model::candidate::{Act, ActArg, ActKind};
use crate::polyguard::model::formulary::Formulary;
use crate::polyguard::model::history::{EndReason, Exploit, Violation};
use crate::polyguard::model::step::Step;

/// The notice that accompanies every display of this world.
pub const NOTICE: &str = "Research simulation with made-up archetypes of medicines. Never for patient care, advice or \
     prescribing.";

/// Describes an act in one sentence.
#[must_use]
pub fn describe_act(act: Act, formulary: &Formulary) -> String {
    let drug = act.drug.map_or("a medicine", |drug| drug.name(formulary));
    match (act.kind, act.arg) {
        (ActKind::KeepRegimen, _) => "Keep the regimen as it is.".to_owned(),
        (ActKind::StopDrug, _) => format!("Stop {drug} at once."),
        (ActKind::SubstituteWithinClass | ActKind::RecommendAlternative, ActArg::Target(new)) => {
            format!("Replace {drug} by {}.", new.name(formulary))
        }
        (ActKind::SubstituteWithinClass | ActKind::RecommendAlternative, _) => {
            format!("Replace {drug}.")
        }
        (ActKind::AdjustDoseBucket, ActArg::Dose(by)) if by > 0 => {
            format!("Raise the dose of {drug} by one, or resume it.")
        }
        (ActKind::AdjustDoseBucket, _) => format!("Lower the dose of {drug} by one."),
        (ActKind::InitiateTaper, _) => format!("Begin to taper {drug} off."),
        (ActKind::ContinueTaper, _) => format!("Go on tapering {drug} off."),
        (ActKind::HoldDose, _) => format!("Pause {drug}."),
        (ActKind::OrderMonitoring, _) if act.drug.is_some() => {
            format!("Measure the level of {drug}.")
        }
        (ActKind::OrderMonitoring, _) => "Order all laboratory values.".to_owned(),
        (ActKind::FetchExternalEvidence, _) => "Look for what is missing.".to_owned(),
        (ActKind::DecomposeNewDrug, _) => format!("Look up what {drug} is made of."),
        (ActKind::RequestSpecialistReview, _) => "Ask a specialist for review.".to_owned(),
        (ActKind::RequestPharmacistReview, _) => "Ask a pharmacist for review.".to_owned(),
    }
}

/// Describes the reason of a refusal in one sentence.
#[must_use]
pub const fn describe_violation(why: Violation) -> &'static str {
    match why {
        Violation::UnknownCandidate => "No candidate with this id is shown.",
        Violation::CandidateMismatch => "What was stated is not what the candidate does.",
        Violation::TargetNotActive => "The medicine is not in the regimen.",
        Violation::AbruptStop => "The medicine must be tapered, not stopped at once.",
        Violation::DoseOutOfRange => "There is no such dose for this medicine.",
        Violation::TaperState => "The taper was not begun, or has begun already.",
        Violation::DuplicateDrug => "The new medicine is taken already.",
        Violation::CreatesMajorPair => "The new medicine makes a known serious interaction.",
        Violation::RenalUnsafe => "The kidney is known not to allow the new medicine.",
        Violation::NothingToDecompose => "There is no product of unknown components.",
        Violation::NotAnAlternative => "The new medicine treats nothing that the old one treats.",
        Violation::Empty => "The answer, or its rationale, says nothing.",
        Violation::NoCandidate => "The answer names no candidate in a form that can be read.",
        Violation::BadId => "The answer names a candidate that cannot exist.",
        Violation::Ambiguous => "The answer leaves open which candidate is meant.",
        Violation::UnknownField => "The answer has a field that there is not.",
        Violation::BadConfidence => "The confidence is not a number from 0 to 1.",
        Violation::TooLong => "The rationale is too long.",
        Violation::RegimenFull => "The regimen has no room for both during the taper.",
    }
}

/// Describes an exploit in one sentence.
#[must_use]
pub const fn describe_exploit(exploit: Exploit) -> &'static str {
    match exploit {
        Exploit::ActionLoop => "The same act was chosen more than three times in a row.",
        Exploit::KeepAbuse => "Hardly anything was done but keeping the regimen.",
        Exploit::ReviewAbuse => "Hardly anything was done but asking for review.",
        Exploit::CandidateMismatch => "Another act was stated than the one that was chosen.",
        Exploit::IllegalChoice => "A candidate that is not shown was chosen again.",
        Exploit::NoopHighRisk => "The regimen was kept twice in a row with a serious pair flagged.",
        Exploit::FailedRetry => "What had brought nothing was asked for again.",
        Exploit::ParserExploit => "The completion is made to confuse its reader.",
    }
}

/// Describes the end of an episode in one sentence.
#[must_use]
pub const fn describe_end(end: EndReason) -> &'static str {
    match end {
        EndReason::ExploitDetection => "Ended because of cheating.",
        EndReason::WallClockTimeout => "Ended because the episode took too long.",
        EndReason::StepTimeout => "Ended because a step took too long.",
        EndReason::StepBudgetExhausted => "Ended because no step is left.",
        EndReason::RepeatedInvalid => "Ended because three steps were refused.",
        EndReason::SafetyVeto => "Ended because a critic had to step in three times.",
        EndReason::Destabilised => "Ended because the conditions are out of control.",
        EndReason::SafeResolution => "Ended well: everything is put right.",
        EndReason::JustifiedReview => "Ended well: handed over with good reason.",
    }
}

/// Summarizes the last step and its outcome in one line, without hidden state.
#[must_use]
pub fn step_summary(step: &Step, formulary: &Formulary) -> String {
    let what = match (step.act, step.exploit, step.violation) {
        (_, Some(found), _) => describe_exploit(found).to_owned(),
        (_, None, Some(why)) => format!("Refused: {}", describe_violation(why)),
        (Some(taken), None, None) => describe_act(taken, formulary),
        (None, None, None) => String::new(),
    };
    match step.end {
        Some(how) => format!("{what} {}", describe_end(how)),
        None => what,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::polyguard::model::regimen::Drug;

    #[test]
    fn descriptions_are_distinct_well_formed_sentences() {
        let formulary = Formulary::extended();
        let drug = formulary.ids().next().map(Drug::Known);
        let mut acts: Vec<String> = Vec::new();
        for kind in ActKind::ALL {
            for (drug, arg) in [
                (None, ActArg::None),
                (drug, ActArg::None),
                (drug, ActArg::Dose(-1)),
                (drug, ActArg::Dose(1)),
                (drug, ActArg::Target(Drug::Product)),
            ] {
                acts.push(describe_act(Act { kind, drug, arg }, formulary));
            }
        }
        let mut descriptions: Vec<&str> = (Violation::ALL.iter())
            .map(|why| describe_violation(*why))
            .collect();
        descriptions.extend(Exploit::ALL.iter().map(|found| describe_exploit(*found)));
        descriptions.extend(EndReason::ALL.iter().map(|how| describe_end(*how)));
        let all: std::collections::BTreeSet<&str> = descriptions.iter().copied().collect();
        assert_eq!(all.len(), descriptions.len(), "no two are alike");
        for sentence in descriptions
            .into_iter()
            .chain(acts.iter().map(String::as_str))
        {
            assert!(sentence.ends_with('.'), "{sentence}");
            assert!(sentence.chars().next().is_some_and(char::is_uppercase));
            assert!(
                !sentence.contains("  ") && !sentence.contains(" ."),
                "{sentence}"
            );
        }
    }
}
