//! Dosing: whether a change of a dose goes towards the window, by the last level.

use sentinel_env::polyguard::{Arg, Candidate, Drug, Kind, Medication, Observation};

use super::scores::Scores;

/// What a step towards the window is worth; a step away costs as much.
const WEIGHT: f64 = 0.3;

/// Where a level lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Too little.
    Below,
    /// As it should be.
    Within,
    /// Too much.
    Above,
}

/// What levels say.
#[derive(Clone, Debug, PartialEq)]
pub struct Dosing {
    /// Medicines with a level that still holds, and where it lies.
    pub levels: Vec<(Drug, Level)>,
    /// For changes of their doses.
    pub scores: Scores,
}

/// Reads the levels.
#[must_use]
pub(super) fn weigh(o: &Observation) -> Dosing {
    let levels = o
        .regimen
        .iter()
        .filter_map(|row| Some((row.drug, level(o, row)?)));
    let levels: Vec<(Drug, Level)> = levels.collect();
    let score = |candidate: &Candidate| {
        let of = |drug| levels.iter().find(|(known, _)| *known == drug);
        let known = candidate.act.drug.and_then(of);
        match (known, up(candidate)) {
            (Some((_, Level::Below)), Some(true)) | (Some((_, Level::Above)), Some(false)) => {
                WEIGHT
            }
            (Some(_), Some(_)) => -WEIGHT,
            _ => 0.0,
        }
    };
    Dosing {
        scores: Scores::of(o, score),
        levels,
    }
}

/// Returns where the last level lies, if the dose is still the one that was measured.
fn level(o: &Observation, row: &Medication) -> Option<Level> {
    let (low, high) = row.window(o.formulary());
    let level = row.level.filter(|_| !row.level_is_old)?;
    Some(if level < low {
        Level::Below
    } else if level > high {
        Level::Above
    } else {
        Level::Within
    })
}

/// Returns whether an act raises a dose; `None` if it does not change one.
fn up(candidate: &Candidate) -> Option<bool> {
    match (candidate.act.kind, candidate.act.arg) {
        (Kind::AdjustDoseBucket, Arg::Dose(by)) => Some(by > 0),
        (Kind::HoldDose, _) => Some(false),
        _ => None,
    }
}
