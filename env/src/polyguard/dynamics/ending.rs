//! The ending of an episode (spec polyguard §7).

use crate::polyguard::model::candidate::Kind;
use crate::polyguard::model::history::{End, Exploit};
use crate::polyguard::model::observation::Observation;
use crate::polyguard::model::state::State;

/// Steps that may be refused, and fallbacks of a critic, that end an episode.
pub const REFUSALS: u8 = 3;
/// Stability below which the conditions are out of control.
const STABILITY_MIN: f64 = 0.25;
/// Uncertainty from which on handing over is right.
pub const UNSURE: f64 = 0.6;
/// The same for a specialist while specialists disagree.
const UNSURE_IN_CONFLICT: f64 = 0.45;

/// What decides besides the state whether the episode ends after a step.
pub(crate) struct Closing {
    /// What was carried out.
    pub(crate) kind: Option<Kind>,
    /// What cheating the step was.
    pub(crate) exploit: Option<Exploit>,
    /// Whether it was a review that was justified.
    pub(crate) justified: bool,
}

/// Returns how the episode ends after a step; `None` if it goes on. The first test that holds decides.
pub(crate) fn termination(state: &State, closing: &Closing) -> Option<End> {
    let (o, h) = (&state.observation, &state.hidden);
    if closing.exploit.is_some() {
        Some(End::ExploitDetection)
    } else if o.invalid_count >= REFUSALS {
        Some(End::RepeatedInvalid)
    } else if h.tally.vetoes >= REFUSALS {
        Some(End::SafetyVeto)
    } else if h.stability < STABILITY_MIN {
        Some(End::Destabilised)
    } else if closing.kind.is_some() && is_safe(state) {
        Some(End::SafeResolution)
    } else if closing.justified {
        Some(End::JustifiedReview)
    } else {
        (o.step_count >= o.budget).then_some(End::StepBudgetExhausted)
    }
}

/// Returns whether everything is put right and nothing was made worse.
fn is_safe(state: &State) -> bool {
    let h = &state.hidden;
    let (resolved, all) = h.resolved;
    resolved == all
        && h.stability_target >= f64::max(0.5, h.start.stability - 0.15)
        && state.untreated() == 0
        && state.serious_pairs() & !h.start.serious == 0
}

/// Returns whether an act of this kind is a review that is justified by what is known.
pub(crate) fn justifies_review(o: &Observation, kind: Kind) -> bool {
    let open_conflict =
        kind == Kind::RequestSpecialistReview && o.conflict && o.uncertainty >= UNSURE_IN_CONFLICT;
    kind.is_review() && (o.uncertainty >= UNSURE || open_conflict) && o.evidence_tried()
}
