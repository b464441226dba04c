//! Actions in words, and warnings about them.

use sentinel_env::polyguard::{
    Act, ActArg, ActKind, Action, DoseBucket, Drug, Exploit, Observation,
};

use super::{display_text, names};
use crate::format::capitalized;

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
        (ActKind::DecomposeNewDrug, _) => "Look up the components of the new product".to_owned(),
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
    format!("{verb} {name} to {}", dose_phrase(to))
}

/// Returns a dose with its article, such as `a low dose`.
fn dose_phrase(bucket: DoseBucket) -> String {
    format!("a {} dose", display_text::dose(bucket))
}

/// Returns an action as a statement about what happened, without saying who acts: `Stop warfarin`
/// becomes `Warfarin is stopped`.
pub(super) fn statement(o: &Observation, action: Action) -> String {
    let text = match action {
        Action::Choose(choice) => o.candidates.get(choice.id).map_or_else(
            || {
                format!(
                    "candidate {}, which is not shown, is chosen",
                    choice.id.number()
                )
            },
            |candidate| act_statement(o, candidate.act),
        ),
        Action::Invalid(_) => "the answer cannot be used".to_owned(),
        Action::Exploit => "the answer is made to confuse its reader".to_owned(),
    };
    capitalized(&text)
}

fn act_statement(o: &Observation, act: Act) -> String {
    let formulary = o.formulary();
    let name = |drug: Drug| names::in_sentence(formulary, drug);
    let drug = act.drug.map(name).unwrap_or_default();
    let is = |participle: &str| format!("{drug} is {participle}");
    match (act.kind, act.arg) {
        (ActKind::KeepRegimen, _) => "the regimen is kept".to_owned(),
        (kind, ActArg::Target(target)) => {
            let cross = act.drug.is_some_and(|drug| drug.needs_taper(formulary));
            let cross = if cross { ", with a taper" } else { "" };
            let change = match kind {
                ActKind::SubstituteWithinClass => "switched to",
                _ => "replaced with",
            };
            is(change) + " " + &name(target) + cross
        }
        (ActKind::AdjustDoseBucket, ActArg::Dose(by)) => {
            let row = act.drug.and_then(|drug| o.regimen.find(drug));
            match row.map(|row| row.bucket) {
                None => format!("the dose of {drug} is adjusted"),
                Some(DoseBucket::Hold) => is("resumed"),
                Some(bucket) => {
                    let to = dose_phrase(bucket.shifted(by).unwrap_or(bucket));
                    let change = if by > 0 { "raised to" } else { "lowered to" };
                    is(change) + " " + &to
                }
            }
        }
        (ActKind::OrderMonitoring, _) if act.drug.is_none() => {
            "all laboratory values are measured".to_owned()
        }
        (ActKind::OrderMonitoring, _) => format!("the level of {drug} is measured"),
        (ActKind::InitiateTaper, _) => is("tapered"),
        (ActKind::ContinueTaper, _) => is("tapered further"),
        (ActKind::FetchExternalEvidence, _) => "evidence is searched for".to_owned(),
        (ActKind::DecomposeNewDrug, _) => {
            "the components of the new product are looked up".to_owned()
        }
        (ActKind::RequestSpecialistReview, _) => "a specialist is asked to review".to_owned(),
        (ActKind::RequestPharmacistReview, _) => "a pharmacist is asked to review".to_owned(),
        (ActKind::HoldDose, _) => is("paused"),
        (ActKind::StopDrug, _) => is("stopped"),
        _ => is("changed"),
    }
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

    /// Statements begin with a capital letter and differ wherever the orders differ.
    #[test]
    fn every_order_has_a_statement() {
        for case in TaskSpec::ALL {
            let episode = Episode::reset(&Setup::new(case, 3));
            let o = episode.observation();
            let mut all: Vec<String> = (o.candidates.iter())
                .map(|candidate| capitalized(&act_statement(o, candidate.act)))
                .collect();
            let count = all.len();
            assert!(
                (all.iter()).all(|text| text.contains(" is ") || text.contains(" are ")),
                "{all:?}"
            );
            all.sort();
            all.dedup();
            assert_eq!(all.len(), count, "{case}: {all:?}");
        }
    }
}
