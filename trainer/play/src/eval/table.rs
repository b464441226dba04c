//! An evaluation as a table for a terminal.

use std::fmt::Write;

use super::{Evaluated, Evaluation, ReplayUse};

/// Returns a table with a line for each policy and task, and one over all tasks if there are
/// several.
#[must_use]
pub fn format_table<W: Evaluated>(evaluation: &Evaluation<W>) -> String {
    let mut text = format!("{} streams, ", evaluation.streams.name());
    if evaluation.rules != "reference" {
        let _ = write!(text, "{} rules, ", evaluation.rules);
    }
    text.push_str(if evaluation.adaptive {
        "adaptive difficulty\n\n"
    } else {
        "fixed difficulty\n\n"
    });
    let tasks = evaluation.by_task.0.iter().map(|(task, _)| task.len());
    let place = tasks.max().unwrap_or(0).max(TASK_WIDTH);
    let _ = write!(
        text,
        "{:<12} {:<place$} {:>8}",
        "policy", "task", "episodes"
    );
    for column in W::TABLE_COLUMNS {
        let _ = write!(text, "  {column:>WIDTH$}");
    }
    text.push('\n');
    for (policy, overall) in &evaluation.summary.0 {
        for (task, summaries) in &evaluation.by_task.0 {
            if let Some(summary) = summaries.get(policy) {
                row::<W>(&mut text, policy, (task, place), summary);
            }
        }
        if evaluation.by_task.0.len() > 1 {
            row::<W>(&mut text, policy, ("all", place), overall);
        }
    }
    if let Some(replay) = &evaluation.replay {
        text.push('\n');
        text.push_str(&replay_line(replay));
    }
    // The fallbacks that the replay's own line does not report.
    let fallbacks = evaluation.sentinel.provenance.fallbacks.iter();
    for fallback in fallbacks.filter(|fallback| fallback.stage != "eval") {
        let _ = writeln!(text, "{fallback}");
    }
    text
}

/// The minimum width of the column of tasks.
const TASK_WIDTH: usize = 6;

/// The width of a column of numbers.
const WIDTH: usize = 11;

fn row<W: Evaluated>(
    text: &mut String,
    policy: &str,
    (task, place): (&str, usize),
    summary: &W::Summary,
) {
    let (episodes, cells) = W::table_cells(summary);
    // Writing to a String cannot fail.
    let _ = write!(text, "{policy:<12} {task:<place$} {episodes:>8}");
    for cell in cells {
        let _ = write!(text, "  {cell:>WIDTH$.4}");
    }
    text.push('\n');
}

/// Returns a line with the share of recorded actions of policy `trained`.
fn replay_line(replay: &ReplayUse) -> String {
    let file = replay
        .file
        .as_ref()
        .map_or_else(String::new, |f| format!(" from {}", f.display()));
    let mut text = format!(
        "trained: {} recorded actions{file}, {} replay misses played by the heuristic fallback",
        replay.replay_hits, replay.replay_misses
    );
    if replay.replay_misses > 0 {
        let by_task: Vec<String> = replay
            .replay_misses_by_task
            .0
            .iter()
            .map(|(task, n)| format!("{task} {n}"))
            .collect();
        let _ = write!(text, " ({})", by_task.join(", "));
    }
    if replay.replay_fallbacks > 0 {
        let _ = write!(
            text,
            "; {} of the recorded actions are the fallback's, where what the model said was not an action",
            replay.replay_fallbacks
        );
    }
    if replay.replay_mismatches > 0 {
        let _ = write!(
            text,
            "; {} rows name another scenario: recorded with another build",
            replay.replay_mismatches
        );
    }
    text.push('\n');
    text
}
