//! How a step of the cluster world turned out, as far as its counters tell everybody.

use sentinel_env::cluster::{Action, Step};

use crate::play::Mark;

/// The mark of a step. That an attack happened, that a report was caught or that a false one was believed shows
/// in the counters; what kind of attack it was does not, and is not marked.
#[must_use]
pub fn mark(step: &Step) -> Mark {
    let verified = matches!(step.action, Action::Verify { .. });
    let believed = step.report.is_some_and(|report| report.false_completion) && !verified;
    match step.action {
        _ if step.caught => Mark::notable("◆", "a report was caught", "caught"),
        _ if step.attack.is_some() => Mark::notable("!", "attacked", "poisoned"),
        _ if believed => Mark::notable("!", "a false report was believed", "poisoned"),
        _ if !step.success => Mark::notable("✗", "nothing could be done", "wrong"),
        _ if step.completed != 0 => Mark::plain("✓", "a job was completed", "right"),
        Action::Allocate { .. } => Mark::plain("▸", "allocated", "right"),
        Action::Preempt { .. } => Mark::plain("◂", "preempted", "solved"),
        Action::RequestInfo { .. } => Mark::plain("?", "asked", "solved"),
        Action::Verify { .. } => Mark::plain("●", "checked, and it stands", "solved"),
        Action::Tick => Mark::plain("–", "waited", "skipped"),
    }
}

/// A step as the list of actions has it.
#[must_use]
pub fn line(step: &Step) -> String {
    let mut text = action(step.action);
    let done = step.completed.count_ones();
    if done > 0 {
        text.push_str(&format!(" · {done} done"));
    }
    text
}

/// An action with short names.
#[must_use]
pub fn action(action: Action) -> String {
    let mut text = match action {
        Action::RequestInfo { .. } => "ask about",
        Action::Verify {
            force_flag: true, ..
        } => "verify and flag",
        action => action.action_type().name(),
    }
    .to_owned();
    let job = action.job().map(|job| job.to_string());
    match (job, action) {
        (Some(job), _) => text.extend([" ", &job]),
        (None, Action::Tick) => {}
        (None, _) => text.push_str(" by rule"),
    }
    if let Some(gpu) = action.gpu() {
        text.push_str(&format!(" on {gpu}"));
    }
    if let Some(worker) = action.worker() {
        text.push_str(&format!(" by {worker}"));
    }
    text
}
