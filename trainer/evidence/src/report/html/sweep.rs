//! The section of a sweep: its models side by side.

use super::page_builder::{Cell, Column, Drawings, Page, VerdictMark};
use crate::report::figures::counted;
use crate::report::results::Section;
use crate::report::summary::StageScores;
use crate::report::sweep_results::{Gate, StageReport, Sweep, SweepEntry};

/// Adds the section. The charts are of all sweeps together, so the first section shows them.
pub(super) fn section(page: &mut Page, sweep: &Sweep, drawings: Drawings<'_>, is_first: bool) {
    let title = format!(
        "Sweep of {}",
        counted(sweep.entries.len(), "model", "models")
    );
    page.section(&format!("sweep-{}", sweep.id), &title);
    models(page, sweep);
    if is_first {
        for (entry, svg) in drawings.of(Section::Sweep, None) {
            page.figure(entry, svg);
        }
    }
    stages(page, sweep);
    unfinished(page, sweep);
    postsave(page, sweep);
    if let Some(gate) = &sweep.gate {
        conditions(page, "the sweep", gate);
    }
    for entry in &sweep.entries {
        if let Some(gate) = &entry.gate {
            conditions(page, &entry.label, gate);
        }
    }
}

fn models(page: &mut Page, sweep: &Sweep) {
    let rows = sweep.entries.iter().map(|entry| {
        let scores = StageScores::new(entry);
        vec![
            Cell::text(&entry.label),
            Cell::interval(scores.base),
            Cell::interval(scores.sft),
            Cell::interval(scores.grpo),
            difference(entry),
            improved(entry),
            verdict(entry),
        ]
    });
    page.table(
        "Models: mean score before training, after SFT and after GRPO, with half the width of the 95 % interval \
         over episodes; the difference of GRPO and SFT on paired seeds with its 95 % interval; the verdict of the \
         acceptance gate",
        &[
            Column::text("Model"),
            Column::number("Base"),
            Column::number("SFT"),
            Column::number("GRPO"),
            Column::number("GRPO − SFT, paired"),
            Column::text("Improved"),
            Column::text("Gate"),
        ],
        rows.collect(),
    );
}

fn difference(entry: &SweepEntry) -> Cell {
    use super::page_builder::number;

    let Some(report) = &entry.improvement else {
        return Cell::empty();
    };
    let interval = report.interval.map_or_else(String::new, |[low, high]| {
        format!(" [{}, {}]", number(low), number(high))
    });
    Cell::text(format!("{}{interval}", number(report.difference)))
}

fn improved(entry: &SweepEntry) -> Cell {
    match entry.improvement.as_ref().map(|report| report.improved) {
        Some(true) => Cell::mark(VerdictMark::Good, "yes"),
        Some(false) => Cell::mark(VerdictMark::Warning, "not\u{a0}shown"),
        None => Cell::empty(),
    }
}

fn verdict(entry: &SweepEntry) -> Cell {
    match entry.gate.as_ref().map(|gate| gate.accepted) {
        Some(true) => Cell::mark(VerdictMark::Good, "accepted"),
        Some(false) => Cell::mark(VerdictMark::Bad, "refused"),
        None => Cell::empty(),
    }
}

fn stages(page: &mut Page, sweep: &Sweep) {
    let mut rows = Vec::new();
    for entry in &sweep.entries {
        for (name, report) in [("SFT", &entry.sft), ("GRPO", &entry.grpo)] {
            if let Some(report) = report {
                rows.push(stage_row(entry, name, report));
            }
        }
    }
    if rows.is_empty() {
        return;
    }
    page.table(
        "Training stages: loss and reward are the last logged values",
        &[
            Column::text("Model"),
            Column::text("Stage"),
            Column::text("Status"),
            Column::text("Backend"),
            Column::text("World"),
            Column::number("Steps"),
            Column::number("Seconds"),
            Column::number("Loss"),
            Column::number("Reward"),
            Column::number("Seed"),
        ],
        rows,
    );
}

fn stage_row(entry: &SweepEntry, name: &str, report: &StageReport) -> Vec<Cell> {
    let metric = |name: &str| report.metrics.get(name).copied().flatten();
    let world = [report.world.as_deref(), report.task.as_deref()];
    let world: Vec<&str> = (world.into_iter().flatten())
        .filter(|word| !word.is_empty())
        .collect();
    vec![
        Cell::text(&entry.label),
        Cell::text(name),
        match (report.status.as_str(), &report.error) {
            ("ok", _) => Cell::mark(VerdictMark::Good, "ok"),
            (status, Some(error)) => Cell::mark(VerdictMark::Bad, &format!("{status}: {error}")),
            (status, None) => Cell::mark(VerdictMark::Bad, status),
        },
        if report.backend == "fallback" {
            Cell::mark(VerdictMark::Bad, &report.backend)
        } else {
            Cell::code(&report.backend)
        },
        Cell::text(world.join(" ")),
        Cell::count(report.steps),
        Cell::number(report.seconds),
        Cell::number(metric("loss")),
        Cell::number(metric("reward")),
        Cell::count(report.seed),
    ]
}

/// Lists the stages that did not end well, as the sweep recorded them.
fn unfinished(page: &mut Page, sweep: &Sweep) {
    let mut rows = Vec::new();
    for entry in &sweep.entries {
        for (name, record) in &entry.stages {
            if record.status != "ok" {
                rows.push(vec![
                    Cell::text(&entry.label),
                    Cell::text(name),
                    Cell::mark(VerdictMark::Bad, &record.status),
                    record.error.as_ref().map_or_else(Cell::empty, Cell::text),
                    Cell::code(&record.command),
                ]);
            }
        }
    }
    if rows.is_empty() {
        return;
    }
    page.table(
        "Stages that are not finished, with the command that continues each",
        &[
            Column::text("Model"),
            Column::text("Stage"),
            Column::text("Status"),
            Column::wide("Reason"),
            Column::wide("Command"),
        ],
        rows,
    );
}

fn postsave(page: &mut Page, sweep: &Sweep) {
    let rows = sweep.entries.iter().filter_map(|entry| {
        let report = entry.postsave.as_ref()?;
        let difference = report.logprob_difference.map(|found| found.max);
        Some(vec![
            Cell::text(&entry.label),
            if report.model_source.starts_with("fallback") {
                Cell::mark(VerdictMark::Bad, &report.model_source)
            } else {
                Cell::code(&report.model_source)
            },
            Cell::text(format!("{} of {}", report.valid, report.samples)),
            Cell::number(report.mean_reward),
            Cell::number(report.latency_ms.map(|latency| latency.p50)),
            Cell::number(report.latency_ms.map(|latency| latency.p95)),
            Cell::number(difference),
        ])
    });
    let rows: Vec<Vec<Cell>> = rows.collect();
    if rows.is_empty() {
        return;
    }
    page.table(
        "Generation from the saved artifacts in a new process; the last column is the largest difference of a \
         log-probability from training",
        &[
            Column::text("Model"),
            Column::text("Answered by"),
            Column::number("Valid"),
            Column::number("Mean reward"),
            Column::number("Latency p50, ms"),
            Column::number("p95, ms"),
            Column::number("Log-prob difference"),
        ],
        rows,
    );
}

fn conditions(page: &mut Page, of: &str, gate: &Gate) {
    let rows = gate.conditions.iter().map(|condition| {
        vec![
            Cell::text(&condition.name),
            if condition.passed {
                Cell::mark(VerdictMark::Good, "passed")
            } else {
                Cell::mark(VerdictMark::Bad, "failed")
            },
            Cell::text(&condition.evidence),
        ]
    });
    let verdict = if gate.accepted { "accepted" } else { "refused" };
    let strict = if gate.strict {
        ", strict conditions"
    } else {
        ""
    };
    page.table(
        &format!("Acceptance gate of {of}: {verdict}{strict}"),
        &[
            Column::text("Condition"),
            Column::text("Verdict"),
            Column::wide("Evidence"),
        ],
        rows.collect(),
    );
}
