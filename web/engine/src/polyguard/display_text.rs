//! Readable texts for the vocabularies of the world.

use sentinel_env::polyguard::{
    ActKind, Channel, Component, Difficulty, DoseBucket, EndReason, Exploit, FormularyName, Lab,
    SetRule, Severity, Split, SubEnvironment, Violation,
};
use sentinel_policy::polyguard::PolicyName;

/// Returns the name of a sub-environment, and its goal.
pub(super) const fn sub(sub: SubEnvironment) -> (&'static str, &'static str) {
    match sub {
        SubEnvironment::Ddi => (
            "Drug interactions",
            "Break up the pairs that interact: taper, stop or replace the partner that is easier to spare. Some pairs may not be flagged.",
        ),
        SubEnvironment::BanditMining => (
            "Find the culprit",
            "One of the suspects causes a symptom. Pause one at a time, watch the symptom, stop the culprit and resume the others.",
        ),
        SubEnvironment::RegimenRisk => (
            "Too much of a kind",
            "Sets of medicines break a rule. Take out what breaks it with the least loss for the patient’s conditions.",
        ),
        SubEnvironment::PrecisionDosing => (
            "Precise dosing",
            "A dose may be too high or too low for this patient. Measure a level, move the dose, and keep it once it fits.",
        ),
        SubEnvironment::Deprescribing => (
            "Deprescribing",
            "The reason for some medicines is under review. Find out which are no longer needed, and taper only those.",
        ),
        SubEnvironment::WebSearchMissingData => (
            "Missing data",
            "A laboratory value that a decision needs is missing. Find it first, then act on it or keep the regimen.",
        ),
        SubEnvironment::AlternativeSuggestion => (
            "Find an alternative",
            "One medicine must be replaced by another for the same condition that the patient tolerates.",
        ),
        SubEnvironment::NewDrugDecomposition => (
            "Unknown product",
            "The patient takes a product of two unknown components. Look up what it is made of, then keep only what is safe.",
        ),
    }
}

/// Returns the name of a difficulty, and what it hides.
pub(super) const fn difficulty(difficulty: Difficulty) -> (&'static str, &'static str) {
    match difficulty {
        Difficulty::Easy => ("Easy", "3 to 5 medicines, nothing missing"),
        Difficulty::Medium => (
            "Medium",
            "6 to 9 medicines; 30 % of the pairs are not flagged, 15 % of the values are missing",
        ),
        Difficulty::Hard => (
            "Hard",
            "10 to 14 medicines; half of the pairs are not flagged, 35 % of the values are missing",
        ),
    }
}

/// Returns the name of a split, and what may occur in it.
pub(super) const fn split(split: Split) -> (&'static str, &'static str) {
    match split {
        Split::All => ("All", "No restriction"),
        Split::Train => ("Train", "Nothing that is held out from training occurs"),
        Split::Holdout => (
            "Holdout",
            "The first problem involves a medicine or pair that never occurred in training",
        ),
    }
}

/// Returns the name of a formulary, and its origin.
pub(super) const fn formulary(formulary: FormularyName) -> (&'static str, &'static str) {
    match formulary {
        FormularyName::Extended => ("Extended", "46 archetypes, made for this project"),
        FormularyName::Reference => (
            "Reference",
            "What PolyGuard’s public pages state; two cases, easy and medium, without splits",
        ),
    }
}

/// Returns the verb of a kind of act, and what the act does.
pub(super) const fn kind(kind: ActKind) -> (&'static str, &'static str) {
    match kind {
        ActKind::KeepRegimen => (
            "Keep",
            "Changes nothing. Use it to finish once nothing is left to do.",
        ),
        ActKind::StopDrug => ("Stop", "Removes the medicine at once"),
        ActKind::SubstituteWithinClass => ("Switch", "A listed substitute takes its place"),
        ActKind::RecommendAlternative => (
            "Replace",
            "Another medicine for the same condition takes its place",
        ),
        ActKind::AdjustDoseBucket => ("Adjust", "Moves the dose by one level"),
        ActKind::InitiateTaper => (
            "Taper",
            "One level down; to be continued until the medicine is out",
        ),
        ActKind::ContinueTaper => (
            "Taper",
            "One level further down; below low the medicine is out",
        ),
        ActKind::HoldDose => ("Pause", "The medicine is not taken until it is resumed"),
        ActKind::OrderMonitoring => ("Measure", "Finds something out and changes nothing"),
        ActKind::FetchExternalEvidence => (
            "Search",
            "May find a missing value, whether a medicine is still needed, or a pair that is not flagged",
        ),
        ActKind::DecomposeNewDrug => ("Look up", "Tells what the product is made of"),
        ActKind::RequestSpecialistReview => (
            "Ask",
            "Settles a disagreement of specialists. A good ending only if too little is known to decide.",
        ),
        ActKind::RequestPharmacistReview => {
            ("Ask", "A good ending only if too little is known to decide")
        }
    }
}

/// Returns the word for a dose.
pub(super) const fn dose(bucket: DoseBucket) -> &'static str {
    match bucket {
        DoseBucket::Hold => "paused",
        DoseBucket::Low => "low",
        DoseBucket::Medium => "medium",
        DoseBucket::High => "high",
    }
}

/// Returns a sentence about a severity.
pub(super) const fn severity(severity: Severity) -> &'static str {
    match severity {
        Severity::Contraindicated => "Never together; weighs .90 in the risk",
        Severity::Major => "A serious interaction; weighs .50 in the risk",
        Severity::Moderate => "No reason to act by itself; weighs .15 in the risk",
    }
}

/// Returns the name of a rule about sets, and its definition.
pub(super) const fn rule(rule: SetRule) -> (&'static str, &'static str) {
    match rule {
        SetRule::Cns3 => (
            "three act on the brain",
            "Three or more medicines that act on the central nervous system; weighs .35 in the risk",
        ),
        SetRule::Acb3 => (
            "anticholinergic burden",
            "Anticholinergic points of 3 or more together; weighs .35 in the risk",
        ),
        SetRule::Whammy => (
            "triple whammy",
            "An NSAID, a RAS inhibitor and a diuretic together strain the kidney; weighs .35 in the risk",
        ),
        SetRule::Dup => (
            "two of one class",
            "Two medicines of one class; weighs .35 in the risk",
        ),
    }
}

/// Returns the name of a laboratory value, its unit, and its meaning.
pub(super) const fn lab(lab: Lab) -> (&'static str, &'static str, &'static str) {
    match lab {
        Lab::Egfr => (
            "eGFR",
            "mL/min",
            "How much the kidneys filter; some medicines are unsafe below a limit",
        ),
        Lab::Ast => ("AST", "U/L", "A liver enzyme"),
        Lab::Alt => ("ALT", "U/L", "A liver enzyme"),
        Lab::Inr => ("INR", "", "How long blood takes to clot, relative"),
        Lab::Glucose => ("Glucose", "mg/dL", "Blood sugar"),
    }
}

/// Returns a laboratory value with its unit.
pub(super) fn lab_value(which: Lab, value: f64) -> String {
    match lab(which).1 {
        "" => format!("{value:.1}"),
        unit => format!("{value:.0} {unit}"),
    }
}

/// Returns the reason for a refusal.
pub(super) const fn violation(why: Violation) -> &'static str {
    match why {
        Violation::UnknownCandidate => "no such candidate is shown",
        Violation::CandidateMismatch => "what was stated is not what the candidate stands for",
        Violation::TargetNotActive => "the medicine is not in the regimen",
        Violation::AbruptStop => "the medicine must be tapered, not stopped at once",
        Violation::DoseOutOfRange => "there is no such dose",
        Violation::TaperState => "the taper has not begun, or has begun already",
        Violation::DuplicateDrug => "the new medicine is taken already",
        Violation::CreatesMajorPair => "the new medicine makes a known serious pair",
        Violation::RenalUnsafe => "the known eGFR is too low for the new medicine",
        Violation::NothingToDecompose => "there is no product of unknown components",
        Violation::NotAnAlternative => "the new medicine does not treat what the old one treats",
        Violation::Empty => "the answer says nothing",
        Violation::NoCandidate => "the answer names no candidate",
        Violation::BadId => "the id of the candidate has an invalid form",
        Violation::Ambiguous => "the answer names several candidates",
        Violation::UnknownField => "the answer has an unknown field",
        Violation::BadConfidence => "the confidence is not a number from 0 to 1",
        Violation::TooLong => "the answer is too long",
        Violation::RegimenFull => "the regimen has no room for both medicines during the taper",
    }
}

/// Returns the name of a rule against cheating, and what it forbids.
pub(super) const fn exploit(exploit: Exploit) -> (&'static str, &'static str) {
    match exploit {
        Exploit::ActionLoop => (
            "Repeating an action",
            "taking the same action more than three times in a row",
        ),
        Exploit::KeepAbuse => (
            "Keeping too often",
            "keeping the regimen in more than 60 % of the steps, from the fourth on",
        ),
        Exploit::ReviewAbuse => (
            "Asking for review too often",
            "asking for review twice or more, and in over half of the steps",
        ),
        Exploit::CandidateMismatch => (
            "Misstating a candidate",
            "stating another action than that of the chosen candidate",
        ),
        Exploit::IllegalChoice => (
            "Choosing what is not shown",
            "choosing a second time a candidate that is not shown",
        ),
        Exploit::NoopHighRisk => (
            "Ignoring a serious pair",
            "keeping the regimen twice in a row while a serious pair is flagged",
        ),
        Exploit::FailedRetry => (
            "Repeating a failed request",
            "asking again for the same information without progress since",
        ),
        Exploit::ParserExploit => (
            "Confusing the reader",
            "giving an answer made to confuse its reader",
        ),
    }
}

/// Returns the name of an end, and what it makes of the score.
pub(super) const fn end(end: EndReason) -> (&'static str, &'static str) {
    match end {
        EndReason::SafeResolution => (
            "safe resolution",
            "The verifier confirms that everything was put right and nothing was made worse. Unused steps still earn almost full points.",
        ),
        EndReason::JustifiedReview => (
            "justified review",
            "The case was handed over for good reason: evidence was tried, and too much stayed unknown. The score counts .7.",
        ),
        EndReason::StepBudgetExhausted => (
            "no step left",
            "The steps ran out before everything was put right. The score counts .25 + .35 × how good the outcome is.",
        ),
        EndReason::ExploitDetection => (
            "cheating",
            "A rule against cheating ended the episode. The score counts a tenth.",
        ),
        EndReason::RepeatedInvalid => (
            "three refusals",
            "Three answers were refused. The score counts a tenth.",
        ),
        EndReason::SafetyVeto => (
            "three vetoes",
            "A critic had to step in three times. The score counts a tenth.",
        ),
        EndReason::Destabilised => (
            "out of control",
            "The patient’s conditions are out of control. The score counts a tenth.",
        ),
        EndReason::StepTimeout | EndReason::WallClockTimeout => {
            ("too late", "The time ran out. The score counts a tenth.")
        }
    }
}

/// Returns the name of a policy.
pub(super) const fn policy(policy: PolicyName) -> &'static str {
    match policy {
        PolicyName::Random => "Random",
        PolicyName::KeepRegimen => "No change",
        PolicyName::LeastRisk => "Least estimated risk",
        PolicyName::RulesOnly => "Rules only",
        PolicyName::Imitation => "Imitation of the oracle",
        PolicyName::ContextualBandit => "Bandit with bounds (LinUCB)",
        PolicyName::Thompson => "Bandit with Thompson sampling",
        PolicyName::BeamSearchPlanner => "Beam search",
        PolicyName::Stack => "Nine agents",
        PolicyName::StackRouted => "Nine agents, routed",
        PolicyName::StackReplan => "Nine agents, replanning",
        PolicyName::StackDebate => "Nine agents, debating",
        PolicyName::Oracle => "Oracle (sees the hidden state, slow)",
    }
}

/// Returns the name of a channel.
pub(super) const fn channel(channel: Channel) -> &'static str {
    match channel {
        Channel::SafetyLegality => "Safety and legality",
        Channel::ClinicalImprovement => "Clinical improvement",
        Channel::DosingQuality => "Dosing and handing over",
        Channel::ProcessIntegrity => "Process and integrity",
    }
}

/// Returns the name of a component, and its definition.
pub(super) const fn component(component: Component) -> (&'static str, &'static str) {
    match component {
        Component::FormatCompliance => ("form", "1 in the requested form, .4 repaired, else 0"),
        Component::CandidateAlignment => (
            "alignment",
            "1 if the candidate is shown and the answer does not contradict it, else 0",
        ),
        Component::Legality => ("legality", "1 if the verifier allows it, else 0"),
        Component::SafetyDelta => (
            "safety",
            ".5, more for a true risk below its lowest so far, less for one that rose; at most .25 for keeping a flagged serious pair",
        ),
        Component::BurdenImprovement => (
            "burden",
            ".5, more for a true burden below its lowest so far, less for one that rose",
        ),
        Component::DiseaseStability => (
            "control",
            "How well the conditions are controlled, minus any control that was just lost",
        ),
        Component::DosingQuality => (
            "doses",
            "How well delicate doses lie in their windows; .5 where there are none",
        ),
        Component::AbstentionQuality => (
            "asking",
            "Whether changing, keeping, asking or handing over was right for what is known",
        ),
        Component::Efficiency => ("efficiency", "1 − steps taken / (step budget + 1)"),
        Component::ProcessFidelity => (
            "process",
            "Whether what should be known first was known first",
        ),
        Component::ExplanationGrounding => (
            "rationale",
            "Share of the rationale’s words that appear on the chart; at most .5 unless it names the medicine",
        ),
        Component::AntiCheat => ("honesty", ".999, or .001 for cheating"),
        Component::UncertaintyCalibration => (
            "calibration",
            "1 − distance between the stated confidence and 1 − uncertainty",
        ),
    }
}
