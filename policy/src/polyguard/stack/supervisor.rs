//! The supervisor: sets the focus of a step.

use sentinel_env::named_enum;
use sentinel_env::polyguard::{ActKind, Medication, Observation, REVIEW_UNCERTAINTY};

use super::scores::Scores;

/// Score of an act that serves the focus.
const BONUS: f64 = 0.2;

named_enum! {
    /// The focus of a step.
    pub enum Focus {
        /// Doses that are in question, or medicines with a narrow window whose level was never
        /// measured.
        DoseOpt = "DOSE_OPT",
        /// Handing over, because too much stays uncertain.
        Review = "REVIEW",
        /// The choice of medicines in the regimen.
        RegimenOpt = "REGIMEN_OPT",
    }
}

impl Focus {
    /// Returns `true` if acts of this kind serve the focus.
    #[must_use]
    pub const fn is_served_by(self, kind: ActKind) -> bool {
        match self {
            Self::DoseOpt => matches!(kind, ActKind::AdjustDoseBucket | ActKind::OrderMonitoring),
            Self::Review => kind.is_review(),
            Self::RegimenOpt => {
                matches!(kind, ActKind::DecomposeNewDrug)
                    || kind.is_change() && !matches!(kind, ActKind::AdjustDoseBucket)
            }
        }
    }
}

/// The report of the supervisor.
#[derive(Clone, Debug, PartialEq)]
pub struct Supervision {
    /// Focus of the step.
    pub focus: Focus,
    /// Scores of the acts that serve the focus.
    pub scores: Scores,
}

/// Sets the focus of the step. It is a review only if `may_hand_over` is `true`.
#[must_use]
pub(super) fn supervise(o: &Observation, may_hand_over: bool) -> Supervision {
    let delicate = |row: &Medication| {
        let narrow = row
            .drug
            .archetype()
            .is_some_and(|id| o.formulary().get(id).narrow);
        row.questioned || narrow && row.level.is_none()
    };
    let focus = if o.regimen.iter().any(delicate) {
        Focus::DoseOpt
    } else if may_hand_over && o.uncertainty >= REVIEW_UNCERTAINTY && o.evidence_tried() {
        Focus::Review
    } else {
        Focus::RegimenOpt
    };
    let score = |kind| if focus.is_served_by(kind) { BONUS } else { 0.0 };
    Supervision {
        focus,
        scores: Scores::from_fn(o, |candidate| score(candidate.act.kind)),
    }
}
