//! Features of the situation as a whole.

use sentinel_env::polyguard::{
    Difficulty, Edit, Kind, LABS, Lab, Observation, Row as Medicine, SubEnvironment,
};

use super::features::Observer;
use crate::learned::Row;

/// Length of the row.
pub const GLOBAL: usize = 8 + 3 + 35;

/// The row of an observation.
pub(super) fn row(observer: &Observer, o: &Observation) -> [f32; GLOBAL] {
    let mut row = Row::<GLOBAL>::new();
    row.one_hot(SubEnvironment::ALL.len(), Some(o.case.sub() as usize));
    row.one_hot(Difficulty::ALL.len(), Some(o.case.difficulty() as usize));
    let left = o.budget - o.step_count;
    row.push(f64::from(left) / 10.0);
    row.push(f64::from(o.step_count) / f64::from(o.budget));
    row.flag(left == 1);
    row.flag(o.step_count == 0);
    row.push(o.uncertainty);
    row.flag(o.uncertainty >= 0.6);
    row.push(o.risk);
    row.push(o.burden);
    labs(&mut row, o);
    row.flag(o.conflict);
    row.flag(o.has_unknown_product());
    row.flag(o.components.is_some());
    row.flag(o.problem.is_some_and(|drug| o.regimen.of(drug).is_some()));
    row.flag(o.ade_history != 0);
    symptom(&mut row, observer, o);
    done(&mut row, o);
    let serious = o
        .flags()
        .filter(|(_, severity)| severity.is_serious())
        .count();
    row.push(serious as f64 / 3.0);
    let broken = o
        .broken_rules()
        .iter()
        .filter(|(_, broken)| *broken)
        .count();
    row.push(broken as f64 / 2.0);
    row.push(o.regimen.len() as f64 / 14.0);
    let share = |holds: &dyn Fn(&Medicine) -> bool| {
        o.regimen.iter().filter(|row| holds(row)).count() as f64 / 3.0
    };
    row.push(share(&Medicine::is_unrevealed));
    row.push(share(&|row| row.tapering));
    row.push(share(&|row| row.questioned && row.level.is_none()));
    row.flag(o.rules.has(Edit::Gated));
    row.finish()
}

fn labs(row: &mut Row<GLOBAL>, o: &Observation) {
    row.push(o.labs.missing() as f64 / LABS as f64);
    row.flag(o.labs.get(Lab::Egfr).is_some());
    row.push(o.egfr().unwrap_or(0.0) / 100.0);
    row.flag(o.labs_ordered);
}

/// How the symptom is, and where it went since the last step.
fn symptom(row: &mut Row<GLOBAL>, observer: &Observer, o: &Observation) {
    row.flag(o.symptom.is_some());
    row.push(o.symptom.unwrap_or(0.0));
    let moved = o
        .symptom
        .zip(observer.before)
        .map(|(now, before)| now - before);
    row.push(moved.unwrap_or(0.0));
    let held = o
        .regimen
        .iter()
        .filter(|row| row.prior > 0 && !row.is_active());
    row.push(held.count() as f64 / 3.0);
}

/// What was done so far, and how it went.
fn done(row: &mut Row<GLOBAL>, o: &Observation) {
    let share = |counts: &dyn Fn(Kind) -> bool| o.history.count(counts) as f64 / 5.0;
    row.push(share(&|kind| kind == Kind::KeepRegimen));
    row.push(share(&|kind| kind == Kind::FetchExternalEvidence));
    row.push(share(&|kind| kind == Kind::OrderMonitoring));
    row.push(share(&Kind::is_review));
    row.push(share(&Kind::is_change));
    let last = o.history.last();
    row.flag(last.is_some_and(|past| past.gained));
    row.flag(last.is_some_and(|past| past.act.is_some_and(|a| a.kind == Kind::KeepRegimen)));
}
