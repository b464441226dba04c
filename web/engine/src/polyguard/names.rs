//! Readable names of medicines, conditions and traits. Codes such as `nsaid_like` appear only in
//! explanations.

use sentinel_env::polyguard::{
    ActKind, ArchetypeId, CandidateId, Condition, Drug, Formulary, Lab, Observation, PRODUCT_NAME,
    Tag, each_archetype,
};
use sentinel_policy::polyguard::Mode;
use sentinel_policy::polyguard::stack::{Focus, Veto};

use super::display_text;

/// Returns the readable name of an archetype, a class or the product; `nsaid_like` becomes `NSAID`.
pub(super) fn readable(code: &str) -> String {
    let stem = code.strip_suffix("_like").unwrap_or(code);
    let name = match stem {
        PRODUCT_NAME => "new product",
        "ace_inhibitor" => "ACE inhibitor",
        "alpha2_relaxant" => "alpha-2 relaxant",
        "arb" => "ARB",
        "beta3_agonist" => "beta-3 agonist",
        "dhp_ccb" => "dihydropyridine",
        "doac" => "DOAC",
        "gastro" => "gastric medicine",
        "k_sparing_diuretic" => "potassium-sparing diuretic",
        "mood_stabiliser" => "mood stabilizer",
        "non_benzo_sleep_support" => "non-benzodiazepine sleep support",
        "non_opioid_analgesic" => "non-opioid analgesic",
        "nsaid" => "NSAID",
        "pde5" | "pde5_inhibitor" => "PDE5 inhibitor",
        "potassium_sparing" => "potassium-sparing",
        "ppi" => "PPI",
        "ras_inhibitor" => "RAS inhibitor",
        "rate_ccb" => "rate-limiting calcium blocker",
        "snri" => "SNRI",
        "ssri" => "SSRI",
        "statin_low_interaction" => "low-interaction statin",
        "topical_nsaid" => "topical NSAID",
        "z_hypnotic" => "Z-hypnotic",
        other => return other.replace('_', " "),
    };
    name.to_owned()
}

/// Returns the readable name of an archetype.
pub(super) fn archetype(formulary: &Formulary, id: ArchetypeId) -> String {
    readable(&formulary.get(id).name)
}

/// Returns the readable name of a medicine.
pub(super) fn drug(formulary: &Formulary, drug: Drug) -> String {
    readable(drug.name(formulary))
}

/// Returns the name of a medicine within a sentence; the product gets an article.
pub(super) fn in_sentence(formulary: &Formulary, medicine: Drug) -> String {
    match medicine {
        Drug::Known(_) => drug(formulary, medicine),
        Drug::Product => "the new product".to_owned(),
    }
}

/// Returns two names joined by a plus sign.
pub(super) fn both(formulary: &Formulary, a: ArchetypeId, b: ArchetypeId) -> String {
    format!("{} + {}", archetype(formulary, a), archetype(formulary, b))
}

/// Returns the name of a condition.
pub(super) const fn condition(condition: Condition) -> &'static str {
    match condition {
        Condition::ClotRisk => "risk of clots",
        Condition::IschaemicHeart => "ischemic heart disease",
        Condition::Neuropathy => "nerve pain",
        Condition::Sleep => "sleep problems",
        Condition::Cognition => "failing memory",
        Condition::Bipolar => "bipolar disorder",
        Condition::HeartFailure => "heart failure",
        Condition::Lipid => "high lipids",
        Condition::Vascular => "vascular disease",
        Condition::Bladder => "overactive bladder",
        Condition::Spasm => "muscle spasms",
        // One word each.
        other => other.name(),
    }
}

/// Returns the conditions that the known parts of a medicine treat, separated by commas.
pub(super) fn treated(o: &Observation, drug: Drug) -> String {
    let parts = each_archetype(o.known_archetypes(drug));
    let mut names = Vec::new();
    for treated in parts.flat_map(|id| o.formulary().get(id).treats.iter()) {
        if !names.contains(&condition(treated)) {
            names.push(condition(treated));
        }
    }
    match names.is_empty() {
        true => "unknown conditions".to_owned(),
        false => names.join(", "),
    }
}

/// Returns a trait in words.
pub(super) const fn tag(tag: Tag) -> &'static str {
    match tag {
        Tag::Bleeding => "raises the risk of bleeding",
        Tag::RespiratoryDepression => "weakens breathing",
        Tag::Serotonergic => "acts on serotonin",
        Tag::Anticholinergic => "anticholinergic",
        Tag::Qt => "prolongs the QT interval",
        Tag::Bradycardia => "slows the heart",
        Tag::Hyperkalaemia => "raises potassium",
        Tag::Hypotension => "lowers blood pressure",
        Tag::CypInh => "slows the breakdown of others",
        Tag::CypInd => "speeds up the breakdown of others",
        Tag::CypSub => "its breakdown can be slowed or sped up",
        Tag::RenalClear => "lets the kidney clear less",
        Tag::RenalInjury => "strains the kidney",
        Tag::RenalSub => "cleared by the kidney",
        Tag::Sedation => "sedates",
        Tag::Falls => "raises the risk of falls",
    }
}

/// Returns the publicly known traits that suggest an interaction of two archetypes.
pub(super) fn suspicion(formulary: &Formulary, a: ArchetypeId, b: ArchetypeId) -> String {
    let (first, second) = (formulary.get(a), formulary.get(b));
    // Traits that do not suggest an interaction when two medicines share them.
    let silent = |shared: &Tag| {
        matches!(
            shared,
            Tag::CypInh
                | Tag::CypInd
                | Tag::CypSub
                | Tag::RenalClear
                | Tag::RenalInjury
                | Tag::RenalSub
                | Tag::Sedation
                | Tag::Falls
        )
    };
    let shared = first.tags.intersection(second.tags);
    let shared: Vec<&str> = shared.iter().filter(|tag| !silent(tag)).map(tag).collect();
    if !shared.is_empty() {
        return format!("both: {}", shared.join(", "));
    }
    let enzyme = |by: Tag, on: Tag| {
        (first.tags.contains(by) && second.tags.contains(on))
            || (second.tags.contains(by) && first.tags.contains(on))
    };
    if enzyme(Tag::CypInh, Tag::CypSub) {
        "one slows the breakdown of the other".to_owned()
    } else if enzyme(Tag::CypInd, Tag::CypSub) {
        "one speeds up the breakdown of the other".to_owned()
    } else {
        "one strains the kidney that clears the other".to_owned()
    }
}

/// Returns what is publicly known of an archetype, in sentences.
pub(super) fn traits(formulary: &Formulary, id: ArchetypeId) -> String {
    let known = formulary.get(id);
    let treats: Vec<&str> = known.treats.iter().map(condition).collect();
    let mut text = format!(
        "A made-up archetype (code {}) of class {}, for {}.",
        known.name,
        readable(&known.class),
        treats.join(", ")
    );
    if !known.tags.is_empty() {
        let tags: Vec<&str> = known.tags.iter().map(tag).collect();
        text.push_str(&format!(" Traits: {}.", tags.join(", ")));
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

/// Replaces the codes in a text of the policies by readable names.
pub(super) fn plain(formulary: &Formulary, text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    while let Some(first) = rest.chars().next() {
        let end = rest.find(|c| is_word(c) != is_word(first));
        let (part, left) = rest.split_at(end.unwrap_or(rest.len()));
        out.push_str(&translated(formulary, part).unwrap_or_else(|| part.to_owned()));
        rest = left;
    }
    out
}

fn translated(formulary: &Formulary, word: &str) -> Option<String> {
    if word == PRODUCT_NAME || formulary.find(word).is_some() {
        return Some(readable(word));
    }
    if let Some(id) = CandidateId::parse(word) {
        return Some(format!("candidate {}", id.number()));
    }
    if let Some(kind) = ActKind::parse(word) {
        return Some(display_text::kind(kind).0.to_lowercase());
    }
    if let Some(lab) = Lab::parse(word) {
        return Some(display_text::lab(lab).0.to_owned());
    }
    let words = if let Some(focus) = Focus::parse(word) {
        match focus {
            Focus::DoseOpt => "focus on doses",
            Focus::Review => "focus on handing over",
            Focus::RegimenOpt => "focus on the regimen",
        }
    } else if let Some(veto) = Veto::parse(word) {
        match veto {
            Veto::Illegal => "not allowed",
            Veto::RaisesRisk => "raises the estimated risk",
            Veto::LeavesUntreated => "leaves a condition untreated",
        }
    } else {
        match Mode::parse(word)? {
            Mode::SequentialPipeline => "one after the other",
            Mode::SupervisorRouted => "routed by the supervisor",
            Mode::ReplanOnVeto => "plans again after a veto",
            Mode::LightweightDebate => "by debate",
        }
    };
    Some(words.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_readable_and_unique() {
        for formulary in [Formulary::extended(), Formulary::reference()] {
            let mut names: Vec<String> =
                formulary.ids().map(|id| archetype(formulary, id)).collect();
            names.push(readable(PRODUCT_NAME));
            assert!(names.iter().all(|name| !name.contains('_')), "{names:?}");
            let all = names.len();
            names.sort();
            names.dedup();
            assert_eq!(names.len(), all, "{names:?}");
            for id in formulary.ids() {
                let class = readable(&formulary.get(id).class);
                assert!(!class.contains('_'), "{class}");
            }
        }
        assert!(Condition::ALL.iter().all(|c| !condition(*c).contains('_')));
    }

    #[test]
    fn codes_of_policies_are_translated() {
        let formulary = Formulary::extended();
        let text = "STOP_DRUG nsaid_like (cand_03): raises_risk, egfr of new_drug unknown";
        assert_eq!(
            plain(formulary, text),
            "stop NSAID (candidate 3): raises the estimated risk, eGFR of new product unknown"
        );
    }

    /// Suspicion has a reason exactly where the world suspects a pair.
    #[test]
    fn suspected_pairs_have_a_reason() {
        let formulary = Formulary::extended();
        for a in formulary.ids() {
            for b in each_archetype(formulary.suspects(a)) {
                let (first, second) = (formulary.get(a), formulary.get(b));
                let reason = suspicion(formulary, a, b);
                let kidney =
                    |one: &sentinel_env::polyguard::Archetype,
                     other: &sentinel_env::polyguard::Archetype| {
                        one.tags.contains(Tag::RenalSub)
                            && (other.tags.contains(Tag::RenalClear)
                                || other.tags.contains(Tag::RenalInjury))
                    };
                assert!(
                    !reason.contains("kidney") || kidney(first, second) || kidney(second, first),
                    "{} {} {reason}",
                    first.name,
                    second.name
                );
            }
        }
    }
}
