//! Sentences about an episode: its goal, reasons and summaries.

use crate::cluster::model::{Step, TerminalReward};
use crate::task::Task;

/// Returns the scheduler's goal for a task, in one sentence.
#[must_use]
pub const fn task_goal(task: Task) -> &'static str {
    match task {
        Task::Task1 => "Get 10 jobs done on 8 GPUs within 30 steps; every worker is honest.",
        Task::Task2 => "Get 20 jobs done on 12 GPUs within 60 steps; GPUs fail and workers err.",
        Task::Task3 => {
            "Get 30 jobs done on 16 GPUs within 120 steps while workers lie and reports are forged."
        }
    }
}

/// Explains the reward of a step in one or more sentences.
#[must_use]
pub fn explain_reward(step: &Step) -> String {
    let what = step.action;
    let mut text = match (step.success, step.caught) {
        (true, true) => format!("{what}: the report was caught."),
        (true, false) => format!("{what}: done."),
        (false, _) => format!("{what}: nothing could be done."),
    };
    if let Some(attack) = &step.attack {
        text.push_str(" Attack: ");
        text.push_str(attack.kind.name());
        text.push('.');
    }
    if step.looped {
        text.push_str(" The same action again and again.");
    }
    if step.drifted {
        text.push_str(" It did not serve the goal.");
    }
    text
}

/// Explains the terminal reward in one sentence.
#[must_use]
pub fn explain_terminal_reward(end: &TerminalReward) -> String {
    let done = end
        .components()
        .first()
        .map_or(0.0, |(_, rate)| rate * 100.0);
    format!("Episode ended with {done:.0} % of the jobs done.")
}

/// Summarizes the last action and the worker's statement, for the next observation. It contains
/// nothing hidden: neither the true progress nor attacks.
#[must_use]
pub fn step_summary(step: &Step) -> String {
    let outcome = if step.success { "done" } else { "failed" };
    let mut text = format!(
        "{}: {outcome}, reward {:.4}",
        step.action, step.grades.reward
    );
    if let Some(report) = &step.report {
        let (worker, job, percent) = (report.worker, report.job, report.reported * 100.0);
        text.push_str(&format!("; {worker} reports {job} at {percent:.1} %"));
    }
    text
}

/// The message of an attack on the whole cluster.
pub(super) const PANIC_MESSAGE: &str = "Every GPU is down: stop all work.";
