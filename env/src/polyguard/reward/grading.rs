//! Grading of a step: each component is computed from the state before it and its effects (spec
//! polyguard §8).

use super::verdict::Verdict;
use crate::num::clip01;
use crate::polyguard::dynamics::{REVIEW_UNCERTAINTY, justifies_review};
use crate::polyguard::model::action::{Action, Choice, Confidence};
use crate::polyguard::model::candidate::{Act, ActKind};
use crate::polyguard::model::formulary::Formulary;
use crate::polyguard::model::rationale_terms::RationaleTerms;
use crate::polyguard::model::regimen::Medication;
use crate::polyguard::model::state::State;
use crate::polyguard::model::step::{COMPONENT_COUNT, Component, Reward};

/// Confidence that is assumed if an answer states none.
const DEFAULT_CONFIDENCE: f64 = 0.5;

/// The state before a step, for comparison.
pub(crate) struct StateBefore {
    pub(crate) risk: f64,
    pub(crate) burden: f64,
    pub(crate) stability: f64,
    pub(crate) resolved: u8,
    best_risk: f64,
    best_burden: f64,
    uncertainty: f64,
    /// `true` if the act keeps the regimen while a serious pair is flagged.
    keeps_serious_flag: bool,
    /// `true` if the act is a justified review.
    pub(crate) justified: bool,
    reviewed: bool,
    product_unknown: bool,
    egfr_known: bool,
    /// The regimen's row for the act's medicine, if any.
    row: Option<Medication>,
    in_sight: RationaleTerms,
}

impl StateBefore {
    /// Records the state before a step that answers with `action`, which stands for `act`.
    pub(crate) fn new(state: &State, action: Action, act: Option<Act>) -> Self {
        let (o, h) = (&state.observation, &state.hidden);
        let choice = action.choice();
        // Only a rationale that cites something is compared with the terms in sight.
        let cited = choice.filter(|choice| !choice.cites.is_empty());
        let kind = act.map(|act| act.kind);
        let drug = act.and_then(|act| act.drug);
        Self {
            risk: h.risk,
            burden: h.burden,
            stability: h.stability,
            resolved: h.resolved.0,
            best_risk: h.best_risk,
            best_burden: h.best_burden,
            uncertainty: o.uncertainty,
            keeps_serious_flag: kind == Some(ActKind::KeepRegimen) && o.has_serious_flag(),
            justified: kind.is_some_and(|kind| justifies_review(o, kind)),
            reviewed: o.history.count(ActKind::is_review) > 0,
            product_unknown: o.has_unknown_product(),
            egfr_known: o.egfr().is_some(),
            row: drug.and_then(|drug| o.regimen.find(drug)).copied(),
            in_sight: cited.map_or_else(RationaleTerms::default, |_| {
                RationaleTerms::from_observation(o)
            }),
        }
    }
}

/// Returns the reward of a step that was taken. `gained` is `true` if it brought information.
pub(crate) fn grade(
    state: &State,
    action: Action,
    verdict: &Verdict,
    gained: bool,
    before: &StateBefore,
) -> Reward {
    let (o, h) = (&state.observation, &state.hidden);
    let (act, honest) = (verdict.act, verdict.is_honest());
    let mut raw = [0.0; COMPONENT_COUNT];
    let mut set = |component: Component, value: f64| raw[component as usize] = value;
    let choice = action.choice();
    let kind = verdict.carried_out().map(|act| act.kind);
    let yes = |holds: bool| if holds { 1.0 } else { 0.0 };
    // A form that names no shown candidate counts as none (spec polyguard §9.1).
    let form = choice.filter(|_| act.is_some());
    let form = form.map_or(0.0, |choice| if choice.repaired { 0.4 } else { 1.0 });
    set(Component::FormatCompliance, form);
    set(Component::CandidateAlignment, yes(honest));
    set(Component::Legality, yes(honest));
    let kept_flag = honest && before.keeps_serious_flag;
    let safety = improvement(before.best_risk, before.risk, h.risk);
    set(
        Component::SafetyDelta,
        if kept_flag { safety.min(0.25) } else { safety },
    );
    set(
        Component::BurdenImprovement,
        improvement(before.best_burden, before.burden, h.burden),
    );
    let drop = (before.stability - h.stability).max(0.0);
    set(Component::DiseaseStability, h.stability - drop);
    set(Component::DosingQuality, dosing_quality(state));
    let steps = f64::from(o.step_count);
    set(
        Component::Efficiency,
        1.0 - steps / (f64::from(o.budget) + 1.0),
    );
    if let (Some(kind), Some(choice)) = (kind, choice) {
        set(
            Component::AbstentionQuality,
            abstention(kind, gained, before),
        );
        set(
            Component::ProcessFidelity,
            process(state.formulary, kind, gained, before),
        );
        set(
            Component::ExplanationGrounding,
            grounding(state.formulary, &choice, act, before),
        );
    }
    set(Component::AntiCheat, yes(verdict.exploit.is_none()));
    let stated = choice.and_then(|choice| choice.confidence);
    let confidence = stated.map_or(DEFAULT_CONFIDENCE, Confidence::value);
    set(
        Component::UncertaintyCalibration,
        calibration(confidence, before.uncertainty),
    );
    Reward::from_components(raw, honest)
}

/// Grades a decrease below the best value so far; returning to a value that was reached before
/// earns nothing.
fn improvement(best: f64, before: f64, after: f64) -> f64 {
    let gain = if after < best {
        best - after
    } else if after > before {
        before - after
    } else {
        0.0
    };
    0.5 + 0.5 * gain / before.max(0.1)
}

/// Grades how appropriate a review, an information act, keeping or a change was, given the
/// uncertainty.
fn abstention(kind: ActKind, gained: bool, before: &StateBefore) -> f64 {
    let unsure = before.uncertainty >= REVIEW_UNCERTAINTY;
    if kind.is_review() {
        match (before.reviewed, unsure || before.justified) {
            (true, _) => 0.1,
            (false, true) => 0.9,
            (false, false) => 0.2,
        }
    } else if kind.is_information() {
        if gained { 0.85 } else { 0.2 }
    } else if kind == ActKind::KeepRegimen {
        if unsure { 0.3 } else { 0.5 }
    } else if unsure {
        0.4
    } else {
        0.75
    }
}

/// Grades whether the information that an act needs was gathered before it.
fn process(formulary: &Formulary, kind: ActKind, gained: bool, before: &StateBefore) -> f64 {
    if kind.is_information() {
        return if gained { 1.0 } else { 0.2 };
    }
    if !kind.is_change() {
        return if before.keeps_serious_flag { 0.2 } else { 0.6 };
    }
    let Some(row) = &before.row else {
        return 1.0;
    };
    let known = row.drug.archetype().map(|id| formulary.get(id));
    let renal = known.is_some_and(|archetype| archetype.renal_below.is_some());
    let blind_dose = kind == ActKind::AdjustDoseBucket && row.level.is_none() && row.prior == 0;
    if before.product_unknown || renal && !before.egfr_known {
        0.2
    } else if row.is_unrevealed() || blind_dose {
        0.3
    } else {
        1.0
    }
}

/// Grades whether the rationale cites terms in sight and the subject of the act.
fn grounding(
    formulary: &Formulary,
    choice: &Choice,
    act: Option<Act>,
    before: &StateBefore,
) -> f64 {
    let cited = choice.cites;
    if cited.is_empty() {
        return 0.0;
    }
    let share = f64::from(cited.count_shared(before.in_sight)) / f64::from(cited.len());
    let about = act.and_then(|act| act.drug);
    let about = about.map(|drug| RationaleTerms::drug(drug, formulary));
    match about {
        Some(drug) if !cited.contains_all(drug) => share.min(0.5),
        _ => share,
    }
}

/// Grades the position of questioned and narrow doses within their windows, 0..=1; 0.5 without any.
fn dosing_quality(state: &State) -> f64 {
    let (mut sum, mut count) = (0.0, 0.0);
    for (place, row) in state.observation.regimen.iter().enumerate() {
        if row.is_active() && (row.questioned || row.drug.has_narrow_window(state.formulary)) {
            let (over, under) = state.window_excess(place);
            sum += 1.0 - f64::max(over, under);
            count += 1.0;
        }
    }
    if count > 0.0 { sum / count } else { 0.5 }
}

/// Grades the agreement of the stated confidence with 1 minus the shown uncertainty.
fn calibration(confidence: f64, uncertainty: f64) -> f64 {
    clip01(1.0 - (confidence - (1.0 - uncertainty)).abs())
}
