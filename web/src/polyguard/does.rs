//! What a candidate does, in words.

use sentinel_env::polyguard::{Act, Arg, Bucket, Drug, Formulary, Kind, Observation};

use super::words;

/// An act as an order: `Replace warfarin_like by doac_like`.
pub(super) fn does(o: &Observation, act: Act) -> String {
    let formulary = o.formulary();
    let name = |drug: Drug| drug.name(formulary).to_owned();
    let drug = act.drug.map(name).unwrap_or_default();
    let word = words::kind(act.kind).0;
    match (act.kind, act.arg) {
        (Kind::KeepRegimen, _) => "Keep the regimen".to_owned(),
        (_, Arg::Target(target)) => {
            // What must be tapered stays at a low dose while the new one comes in.
            let cross = act.drug.is_some_and(|drug| drug.needs_taper(formulary));
            let cross = if cross { ", tapering it off" } else { "" };
            let by = match act.kind {
                Kind::SubstituteWithinClass => "to",
                _ => "by",
            };
            format!("{word} {drug} {by} {}{cross}", name(target))
        }
        (Kind::AdjustDoseBucket, Arg::Dose(by)) => adjusts(o, act.drug, by, &drug),
        (Kind::OrderMonitoring, _) if act.drug.is_none() => {
            "Order all laboratory values".to_owned()
        }
        (Kind::OrderMonitoring, _) => format!("Measure the level of {drug}"),
        (Kind::InitiateTaper, _) => format!("Begin to taper {drug}"),
        (Kind::ContinueTaper, _) => format!("Go on tapering {drug}"),
        (Kind::DecomposeNewDrug, _) => format!("Look up what {} is made of", product(formulary)),
        _ if act.drug.is_none() => word.to_owned(),
        _ => format!("{word} {drug}"),
    }
}

fn adjusts(o: &Observation, drug: Option<Drug>, by: i8, name: &str) -> String {
    let row = drug.and_then(|drug| o.regimen.find(drug));
    let Some(row) = row else {
        return format!("Adjust the dose of {name}");
    };
    if row.bucket == Bucket::Hold {
        return format!("Resume {name}");
    }
    let to = row.bucket.moved(by).unwrap_or(row.bucket);
    let way = if by > 0 { "Raise" } else { "Lower" };
    format!("{way} {name} to {}", words::dose(to).0)
}

fn product(formulary: &Formulary) -> &str {
    Drug::Product.name(formulary)
}

#[cfg(test)]
mod tests {
    use super::*;
    use sentinel_env::Environment;
    use sentinel_env::polyguard::{Episode, Setup, TaskSpec};

    /// Every act of every cell is told in words of its own, and no two candidates of a step read alike.
    #[test]
    fn every_candidate_has_words_of_its_own() {
        for case in TaskSpec::ALL {
            for seed in 0..6 {
                let episode = Episode::reset(&Setup::new(case, seed));
                let o = episode.observation();
                let mut told: Vec<String> = o.candidates.iter().map(|c| does(o, c.act)).collect();
                let all = told.len();
                told.sort();
                told.dedup();
                assert_eq!(told.len(), all, "{case} {seed}: {told:?}");
            }
        }
    }
}
