//! A comparison of rules as a table for a terminal.

use std::fmt::Write;

use super::{Findings, MeanDifference, RuleSetVerdict};

/// The width of a column: a mean and its standard error.
const WIDTH: usize = 13;

/// Returns a table of means and standard errors for each task, followed by the verdicts.
#[must_use]
pub fn format_table(findings: &Findings) -> String {
    let mut text = format!(
        "world {}, seeds {}, {} streams; mean score ± standard error\n",
        findings.world.name(),
        findings.seeds,
        findings.streams.name()
    );
    for (name, what) in &findings.changes {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "  {name}: {what}");
    }
    for task in &findings.tasks {
        // A set and its variants form one table.
        for family in findings.rules.chunk_by(|a, b| set_of(a) == set_of(b)) {
            block(&mut text, findings, task, family);
        }
    }
    text.push('\n');
    for verdict in &findings.verdicts {
        text.push_str(&verdict_line(verdict));
    }
    text
}

/// Returns the base set of some rules: `reference` or `hardened`.
fn set_of(rules: &str) -> &str {
    rules.split(['+', '-']).next().unwrap_or(rules)
}

/// Writes the columns of some rules for one task.
fn block(text: &mut String, findings: &Findings, task: &str, rules: &[String]) {
    let first = findings.policies.iter().map(|p| p.len()).max();
    let first = first.unwrap_or(0).max(task.len());
    let _ = write!(text, "\n{task:<first$}");
    // After the first column the heading is the change alone.
    let heads: Vec<&str> = (rules.iter().enumerate())
        .map(|(place, rules)| match place {
            0 => rules.as_str(),
            _ => &rules[set_of(rules).len()..],
        })
        .collect();
    for head in &heads {
        let _ = write!(text, "  {head:>0$}", WIDTH.max(head.len()));
    }
    text.push('\n');
    for policy in &findings.policies {
        let _ = write!(text, "{policy:<first$}");
        for (rules, head) in rules.iter().zip(&heads) {
            let mut here = findings.cells.iter().filter(|cell| cell.rules == *rules);
            let found = here.find(|cell| cell.policy == *policy && cell.task == task);
            let cell = found.map_or_else(String::new, |c| format!("{:.4} ±{:.4}", c.mean, c.se));
            let _ = write!(text, "  {cell:>0$}", WIDTH.max(head.len()));
        }
        text.push('\n');
    }
}

fn verdict_line(verdict: &RuleSetVerdict) -> String {
    let (task, rules) = (verdict.task, &verdict.rules);
    let mut names: Vec<&str> = verdict.order.iter().map(|a| a.lower.as_str()).collect();
    names.extend(verdict.order.last().map(|above| above.upper.as_str()));
    let order = names.join(" < ");
    let mut text = format!("{task} {rules}: ");
    if names.is_empty() {
        text.push_str("fewer than two roles played");
    } else if verdict.order_holds {
        let how = if verdict.clearly {
            "clearly"
        } else {
            "but within two standard errors"
        };
        let _ = write!(text, "{order} holds, {how}");
    } else {
        let _ = write!(text, "{order} does NOT hold");
        for above in verdict.order.iter().filter(|above| above.gap.mean <= 0.0) {
            let (upper, lower, gap) = (&above.upper, &above.lower, -above.gap.mean);
            let _ = write!(text, " ({upper} is {gap:.4} below {lower})");
        }
    }
    match verdict.constants_above.as_deref() {
        None => {}
        Some([]) => text.push_str("; no constant policy beats the heuristic"),
        Some([best, rest @ ..]) => {
            let (upper, MeanDifference { mean, se }) = (&best.upper, best.gap);
            let beats = if best.gap.is_significant() {
                "BEATS the heuristic"
            } else {
                "is above the heuristic, within two standard errors,"
            };
            let _ = write!(text, "; {upper} {beats} by {mean:.4} ±{se:.4}");
            if !rest.is_empty() {
                let _ = write!(
                    text,
                    ", and {} more constant policies are above it",
                    rest.len()
                );
            }
        }
    }
    if !verdict.absent.is_empty() {
        let _ = write!(text, "; without {}", verdict.absent.join(", "));
    }
    text.push('\n');
    text
}
