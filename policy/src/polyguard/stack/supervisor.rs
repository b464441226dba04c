//! The supervisor: sets a focus for the step.

use sentinel_env::named_enum;
use sentinel_env::polyguard::{Kind, Medication, Observation, UNSURE};

use super::scores::Scores;

/// What an act of the focus is worth.
const BONUS: f64 = 0.2;

named_enum! {
    /// The focus of a step.
    pub enum Focus {
        /// Doses in question, or delicate medicines that were never measured.
        DoseOpt = "DOSE_OPT",
        /// Too much stays uncertain.
        Review = "REVIEW",
        /// The medicines that are taken.
        RegimenOpt = "REGIMEN_OPT",
    }
}

impl Focus {
    /// Returns whether acts of a kind serve it.
    #[must_use]
    pub const fn is_served_by(self, kind: Kind) -> bool {
        match self {
            Self::DoseOpt => matches!(kind, Kind::AdjustDoseBucket | Kind::OrderMonitoring),
            Self::Review => kind.is_review(),
            Self::RegimenOpt => {
                matches!(kind, Kind::DecomposeNewDrug)
                    || kind.is_change() && !matches!(kind, Kind::AdjustDoseBucket)
            }
        }
    }
}

/// The focus of a step.
#[derive(Clone, Debug, PartialEq)]
pub struct Supervision {
    /// What the step should be about.
    pub focus: Focus,
    /// For acts that serve it.
    pub scores: Scores,
}

/// Sets the focus.
#[must_use]
pub(super) fn supervise(o: &Observation, may_hand_over: bool) -> Supervision {
    let delicate = |row: &Medication| {
        let narrow = row
            .drug
            .known()
            .is_some_and(|id| o.formulary().get(id).narrow);
        row.questioned || narrow && row.level.is_none()
    };
    let focus = if o.regimen.iter().any(delicate) {
        Focus::DoseOpt
    } else if may_hand_over && o.uncertainty >= UNSURE && o.evidence_tried() {
        Focus::Review
    } else {
        Focus::RegimenOpt
    };
    let score = |kind| if focus.is_served_by(kind) { BONUS } else { 0.0 };
    Supervision {
        focus,
        scores: Scores::of(o, |candidate| score(candidate.act.kind)),
    }
}
