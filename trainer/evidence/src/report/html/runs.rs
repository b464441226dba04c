//! The sections of single training runs and evaluations.

use serde_json::Value;

use super::page_builder::{Cell, Column, Drawings, Page, code, escape, group_thousands, number};
use crate::report::evaluation::{Evaluation, PolicyScore};
use crate::report::results::{Section, TrainingRun};

/// The largest number of rows that a table shows at once; longer ones are opened.
const ROWS: usize = 30;

/// Adds the section of training runs.
pub(super) fn runs(page: &mut Page, runs: &[TrainingRun], drawings: Drawings<'_>) {
    if runs.is_empty() {
        return;
    }
    page.section("runs", "Training runs");
    for run in runs {
        page.subsection(&format!("run-{}", run.id), &run.id);
        facts(page, run);
        if !run.warnings.is_empty() {
            page.highlighted_list("Warnings of the run:", run.warnings.iter().cloned());
        }
        for (entry, svg) in drawings.of(Section::Run, Some(&run.id)) {
            page.figure(entry, svg);
        }
        test_scores(page, run);
        last_values(page, run);
        if !run.options.is_empty() {
            page.details("All options", |page| options(page, run));
        }
    }
}

fn facts(page: &mut Page, run: &TrainingRun) {
    let parameters = if run.trained == run.parameters || run.trained == 0 {
        group_thousands(run.parameters as u64)
    } else {
        format!(
            "{}, of which {} are trained",
            group_thousands(run.parameters as u64),
            group_thousands(run.trained as u64)
        )
    };
    let best = run.best.as_ref().map(|best| {
        let kept = best.checkpoint.as_ref();
        let kept = kept.map_or_else(String::new, |name| format!(" ({})", code(name)));
        format!("{} at step {}{kept}", number(best.score), best.step)
    });
    let text = |value: &Option<String>| value.as_deref().map(escape);
    page.definition_list(vec![
        ("Method", Some(escape(&run.method))),
        (
            "Status",
            Some(format!(
                "{}, {} of {} steps",
                run.status.name(),
                group_thousands(run.steps as u64),
                group_thousands(run.max_steps as u64)
            )),
        ),
        ("World", text(&run.world)),
        ("Tasks", text(&run.task)),
        ("Rules", text(&run.rules)),
        ("Model", text(&run.model)),
        ("Parameters", Some(parameters)),
        ("Seed", run.seed.map(group_thousands)),
        ("Seconds", run.seconds.map(number)),
        ("Best validation score", best),
        ("Folder", Some(code(&run.path))),
    ]);
}

fn test_scores(page: &mut Page, run: &TrainingRun) {
    let Some(test) = &run.test else {
        return;
    };
    let this = (format!("{} (this run)", run.id), test.overall);
    let mut rows: Vec<(String, f64)> = test.baselines.clone();
    rows.push(this);
    rows.sort_by(|a, b| b.1.total_cmp(&a.1));
    let rows = rows
        .iter()
        .map(|(name, score)| vec![Cell::text(name), Cell::number(Some(*score))]);
    let seeds = test.seeds.as_ref();
    let seeds = seeds.map_or_else(String::new, |seeds| format!(" {seeds}"));
    page.table(
        &format!("Mean score over the tasks on the test seeds{seeds}, greedy; played once, after training"),
        &[Column::text("Policy"), Column::number("Score")],
        rows.collect(),
    );
}

fn last_values(page: &mut Page, run: &TrainingRun) {
    let rows = run.series.iter().filter_map(|(name, values)| {
        let ([_, first], [step, last]) = (values.first()?, values.last()?);
        Some(vec![
            Cell::code(name),
            Cell::count(Some(values.len() as u64)),
            Cell::number(Some(*first)),
            Cell::number(Some(*last)),
            Cell::count(Some(*step as u64)),
        ])
    });
    let rows: Vec<Vec<Cell>> = rows.collect();
    if rows.is_empty() {
        return;
    }
    page.table(
        "Logged metrics: first and last value",
        &[
            Column::text("Metric"),
            Column::number("Values"),
            Column::number("First"),
            Column::number("Last"),
            Column::number("At step"),
        ],
        rows,
    );
}

fn options(page: &mut Page, run: &TrainingRun) {
    let set = run.options.iter().filter(|(_, value)| !value.is_null());
    let rows = set.map(|(name, value)| {
        let text = match value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        vec![Cell::code(name), Cell::code(text)]
    });
    page.table(
        &format!("Options of {}", run.id),
        &[Column::text("Option"), Column::text("Value")],
        rows.collect(),
    );
}

/// Adds the section of evaluations.
pub(super) fn evaluations(page: &mut Page, all: &[Evaluation], drawings: Drawings<'_>) {
    if all.is_empty() {
        return;
    }
    page.section("evaluations", "Evaluations");
    for evaluation in all {
        page.subsection(&format!("evaluation-{}", evaluation.id), &evaluation.id);
        let text = |value: &Option<String>| value.as_deref().map(code);
        page.definition_list(vec![
            ("World", Some(escape(&evaluation.world))),
            ("Rules", Some(escape(&evaluation.rules))),
            (
                "Seeds",
                Some(escape(&format!(
                    "{} of each task, {} streams",
                    evaluation.seeds, evaluation.streams
                ))),
            ),
            ("Model", text(&evaluation.model)),
            ("Adapter", text(&evaluation.adapter)),
            ("Replay", text(&evaluation.replay)),
            ("Validity", evaluation.validity.map(number)),
            ("File", Some(code(&evaluation.path))),
        ]);
        for (entry, svg) in drawings.of(Section::Evaluation, Some(&evaluation.id)) {
            page.figure(entry, svg);
        }
        scores(page, evaluation);
        signals(page, evaluation);
    }
}

fn scores(page: &mut Page, evaluation: &Evaluation) {
    let of_policy = |policy: &PolicyScore| {
        let mut rows = Vec::new();
        for task in &policy.tasks {
            rows.push(vec![
                Cell::text(&policy.policy),
                Cell::text(&task.task),
                Cell::count(task.episodes.map(|count| count as u64)),
                Cell::interval(Some(task.score)),
            ]);
        }
        if policy.tasks.len() > 1 {
            rows.push(vec![
                Cell::text(&policy.policy),
                Cell::text("all"),
                Cell::count(Some(policy.episodes as u64)),
                Cell::interval(Some(policy.score)),
            ]);
        }
        rows
    };
    let columns = [
        Column::text("Policy"),
        Column::text("Task"),
        Column::number("Episodes"),
        Column::number("Score"),
    ];
    let rows: Vec<Vec<Cell>> = evaluation.policies.iter().flat_map(of_policy).collect();
    let caption = "Mean scores by task, with half the width of the 95 % interval over episodes";
    if rows.len() > ROWS {
        page.details(&format!("Scores by task ({} rows)", rows.len()), |page| {
            page.table(caption, &columns, rows);
        });
    } else {
        page.table(caption, &columns, rows);
    }
}

/// Adds the other figures of an evaluation: means of scripted policies, signals of a language
/// model.
fn signals(page: &mut Page, evaluation: &Evaluation) {
    let rows = |policy: &str, values: &std::collections::BTreeMap<String, f64>| {
        let row = |(name, value): (&String, &f64)| {
            vec![
                Cell::text(policy),
                Cell::code(name),
                Cell::number(Some(*value)),
            ]
        };
        values.iter().map(row).collect::<Vec<_>>()
    };
    let mut all: Vec<Vec<Cell>> = (evaluation.policies.iter())
        .flat_map(|policy| rows(&policy.policy, &policy.means))
        .collect();
    all.extend(rows("model", &evaluation.signals));
    if all.is_empty() {
        return;
    }
    page.details("Other means", |page| {
        page.table(
            "Other means of the evaluation, by their names in the file",
            &[
                Column::text("Policy"),
                Column::text("Mean"),
                Column::number("Value"),
            ],
            all,
        );
    });
}
