//! Actions in words, and warnings about them.

use sentinel_env::polyguard::{
    Act, ActArg, ActKind, Action, DoseBucket, Drug, Exploit, Observation,
};

use super::{display_text, names};

/// Returns an act as an order, such as `Replace warfarin with DOAC`.
pub(super) fn describe_act(o: &Observation, act: Act) -> String {
    let formulary = o.formulary();
    let name = |drug: Drug| names::in_sentence(formulary, drug);
    let drug = act.drug.map(name).unwrap_or_default();
    let verb = display_text::kind(act.kind).0;
    match (act.kind, act.arg) {
        (ActKind::KeepRegimen, _) => "Keep the regimen".to_owned(),
        (_, ActArg::Target(target)) => {
            // What must be tapered stays at a low dose while the new one comes in.
            let cross = act.drug.is_some_and(|drug| drug.needs_taper(formulary));
            let cross = if cross { ", with a taper" } else { "" };
            let by = match act.kind {
                ActKind::SubstituteWithinClass => "to",
                _ => "with",
            };
            format!("{verb} {drug} {by} {}{cross}", name(target))
        }
        (ActKind::AdjustDoseBucket, ActArg::Dose(by)) => describe_dose(o, act.drug, by, &drug),
        (ActKind::OrderMonitoring, _) if act.drug.is_none() => {
            "Measure all laboratory values".to_owned()
        }
        (ActKind::OrderMonitoring, _) => format!("Measure the level of {drug}"),
        (ActKind::InitiateTaper, _) => format!("Taper {drug}"),
        (ActKind::ContinueTaper, _) => format!("Taper {drug} further"),
        (ActKind::FetchExternalEvidence, _) => "Search for evidence".to_owned(),
        (ActKind::DecomposeNewDrug, _) => "Look up what the new product is made of".to_owned(),
        (ActKind::RequestSpecialistReview, _) => "Ask a specialist to review".to_owned(),
        (ActKind::RequestPharmacistReview, _) => "Ask a pharmacist to review".to_owned(),
        _ => format!("{verb} {drug}"),
    }
}

fn describe_dose(o: &Observation, drug: Option<Drug>, by: i8, name: &str) -> String {
    let row = drug.and_then(|drug| o.regimen.find(drug));
    let Some(row) = row else {
        return format!("Adjust the dose of {name}");
    };
    if row.bucket == DoseBucket::Hold {
        return format!("Resume {name}");
    }
    let to = row.bucket.shifted(by).unwrap_or(row.bucket);
    let verb = if by > 0 { "Raise" } else { "Lower" };
    format!("{verb} {name} to {}", display_text::dose(to))
}

/// Returns an action in a few words.
pub(super) fn describe_action(o: &Observation, action: Action) -> String {
    match action {
        Action::Choose(choice) => o.candidates.get(choice.id).map_or_else(
            || {
                format!(
                    "Choose candidate {}, which is not shown",
                    choice.id.number()
                )
            },
            |candidate| describe_act(o, candidate.act),
        ),
        Action::Invalid(why) => {
            format!("Give an unusable answer: {}", display_text::violation(why))
        }
        Action::Exploit => "Give an answer made to confuse its reader".to_owned(),
    }
}

/// Returns an order as a statement about the agent: `Stop warfarin` becomes `The agent stops
/// warfarin`.
pub(super) fn third_person(order: &str) -> String {
    let (verb, rest) = order.split_once(' ').unwrap_or((order, ""));
    let verb = verb.to_lowercase();
    let ending = if verb.ends_with("ch") { "es" } else { "s" };
    format!("The agent {verb}{ending} {rest}")
}

/// Returns a sentence about what would go wrong with a shown act; empty if nothing is known.
pub(super) fn act_warning(o: &Observation, act: Act) -> String {
    o.predicted_exploit(act).map_or_else(String::new, cheating)
}

/// Returns a sentence about what would go wrong with an action; empty if nothing is known.
pub(super) fn warning(o: &Observation, action: Action) -> String {
    match action {
        Action::Choose(choice) => match o.candidates.get(choice.id) {
            None => "It would be refused: no such candidate is shown.".to_owned(),
            Some(candidate) if !choice.claim.agrees(candidate.act) => {
                cheating(Exploit::CandidateMismatch)
            }
            Some(candidate) => act_warning(o, candidate.act),
        },
        Action::Invalid(why) => format!("It would be refused: {}.", display_text::violation(why)),
        Action::Exploit => cheating(Exploit::ParserExploit),
    }
}

fn cheating(why: Exploit) -> String {
    format!(
        "This would end the episode as cheating: {}.",
        display_text::exploit(why).1
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use sentinel_env::Environment as _;
    use sentinel_env::polyguard::{Episode, Setup, TaskSpec};

    /// Every act of every cell has words of its own: no two candidates of a step read alike.
    #[test]
    fn every_candidate_has_words_of_its_own() {
        for case in TaskSpec::ALL {
            for seed in 0..6 {
                let episode = Episode::reset(&Setup::new(case, seed));
                let o = episode.observation();
                let candidates = o.candidates.iter();
                let mut orders: Vec<String> = candidates.map(|c| describe_act(o, c.act)).collect();
                assert!(
                    orders.iter().all(|order| !order.contains('_')),
                    "{orders:?}"
                );
                let all = orders.len();
                orders.sort();
                orders.dedup();
                assert_eq!(orders.len(), all, "{case} {seed}: {orders:?}");
            }
        }
    }

    #[test]
    fn orders_become_statements() {
        assert_eq!(third_person("Stop NSAID"), "The agent stops NSAID");
        let switch = third_person("Switch SSRI to SNRI, with a taper");
        assert_eq!(switch, "The agent switches SSRI to SNRI, with a taper");
    }
}
