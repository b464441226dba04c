//! An ablation as a table for a terminal.

use std::fmt::Write;

use super::Ablation;
use super::summary::RowSummary;

/// The width of the column of row names.
const NAME: usize = 26;

/// Returns a table with a line for each row: scores with 95 % intervals, how episodes ended in per
/// cent, steps.
#[must_use]
pub fn format_table(found: &Ablation) -> String {
    let (cells, seeds, rules) = (found.cells.len(), found.seeds, &found.rules);
    let mut text = format!("{cells} cells, seeds {seeds} in each, {rules} rules\n\n");
    // Writing to a String cannot fail.
    let _ = writeln!(
        text,
        "{:<NAME$} {:>13}  {:>6}  {:>6}  {:>7}  {:>7}  {:>5}  {:>5}",
        "row", "score (95 %)", "safe %", "rev. %", "expl. %", "inval %", "veto%", "steps"
    );
    let mut silent = Vec::new();
    for row in &found.ablation {
        match &row.found {
            Some(found) => line(&mut text, &row.row, found),
            None => silent.push(row.row.as_str()),
        }
    }
    if !silent.is_empty() {
        let silent = silent.join(", ");
        let _ = writeln!(text, "\nno model given (--model): {silent} not played");
    }
    if let Some(model) = &found.model {
        let _ = writeln!(text, "\nllm: {model}");
    }
    text
}

fn line(text: &mut String, name: &str, found: &RowSummary) {
    let per_cent = |share: f64| 100.0 * share;
    let _ = writeln!(
        text,
        "{name:<NAME$} {:>6.3} ± {:.3}  {:>6.1}  {:>6.1}  {:>7.1}  {:>7.1}  {:>5.1}  {:>5.2}",
        found.score.mean,
        found.score.half_width,
        per_cent(found.safe_resolution),
        per_cent(found.justified_review),
        per_cent(found.exploit_detection),
        per_cent(found.invalid),
        per_cent(found.safety_veto),
        found.steps
    );
}
