//! Features of the case as a whole.

use sentinel_env::polyguard::{
    ActKind, Change, Difficulty, LAB_COUNT, Lab, MAX_MEDICATIONS, MAX_STEPS,
    Medication as Medicine, Observation, REVIEW_UNCERTAINTY, SubEnvironment,
};

use super::candidate::ObservationFacts;
use crate::nn::{FeatureSchema, FeatureWriter};

/// Names of the global features, in order.
pub const SCHEMA: FeatureSchema = FeatureSchema::new(
    "global",
    &[
        "sub_environment=DDI",
        "sub_environment=BANDIT_MINING",
        "sub_environment=REGIMEN_RISK",
        "sub_environment=PRECISION_DOSING",
        "sub_environment=DEPRESCRIBING",
        "sub_environment=WEB_SEARCH_MISSING_DATA",
        "sub_environment=ALTERNATIVE_SUGGESTION",
        "sub_environment=NEW_DRUG_DECOMPOSITION",
        "difficulty=easy",
        "difficulty=medium",
        "difficulty=hard",
        "steps_left",
        "steps_used",
        "last_step",
        "first_step",
        "uncertainty",
        "uncertain",
        "risk",
        "burden",
        "labs_missing",
        "egfr_known",
        "egfr",
        "labs_ordered",
        "conflict",
        "unknown_product",
        "components_known",
        "problem_in_regimen",
        "adverse_event_history",
        "symptom_known",
        "symptom",
        "symptom_change",
        "held",
        "culprit_certainty",
        "share_kept",
        "share_evidence",
        "share_monitoring",
        "share_reviews",
        "share_changes",
        "last_gained",
        "last_kept",
        "serious_flags",
        "broken_rules",
        "medicines",
        "unrevealed",
        "tapering",
        "questioned",
        "gated",
    ],
);

/// Number of global features.
pub const GLOBAL: usize = SCHEMA.width();
const _: () = assert!(GLOBAL == 47, "a change needs a new feature version");

/// Largest number of medicines of a patient at the start; each step can add one more.
const START_MAX: usize = MAX_MEDICATIONS - MAX_STEPS;

/// Computes the global features of an observation. `before` is the symptom at the previous one.
pub(super) fn features(
    before: Option<f64>,
    chart: &ObservationFacts<'_>,
    o: &Observation,
) -> [f32; GLOBAL] {
    let mut row = FeatureWriter::new(&SCHEMA);
    row.push_one_hot(
        "sub_environment",
        SubEnvironment::ALL.len(),
        Some(o.task.sub_environment() as usize),
    );
    row.push_one_hot(
        "difficulty",
        Difficulty::ALL.len(),
        Some(o.task.difficulty() as usize),
    );
    let left = o.budget - o.step_count;
    row.push("steps_left", f64::from(left) / MAX_STEPS as f64);
    row.push("steps_used", f64::from(o.step_count) / f64::from(o.budget));
    row.push_bool("last_step", left == 1);
    row.push_bool("first_step", o.step_count == 0);
    row.push("uncertainty", o.uncertainty);
    row.push_bool("uncertain", o.uncertainty >= REVIEW_UNCERTAINTY);
    row.push("risk", o.risk);
    row.push("burden", o.burden);
    labs(&mut row, o);
    row.push_bool("conflict", o.conflict);
    row.push_bool("unknown_product", o.has_unknown_product());
    row.push_bool("components_known", o.components.is_some());
    row.push_bool(
        "problem_in_regimen",
        o.problem.is_some_and(|drug| o.regimen.find(drug).is_some()),
    );
    row.push_bool("adverse_event_history", o.ade_history != 0);
    symptom(&mut row, before, o);
    row.push("culprit_certainty", chart.culprit_certainty());
    done(&mut row, o);
    row.push("serious_flags", chart.serious_flags() as f64 / 3.0);
    row.push("broken_rules", chart.broken_rules() as f64 / 2.0);
    row.push("medicines", o.regimen.len() as f64 / START_MAX as f64);
    let share = |holds: &dyn Fn(&Medicine) -> bool| {
        o.regimen.iter().filter(|row| holds(row)).count() as f64 / 3.0
    };
    row.push("unrevealed", share(&Medicine::is_unrevealed));
    row.push("tapering", share(&|row| row.tapering));
    row.push(
        "questioned",
        share(&|row| row.questioned && row.level.is_none()),
    );
    row.push_bool("gated", o.rules.has(Change::Gated));
    row.finish()
}

fn labs(row: &mut FeatureWriter<[f32; GLOBAL]>, o: &Observation) {
    row.push("labs_missing", o.labs.missing() as f64 / LAB_COUNT as f64);
    row.push_bool("egfr_known", o.labs.get(Lab::Egfr).is_some());
    row.push("egfr", o.egfr().unwrap_or(0.0) / 100.0);
    row.push_bool("labs_ordered", o.labs_ordered);
}

/// Writes the symptom, its change since the last step, and the number of paused suspects.
fn symptom(row: &mut FeatureWriter<[f32; GLOBAL]>, before: Option<f64>, o: &Observation) {
    row.push_bool("symptom_known", o.symptom.is_some());
    row.push("symptom", o.symptom.unwrap_or(0.0));
    let moved = o.symptom.zip(before).map(|(now, before)| now - before);
    row.push("symptom_change", moved.unwrap_or(0.0));
    let held = o
        .regimen
        .iter()
        .filter(|row| row.prior > 0 && !row.is_active());
    row.push("held", held.count() as f64 / 3.0);
}

/// Writes the numbers of acts so far by kind, and the result of the last one.
fn done(row: &mut FeatureWriter<[f32; GLOBAL]>, o: &Observation) {
    let share = |counts: &dyn Fn(ActKind) -> bool| o.history.count(counts) as f64 / 5.0;
    row.push("share_kept", share(&|kind| kind == ActKind::KeepRegimen));
    row.push(
        "share_evidence",
        share(&|kind| kind == ActKind::FetchExternalEvidence),
    );
    row.push(
        "share_monitoring",
        share(&|kind| kind == ActKind::OrderMonitoring),
    );
    row.push("share_reviews", share(&ActKind::is_review));
    row.push("share_changes", share(&ActKind::is_change));
    let last = o.history.last();
    row.push_bool("last_gained", last.is_some_and(|past| past.gained));
    row.push_bool(
        "last_kept",
        last.is_some_and(|past| past.act.is_some_and(|a| a.kind == ActKind::KeepRegimen)),
    );
}
