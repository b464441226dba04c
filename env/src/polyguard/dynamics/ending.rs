//! The end of an episode (spec polyguard §7).

use crate::polyguard::model::candidate::ActKind;
use crate::polyguard::model::history::{EndReason, Exploit};
use crate::polyguard::model::observation::Observation;
use crate::polyguard::model::state::State;

/// Number of refused steps, or of a critic's fallbacks, that ends an episode.
pub const REFUSALS_MAX: u8 = 3;
/// Stability below which the episode ends as destabilised.
const STABILITY_MIN: f64 = 0.25;
/// Uncertainty at or above which a review is justified.
pub const REVIEW_UNCERTAINTY: f64 = 0.6;
/// Uncertainty at or above which a specialist review of an open conflict is justified.
const UNSURE_IN_CONFLICT: f64 = 0.45;

/// The facts about a step, besides the state, that decide whether the episode ends.
pub(crate) struct StepFacts {
    /// The kind of act that was carried out, or `None` if the step was refused.
    pub(crate) kind: Option<ActKind>,
    /// The exploit that the step was found to be, if any.
    pub(crate) exploit: Option<Exploit>,
    /// `true` if the step was a justified review.
    pub(crate) justified: bool,
}

/// Returns the reason why the episode ends after a step, or `None` if it continues. The first
/// condition that holds decides.
pub(crate) fn termination(state: &State, closing: &StepFacts) -> Option<EndReason> {
    let (o, h) = (&state.observation, &state.hidden);
    if closing.exploit.is_some() {
        Some(EndReason::ExploitDetection)
    } else if o.invalid_count >= REFUSALS_MAX {
        Some(EndReason::RepeatedInvalid)
    } else if h.tally.vetoes >= REFUSALS_MAX {
        Some(EndReason::SafetyVeto)
    } else if h.stability < STABILITY_MIN {
        Some(EndReason::Destabilised)
    } else if closing.kind.is_some() && is_safe(state) {
        Some(EndReason::SafeResolution)
    } else if closing.justified {
        Some(EndReason::JustifiedReview)
    } else {
        (o.step_count >= o.budget).then_some(EndReason::StepBudgetExhausted)
    }
}

/// Returns `true` if all issues are resolved and nothing else was made worse.
fn is_safe(state: &State) -> bool {
    let h = &state.hidden;
    let (resolved, all) = h.resolved;
    resolved == all
        && h.stability_target >= f64::max(0.5, h.start.stability - 0.15)
        && state.count_untreated() == 0
        && state.serious_pairs() & !h.start.serious == 0
}

/// Returns `true` if an act of this kind is a review that the observation justifies.
pub(crate) fn justifies_review(o: &Observation, kind: ActKind) -> bool {
    let open_conflict = kind == ActKind::RequestSpecialistReview
        && o.conflict
        && o.uncertainty >= UNSURE_IN_CONFLICT;
    kind.is_review() && (o.uncertainty >= REVIEW_UNCERTAINTY || open_conflict) && o.evidence_tried()
}
