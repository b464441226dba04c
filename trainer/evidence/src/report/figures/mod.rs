//! The charts of a report. What a chart needs and is not there is listed with the command that
//! makes it; nothing is filled in.

mod drawing;
mod evaluation;
mod integrity;
mod sweep;
mod training;

use super::evaluation::Evaluation;
use super::integrity::PolicyStats;
use super::results::TrainingRun;
use super::sweep_results::{Sweep, SweepEntry};
pub(super) use drawing::{Figures, counted};

/// Returns the charts of all inputs, the charts of folders excepted.
pub(super) fn figures(
    sweeps: &[Sweep],
    runs: &[TrainingRun],
    evaluations: &[Evaluation],
    subjects: &[PolicyStats],
) -> Figures {
    let mut figures = Figures::default();
    let entries: Vec<&SweepEntry> = sweeps.iter().flat_map(|sweep| &sweep.entries).collect();
    if !entries.is_empty() {
        sweep::draw(&entries, &mut figures);
    }
    if !entries.is_empty() || !subjects.is_empty() {
        integrity::draw(subjects, &entries, &mut figures);
    }
    for run in runs {
        training::draw(run, &mut figures);
    }
    for evaluation in evaluations {
        evaluation::draw(evaluation, &mut figures);
    }
    figures
}
