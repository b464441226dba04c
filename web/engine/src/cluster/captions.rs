//! The notable events of an episode of the cluster world, shown as captions.

use sentinel_env::PrivilegedState as _;
use sentinel_env::cluster::{ClusterEnv, Hidden, JobId};
use sentinel_env::slot::Slot;

use super::step::PublicStep;
use super::truth::attack_words;
use super::workers::short;
use crate::caption::CaptionEvent;
use crate::format::percent;
use crate::run::{Frame, PublicFrame};

/// Returns the notable events of the last step.
pub(super) fn caption_events(frame: &PublicFrame<'_, ClusterEnv>) -> Vec<CaptionEvent> {
    let Some(step) = frame.step else {
        let text = "GPUs will fail, and some workers overstate what they have done.";
        return vec![CaptionEvent::new("The task", text.to_owned())];
    };
    // The headline already says what happened, except where a text is added.
    let first = |title, is_match: fn(&PublicStep) -> bool| {
        let event = CaptionEvent::new(title, String::new());
        frame.is_first(is_match).then_some(event)
    };
    let all = [
        first("First attack", |step| step.attacked),
        first("Attack found", |step| step.attack_found),
        failure(frame),
        doubt(frame, step),
        broken(frame, step),
        saved(frame, step),
        first("A false claim believed", |step| step.believed),
    ];
    all.into_iter().flatten().collect()
}

fn is_wrong(step: &PublicStep) -> bool {
    step.report.is_some_and(|report| !report.right)
}

/// Returns the event of the first report that the record counts as wrong.
fn failure(frame: &PublicFrame<'_, ClusterEnv>) -> Option<CaptionEvent> {
    let slot = frame.step?.report?.worker;
    let [was, now] = [frame.before()?, frame.observation].map(|o| o.ledger[slot].trust());
    let text = format!("Trust in {slot} falls from {was:.2} to {now:.2}.");
    frame
        .is_first(is_wrong)
        .then(|| CaptionEvent::new("A worker exposed", text))
}

/// Returns the event in which a job is first given to another worker than the one that was
/// exposed first.
fn doubt(frame: &PublicFrame<'_, ClusterEnv>, step: &PublicStep) -> Option<CaptionEvent> {
    let turns = |step: &PublicStep, from: Slot| {
        let worker = step.names.worker.filter(|_| step.names.gpu.is_some());
        worker.filter(|worker| *worker != from)
    };
    let mut history = frame.history();
    let from = history.find(|step| is_wrong(step))?.report?.worker;
    // Only the steps after the one that exposed the worker are left.
    let count = history.filter(|step| turns(step, from).is_some()).count();
    let to = turns(step, from).filter(|_| count == 1)?;
    let text = format!("The agent turns from {from} to {to}.");
    Some(CaptionEvent::new("First doubt", text))
}

/// Returns the event of the first failed GPU.
fn broken(frame: &PublicFrame<'_, ClusterEnv>, step: &PublicStep) -> Option<CaptionEvent> {
    let first = frame.is_first(|step| !step.failed.is_empty());
    // The headline takes the first event at most, and a failure is never the first one it takes.
    let text = || {
        let events = step.events().into_iter();
        let about = events.filter(|event| {
            event.ends_with("fails.") || event.ends_with("fail.") || event.contains("queued again")
        });
        about.collect::<Vec<String>>().join(" ")
    };
    first.then(|| CaptionEvent::new("A GPU fails", text()))
}

/// Returns the event in which a job that a failure had interrupted is first done.
fn saved(frame: &PublicFrame<'_, ClusterEnv>, step: &PublicStep) -> Option<CaptionEvent> {
    let interrupted = |job: &JobId| frame.history().any(|step| step.requeued.contains(job));
    let saved = |step: &PublicStep| step.done.iter().copied().find(interrupted);
    let job = saved(step)?;
    let first = frame.history().filter(|step| saved(step).is_some()).count() == 1;
    let text = format!("{job} is saved: it had lost its GPU.");
    first.then(|| CaptionEvent::new("A job saved", text))
}

/// Returns the hidden fact that belongs to a frame: the first attack, and the behavior of the
/// worker whose report is the first wrong one, or the first that was believed.
pub(super) fn true_caption(frames: &[Frame<ClusterEnv>], index: usize) -> String {
    let frame = &frames[index];
    let hidden: &Hidden = frame.episode.hidden();
    let Some(step) = frame.info() else {
        return String::new();
    };
    let dishonest = |frame: &&Frame<ClusterEnv>| {
        let report = frame.info().and_then(|step| step.report);
        report.is_some_and(|report| !report.honest)
    };
    let believed = |frame: &&Frame<ClusterEnv>| frame.step().is_some_and(|step| step.believed);
    let is_first = |is_match: &dyn Fn(&&Frame<ClusterEnv>) -> bool| {
        is_match(&frame) && frames[..=index].iter().filter(is_match).count() == 1
    };
    if let Some(report) = &step.report
        && (is_first(&dishonest) || is_first(&believed))
    {
        let behavior = short(hidden.assignment[report.worker]);
        let (worker, job) = (report.worker, report.job);
        return format!(
            "{worker} is {behavior}: {job} is at {}.",
            percent(report.actual)
        );
    }
    match &step.attack {
        Some(attack) if is_first(&|frame| frame.info().is_some_and(|s| s.attack.is_some())) => {
            format!("The adversary forges {}.", attack_words(attack))
        }
        _ => String::new(),
    }
}
