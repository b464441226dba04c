//! An evaluation as a table for a terminal.

use std::fmt::Write;

use super::{Evaluation, PolicySummary, ReplayUse};

const HEAD: &str =
    "policy       task   episodes   score  completion  detection  calibration    steps\n";

/// A row for each policy and task, then one over all tasks when there are several.
#[must_use]
pub fn table(evaluation: &Evaluation) -> String {
    let mut text = format!("{} streams, ", evaluation.streams.name());
    text.push_str(if evaluation.adaptive {
        "adaptive difficulty\n\n"
    } else {
        "fixed difficulty\n\n"
    });
    text.push_str(HEAD);
    for (policy, overall) in &evaluation.summary.0 {
        for (task, summaries) in &evaluation.by_task.0 {
            if let Some(summary) = summaries.get(policy) {
                row(&mut text, policy, task, summary);
            }
        }
        if evaluation.by_task.0.len() > 1 {
            row(&mut text, policy, "all", overall);
        }
    }
    if let Some(replay) = &evaluation.replay {
        text.push('\n');
        text.push_str(&replay_line(replay));
    }
    text
}

fn row(text: &mut String, policy: &str, task: &str, s: &PolicySummary) {
    let (completion, detection) = (s.avg_completion_rate, s.avg_detection_rate);
    // Writing to a String cannot fail.
    let _ = writeln!(
        text,
        "{policy:<12} {task:<6} {:>8}  {:.4}      {completion:.4}     {detection:.4}       {:.4}  {:>7.4}",
        s.episodes, s.avg_score, s.avg_trust_calibration, s.avg_steps,
    );
}

/// How much of policy `trained` was recorded.
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
