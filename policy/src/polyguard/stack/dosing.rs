//! The dosing agent: scores changes of doses by the last measured level.

use sentinel_env::polyguard::{ActArg, ActKind, Candidate, Drug, Medication, Observation};

use super::scores::Scores;

/// Score of a change towards the window; a change away from it scores the negative.
const WEIGHT: f64 = 0.3;

/// The position of a level relative to its window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LevelVsWindow {
    /// The level is too low.
    Below,
    /// The level is within the window.
    Within,
    /// The level is too high.
    Above,
}

/// The report of the dosing agent.
#[derive(Clone, Debug, PartialEq)]
pub struct Dosing {
    /// Medicines with a current level, and its position.
    pub levels: Vec<(Drug, LevelVsWindow)>,
    /// Scores of changes of the doses of these medicines.
    pub scores: Scores,
}

/// Scores changes of doses by the measured levels.
#[must_use]
pub(super) fn score_dose_changes(o: &Observation) -> Dosing {
    let levels = o
        .regimen
        .iter()
        .filter_map(|row| Some((row.drug, level(o, row)?)));
    let levels: Vec<(Drug, LevelVsWindow)> = levels.collect();
    let score = |candidate: &Candidate| {
        let of = |drug| levels.iter().find(|(known, _)| *known == drug);
        let known = candidate.act.drug.and_then(of);
        match (known, up(candidate)) {
            (Some((_, LevelVsWindow::Below)), Some(true))
            | (Some((_, LevelVsWindow::Above)), Some(false)) => WEIGHT,
            (Some(_), Some(_)) => -WEIGHT,
            _ => 0.0,
        }
    };
    Dosing {
        scores: Scores::from_fn(o, score),
        levels,
    }
}

/// Returns the position of the last level; `None` if there is none or if the dose was changed
/// since.
fn level(o: &Observation, row: &Medication) -> Option<LevelVsWindow> {
    let (low, high) = row.window(o.formulary());
    let level = row.level.filter(|_| !row.level_is_old)?;
    Some(if level < low {
        LevelVsWindow::Below
    } else if level > high {
        LevelVsWindow::Above
    } else {
        LevelVsWindow::Within
    })
}

/// Returns `true` if the act raises a dose, `false` if it lowers or pauses it; `None` if it does
/// not change a dose.
fn up(candidate: &Candidate) -> Option<bool> {
    match (candidate.act.kind, candidate.act.arg) {
        (ActKind::AdjustDoseBucket, ActArg::Dose(by)) => Some(by > 0),
        (ActKind::HoldDose, _) => Some(false),
        _ => None,
    }
}
