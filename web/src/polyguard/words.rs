//! The vocabularies of the world in words for a person who has never met them.

use sentinel_env::polyguard::{
    Bucket, Channel, Component, End, Exploit, Formulary, Kind, Lab, SetRule, Severity,
    SubEnvironment, Violation,
};
use sentinel_policy::polyguard::PolicyName;

/// A name of the world with spaces between its words: `heart_failure` reads `heart failure`.
pub(super) fn spaced(name: &str) -> String {
    name.replace('_', " ")
}

/// What a sub-environment is called, and what must be put right in it.
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
            "Sets of medicines break a rule. Take out what breaks it with the least loss for the patient's conditions.",
        ),
        SubEnvironment::PrecisionDosing => (
            "Precise dosing",
            "A dose may be too high or too low for this patient. Measure a level, move the dose, and keep it once it fits.",
        ),
        SubEnvironment::Deprescribing => (
            "Deprescribing",
            "The reason for some medicines is under review. Find out which are no longer needed, and taper those only.",
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
            "A product of two unknown components is taken. Look up what it is made of, then keep only what is safe.",
        ),
    }
}

/// What a kind of act is called on a button, and what it does.
pub(super) const fn kind(kind: Kind) -> (&'static str, &'static str) {
    match kind {
        Kind::KeepRegimen => (
            "Keep",
            "changes nothing; as the last thing left it signs off",
        ),
        Kind::StopDrug => ("Stop", "out at once"),
        Kind::SubstituteWithinClass => ("Switch", "a listed substitute takes its place"),
        Kind::RecommendAlternative => (
            "Replace",
            "another medicine for the same condition takes its place",
        ),
        Kind::AdjustDoseBucket => ("Adjust", "moves the dose by one level"),
        Kind::InitiateTaper => (
            "Begin taper",
            "one level down, to be continued until it is out",
        ),
        Kind::ContinueTaper => (
            "Go on tapering",
            "one level further down; below low it is out",
        ),
        Kind::HoldDose => ("Pause", "not taken until it is resumed"),
        Kind::OrderMonitoring => ("Measure", "finds something out, changes nothing"),
        Kind::FetchExternalEvidence => (
            "Look for evidence",
            "may find a missing value, whether a medicine is still needed, or a pair that is not flagged",
        ),
        Kind::DecomposeNewDrug => ("Look into", "tells what the product is made of"),
        Kind::RequestSpecialistReview => (
            "Ask a specialist",
            "settles a conflict; ends the episode well only when too little is known",
        ),
        Kind::RequestPharmacistReview => (
            "Ask a pharmacist",
            "ends the episode well only when too little is known",
        ),
    }
}

/// How a dose is called, and its pips.
pub(super) const fn dose(bucket: Bucket) -> (&'static str, &'static str) {
    match bucket {
        Bucket::Hold => ("paused", "○○○"),
        Bucket::Low => ("low", "●○○"),
        Bucket::Medium => ("medium", "●●○"),
        Bucket::High => ("high", "●●●"),
    }
}

/// What a severity means.
pub(super) const fn severity(severity: Severity) -> &'static str {
    match severity {
        Severity::Contraindicated => "never together; weighs .90 in the risk",
        Severity::Major => "a serious interaction; weighs .50 in the risk",
        Severity::Moderate => "worth knowing, no reason to act alone; weighs .15 in the risk",
    }
}

/// What a rule about sets says.
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

/// What a laboratory value is called, its unit, and what it tells.
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

/// Why an answer was refused.
pub(super) const fn violation(why: Violation) -> &'static str {
    match why {
        Violation::UnknownCandidate => "no such candidate is shown",
        Violation::CandidateMismatch => "what was stated is not what the id stands for",
        Violation::TargetNotActive => "the medicine is not in the regimen",
        Violation::AbruptStop => "the medicine must be tapered, not stopped at once",
        Violation::DoseOutOfRange => "there is no such dose",
        Violation::TaperState => "the taper has not begun, or has begun already",
        Violation::DuplicateDrug => "the new medicine is taken already",
        Violation::CreatesMajorPair => "the new medicine makes a known serious pair",
        Violation::RenalUnsafe => "the kidney is known not to allow the new medicine",
        Violation::NothingToDecompose => "there is no product of unknown components",
        Violation::NotAnAlternative => "the new medicine does not treat what the old one treats",
        Violation::Empty => "the answer says nothing",
        Violation::NoCandidate => "the answer names no candidate",
        Violation::BadId => "the answer names a candidate in a form that does not exist",
        Violation::Ambiguous => "the answer names several candidates",
        Violation::UnknownField => "the answer has a field that there is not",
        Violation::BadConfidence => "the confidence is not a number from 0 to 1",
        Violation::TooLong => "the answer is too long",
        Violation::RegimenFull => "the regimen has no room for both during the taper",
    }
}

/// What counts as cheating.
pub(super) const fn exploit(exploit: Exploit) -> &'static str {
    match exploit {
        Exploit::ActionLoop => "the same act more than three times in a row",
        Exploit::KeepAbuse => "keeping in more than 60 % of the steps, from the fourth on",
        Exploit::ReviewAbuse => "asking for review twice or more, and in over half of the steps",
        Exploit::CandidateMismatch => "stating another act than the chosen one",
        Exploit::IllegalChoice => "choosing twice what is not shown",
        Exploit::NoopHighRisk => "keeping twice in a row while a serious pair is flagged",
        Exploit::FailedRetry => "asking again for what brought nothing, with nothing learned since",
        Exploit::ParserExploit => "an answer made to confuse the reader",
    }
}

/// How an episode ended, and what that makes of the score.
pub(super) const fn end(end: End) -> (&'static str, &'static str) {
    match end {
        End::SafeResolution => (
            "safe resolution",
            "Everything was put right, nothing was made worse: the verifier says so. Steps that were not needed count nearly as full ones.",
        ),
        End::JustifiedReview => (
            "justified review",
            "Handed over with good reason: evidence was tried, too much stayed unknown. The score counts .7.",
        ),
        End::StepBudgetExhausted => (
            "no step left",
            "The steps ran out before everything was put right. The score counts .25 + .35 × how good the outcome is.",
        ),
        End::ExploitDetection => (
            "cheating",
            "The anti-cheat ended the episode. The score counts a tenth.",
        ),
        End::RepeatedInvalid => (
            "three refusals",
            "Three answers were refused. The score counts a tenth.",
        ),
        End::SafetyVeto => (
            "three vetoes",
            "A critic had to step in three times. The score counts a tenth.",
        ),
        End::Destabilised => (
            "out of control",
            "The patient's conditions are out of control. The score counts a tenth.",
        ),
        End::StepTimeout | End::WallClockTimeout => {
            ("too late", "The clock ran out. The score counts a tenth.")
        }
    }
}

/// What a person calls a policy.
pub(super) const fn player(policy: PolicyName) -> &'static str {
    match policy {
        PolicyName::Random => "Random",
        PolicyName::NoChange => "No change",
        PolicyName::GreedyRegimen => "Least estimated risk",
        PolicyName::RulesOnly => "Plain rules",
        // Not played by the page.
        PolicyName::Imitation | PolicyName::ContextualBandit | PolicyName::Thompson => "Fitted",
        PolicyName::BeamSearchPlanner => "Beam search",
        PolicyName::Stack => "Nine agents",
        PolicyName::StackRouted => "Nine agents, routed",
        PolicyName::StackReplan => "Nine agents, replanning",
        PolicyName::StackDebate => "Nine agents, debating",
        PolicyName::Oracle => "Oracle (sees the truth, slow)",
    }
}

/// What a channel is called.
pub(super) const fn channel(channel: Channel) -> &'static str {
    match channel {
        Channel::SafetyLegality => "Safety and legality",
        Channel::ClinicalImprovement => "Clinical improvement",
        Channel::DosingQuality => "Dosing and handing over",
        Channel::ProcessIntegrity => "Process and integrity",
    }
}

/// What a component is called, and how it is reckoned.
pub(super) const fn component(component: Component) -> (&'static str, &'static str) {
    match component {
        Component::FormatCompliance => ("form", "1 in the asked form, .4 repaired, else 0"),
        Component::CandidateAlignment => (
            "alignment",
            "1 if the candidate is shown and what is stated of it agrees, else 0",
        ),
        Component::Legality => ("legality", "1 if the verifier allows it, else 0"),
        Component::SafetyDelta => (
            "safety",
            ".5, more for a true risk below its lowest so far, less for one that rose; at most .25 for keeping a flagged serious pair",
        ),
        Component::BurdenImprovement => ("burden", "The same for the burden"),
        Component::DiseaseStability => (
            "control",
            "How well the conditions are controlled, less what was just lost of it",
        ),
        Component::DosingQuality => (
            "doses",
            "How well delicate doses lie in their windows; .5 where there are none",
        ),
        Component::AbstentionQuality => (
            "asking",
            "Whether changing, keeping, asking or handing over was right for what is known",
        ),
        Component::Efficiency => ("efficiency", "1 − steps taken / (steps there are + 1)"),
        Component::ProcessFidelity => (
            "process",
            "Whether what should be known first was known first",
        ),
        Component::ExplanationGrounding => (
            "rationale",
            "Share of the rationale’s words that stand on the chart; at most .5 unless it names the medicine",
        ),
        Component::AntiCheat => ("honesty", ".999, or .001 for cheating"),
        Component::UncertaintyCalibration => (
            "calibration",
            "1 − distance between the stated confidence and 1 − uncertainty",
        ),
    }
}

/// What is publicly known of a medicine, in a sentence.
pub(super) fn traits(formulary: &Formulary, id: sentinel_env::polyguard::ArchetypeId) -> String {
    let known = formulary.get(id);
    let list = |words: Vec<&str>| spaced(&words.join(", "));
    let mut text = format!(
        "An archetype of class {}, for {}.",
        spaced(&known.class),
        list(known.treats.iter().map(|c| c.name()).collect())
    );
    if !known.tags.is_empty() {
        let tags = list(known.tags.iter().map(|tag| tag.name()).collect());
        text.push_str(&format!(" Traits: {tags}."));
    }
    let mut add = |holds: bool, words: &str| {
        if holds {
            text.push_str(words);
        }
    };
    add(known.cns, " Acts on the central nervous system.");
    add(known.taper, " Must be tapered, not stopped at once.");
    add(
        known.narrow,
        " Narrow window between too little and too much.",
    );
    if known.acb > 0 {
        text.push_str(&format!(" Anticholinergic points: {}.", known.acb));
    }
    if let Some(below) = known.renal_below {
        text.push_str(&format!(" Unsafe below eGFR {below:.0}."));
    }
    text
}
