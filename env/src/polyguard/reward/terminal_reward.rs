//! The score of an episode (spec polyguard §7).

use super::components::published_value;
use crate::num::clip01;
use crate::polyguard::model::history::EndReason;
use crate::polyguard::model::state::State;

/// Returns the outcome value of the current state, 0..=1.
pub(crate) fn outcome_value(state: &State) -> f64 {
    let h = &state.hidden;
    let (resolved, all) = h.resolved;
    let share = f64::from(resolved) / f64::from(all.max(1));
    let safer = clip01((h.start.risk - h.risk) / h.start.risk.max(0.1));
    let lost = (h.start.stability - h.stability_target).max(0.0);
    let lighter = clip01(0.5 + (h.start.burden - h.burden) / h.start.burden.max(0.1));
    0.4 * share + 0.3 * safer + 0.2 * clip01(1.0 - 2.0 * lost) + 0.1 * lighter
}

/// Returns the two terms with which `end` enters the score: the factor of the whole score, and the
/// amount that each remaining step counts.
pub(crate) fn score_terms(state: &State, end: EndReason) -> (f64, f64) {
    let good = outcome_value(state);
    match end {
        EndReason::SafeResolution => (1.0, 0.85 + 0.149 * good),
        EndReason::JustifiedReview => (0.7, 0.6),
        EndReason::StepBudgetExhausted => (0.25 + 0.35 * good, 0.0),
        _ => (0.1, 0.001),
    }
}

/// Returns the score of the episode if it ended now in this way.
pub(crate) fn score(state: &State, end: EndReason) -> f64 {
    combine(state, score_terms(state, end), state.hidden.tally.counted)
}

/// Returns the score from the two terms of [`score_terms`] and the sum that the steps count.
pub(super) fn combine(state: &State, (factor, pad): (f64, f64), counted: f64) -> f64 {
    let budget = f64::from(state.observation.budget);
    let left = budget - f64::from(state.observation.step_count);
    published_value(factor * (counted + left * pad) / budget)
}
