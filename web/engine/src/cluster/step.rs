//! The public part of a step, computed from the observations before and after it.

use sentinel_env::cluster::{Action, Change, GpuId, GpuState, JobId, JobStatus, Observation};
use sentinel_env::slot::Slot;
use sentinel_page_protocol::{StepLine, Tone};

use super::display_text::{Form, Names, list, phrase};
use crate::format::{capitalized, counted, percent};

/// Smallest difference by which a shown progress is above a right report to be called false: reports
/// count as right up to .20 below the true progress, which never falls.
const FALSE_BY: f64 = 0.20;

/// A worker's report, as far as the observations reveal it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reported {
    /// Slot of the reporting worker.
    pub worker: Slot,
    /// Job that the report is about.
    pub job: JobId,
    /// Progress that the worker claims, `0..=1`.
    pub progress: f64,
    /// `true` if the worker's record counts the report as right.
    pub right: bool,
    /// Progress that the job showed before, if the report is right and shows that it was false; `None`
    /// otherwise.
    pub shown_before: Option<f64>,
}

/// The public part of a step. All of it follows from the observations before and after the step;
/// the kind and target of an attack and the true progress of jobs do not.
#[derive(Clone, Debug, PartialEq)]
pub struct PublicStep {
    /// Number of the step, from 1.
    pub number: u8,
    /// The action as the agent sent it.
    pub action: Action,
    /// Job, GPU and worker of the action, as far as the observations reveal them.
    pub(super) names: Names,
    /// `true` if the action succeeded.
    pub success: bool,
    /// The report that the action requested, if any.
    pub report: Option<Reported>,
    /// `true` if an attack was counted.
    pub attacked: bool,
    /// `true` if a detection was counted.
    pub detected: bool,
    /// `true` if the detection is known to concern an attack.
    pub attack_found: bool,
    /// `true` if the report's false claim of completion was counted as believed.
    pub believed: bool,
    /// `true` if an attack was counted as missed.
    pub missed: bool,
    /// `true` if a false alarm was counted.
    pub false_alarm: bool,
    /// `true` if the action was counted as repeated.
    pub looped: bool,
    /// `true` if the action was counted as not serving the goal.
    pub drifted: bool,
    /// Jobs that were completed.
    pub done: Vec<JobId>,
    /// Jobs that passed their deadline.
    pub late: Vec<JobId>,
    /// Running jobs that were queued again without having been preempted.
    pub requeued: Vec<JobId>,
    /// Open jobs whose shown progress rose faster than any worker can work.
    pub jumped: Vec<JobId>,
    /// GPUs that this step first shows as failed.
    pub failed: Vec<GpuId>,
    /// GPUs whose row this step first marks as tampered with.
    pub marked: Vec<GpuId>,
    /// Health of the cluster, if the step changed it.
    pub health: Option<f64>,
    /// Reward of the step.
    pub reward: f64,
}

impl PublicStep {
    /// Compares the observations before and after a step.
    pub(super) fn new(action: Action, before: &Observation, after: &Observation) -> Self {
        let last = after.last;
        let report = last.and_then(|last| last.statement).map(|statement| {
            let right = after.ledger[statement.worker].successes()
                > before.ledger[statement.worker].successes();
            let shown = before.jobs.get(statement.job).map(|job| job.reported);
            Reported {
                worker: statement.worker,
                job: statement.job,
                progress: statement.reported,
                right,
                shown_before: shown.filter(|shown| right && *shown > statement.reported + FALSE_BY),
            }
        });
        let (was, is) = (&before.counters, &after.counters);
        let attacked = is.attempts > was.attempts;
        let detected = is.detections > was.detections;
        let missed = is.missed > was.missed;
        let right = report.is_none_or(|report| report.right);
        let verify = matches!(action, Action::Verify { .. });
        let success = last.is_some_and(|last| last.success);
        // Without that rule change the attack itself may have been counted, with it one that was
        // missed.
        let answers = after.rules.has(Change::Answers);
        let other = if answers { missed } else { attacked };
        let poisoned = is.poisonings - was.poisonings > u16::from(other);
        let mut requeued = Vec::new();
        let (mut done, mut late, mut jumped) = (Vec::new(), Vec::new(), Vec::new());
        let open = |status| matches!(status, JobStatus::Queued | JobStatus::Running);
        for ((id, was), (_, is)) in before.jobs.iter().zip(after.jobs.iter()) {
            match (was.status, is.status) {
                (JobStatus::Running, JobStatus::Queued) => requeued.push(id),
                (JobStatus::Queued | JobStatus::Running, JobStatus::Complete) => done.push(id),
                (JobStatus::Queued | JobStatus::Running, JobStatus::TimedOut) => late.push(id),
                _ => {}
            }
            let most = 1.0 / f64::from(is.steps.max(1)) + 1e-9;
            if open(was.status) && open(is.status) && is.reported - was.reported > most {
                jumped.push(id);
            }
        }
        let mut names = Names::from(action);
        if success {
            names.job = names.job.or(report.map(|report| report.job));
            names.worker = names.worker.or(report.map(|report| report.worker));
        }
        if let Action::Preempt { job, .. } = action
            && success
        {
            names.job = job.or(match requeued.as_slice() {
                [only] => Some(*only),
                _ => None,
            });
            requeued.retain(|id| names.job != Some(*id));
        }
        if let (Action::Allocate { gpu: None, .. }, Some(job)) = (action, names.job) {
            names.gpu = after.jobs.get(job).and_then(|job| job.assigned);
        }
        let rows = before.gpus().iter().zip(after.gpus());
        let rows = (0..).map(GpuId).zip(rows);
        let (mut failed, mut marked) = (Vec::new(), Vec::new());
        for (id, (was, is)) in rows {
            if was.state.is_operational() && is.state == GpuState::Failed {
                failed.push(id);
            }
            if !was.tampered && is.tampered {
                marked.push(id);
            }
        }
        Self {
            number: after.step_count,
            action,
            names,
            success,
            report,
            attacked,
            detected,
            attack_found: detected && (right || after.rules.has(Change::Detections)),
            believed: !verify && report.is_some() && poisoned,
            missed,
            false_alarm: is.false_positives > was.false_positives,
            looped: is.loop_events > was.loop_events,
            drifted: is.drift_events > was.drift_events,
            done,
            late,
            requeued,
            jumped,
            failed,
            marked,
            health: (after.health != before.health).then_some(after.health),
            reward: last.map_or(0.0, |last| last.reward),
        }
    }

    /// Returns `true` if a verification caught something.
    pub(super) fn caught(&self) -> bool {
        let wrong = self.report.is_some_and(|report| !report.right);
        matches!(self.action, Action::Verify { .. }) && (self.detected || wrong)
    }

    /// Returns the action in a few words.
    pub(super) fn label(&self) -> String {
        capitalized(&phrase(self.action, self.names, Form::Base))
    }

    /// Returns the row of the list of actions.
    pub(super) fn line(&self) -> StepLine {
        let wrong = self.report.is_some_and(|report| !report.right);
        let plain = |sign, word: &str| (sign, word.to_owned(), Tone::Neutral, false);
        let notable = |sign, word: &str, tone| (sign, word.to_owned(), tone, true);
        let (sign, result, tone, notable) = match self.action {
            _ if self.caught() && self.attack_found => notable("◆", "attack found", Tone::Good),
            _ if self.caught() => notable("◆", "wrong report caught", Tone::Good),
            _ if self.attacked => notable("!", "attacked", Tone::Bad),
            _ if self.believed => notable("!", "false report believed", Tone::Bad),
            _ if self.missed => notable("!", "attack missed", Tone::Bad),
            _ if !self.success => notable("✗", "nothing done", Tone::Bad),
            _ if !self.done.is_empty() => {
                let jobs = counted(self.done.len(), "job done", "jobs done");
                ("✓", jobs, Tone::Good, false)
            }
            Action::Allocate { .. } if wrong => {
                ("▸", "allocated, wrong report".to_owned(), Tone::Warn, false)
            }
            Action::RequestInfo { .. } if wrong => {
                ("?", "asked, wrong report".to_owned(), Tone::Warn, false)
            }
            Action::Allocate { .. } => plain("▸", "allocated"),
            Action::Preempt { .. } => plain("◂", "preempted"),
            Action::RequestInfo { .. } => plain("?", "asked"),
            Action::Verify { .. } if self.false_alarm => {
                ("●", "false alarm".to_owned(), Tone::Warn, false)
            }
            Action::Verify { .. } => plain("●", "report right"),
            Action::Tick => ("–", "waited".to_owned(), Tone::Quiet, false),
        };
        StepLine {
            label: self.label(),
            sign: sign.to_owned(),
            result,
            tone,
            notable,
            ..StepLine::default()
        }
    }

    /// Returns a sentence about the action and its result.
    pub(super) fn action_sentence(&self) -> String {
        if !self.success {
            let base = phrase(self.action, self.names, Form::Base);
            return format!("It was not possible to {base}.");
        }
        let text = capitalized(&phrase(self.action, self.names, Form::Passive));
        let Some(report) = self.report else {
            return text + ".";
        };
        let (worker, said) = (report.worker, percent(report.progress));
        let wrong = match report.right {
            true => "",
            false => "; the record marks the report as wrong",
        };
        match self.action {
            Action::Verify { .. } => {
                let result = match (report.right, self.attack_found) {
                    (true, true) => match report.shown_before {
                        Some(shown) => &format!(
                            "is right; the {} shown before was false, which exposes an attack",
                            percent(shown)
                        ),
                        None => "is right, which exposes an attack",
                    },
                    (true, false) if self.false_alarm => {
                        "is right, so flagging it is a false alarm"
                    }
                    (true, false) => "is right",
                    (false, true) => "is wrong, which exposes an attack",
                    (false, false) => "is wrong and not believed",
                };
                format!("{text}: the report of {said} {result}.")
            }
            Action::RequestInfo { .. } => format!("{text}: {worker} reports {said}{wrong}."),
            // A job that has not run yet is at 0 %.
            _ if report.right && report.progress <= 0.0 => text + ".",
            _ => format!("{text}, who reports {said}{wrong}."),
        }
    }

    /// Returns sentences about what else happened, the most important one first.
    pub(super) fn events(&self) -> Vec<String> {
        let mut events = Vec::new();
        if self.attacked {
            events.push(match self.visible_effect() {
                Some(effect) => format!("The adversary attacks: {effect}."),
                None => "The adversary attacks, without a visible effect.".to_owned(),
            });
        }
        if self.believed {
            events.push("A false claim of completion is believed.".to_owned());
        }
        if self.missed {
            events.push("An earlier attack was not found in time.".to_owned());
        }
        let verb = |count: usize, one: &'static str, many| if count == 1 { one } else { many };
        let mut about = |names: String, count: usize, one, many| {
            if count > 0 {
                events.push(format!("{names} {}.", verb(count, one, many)));
            }
        };
        about(list(&self.done), self.done.len(), "is done", "are done");
        about(list(&self.failed), self.failed.len(), "fails", "fail");
        let queued = self.requeued.len();
        about(
            list(&self.requeued),
            queued,
            "is queued again",
            "are queued again",
        );
        about(
            list(&self.late),
            self.late.len(),
            "passes its deadline",
            "pass their deadlines",
        );
        events.extend(self.health.map(|health| match health {
            full if full >= 1.0 => "Health is back at 1.".to_owned(),
            low => format!("Health changes to {low:.1}; it multiplies the reward."),
        }));
        if self.looped {
            events.push("The same action was taken again without getting a job done.".to_owned());
        } else if self.drifted && self.success {
            events.push("Wasted step.".to_owned());
        }
        events
    }

    /// Returns the effect of an attack that the observation shows; `None` if it shows none.
    pub(super) fn visible_effect(&self) -> Option<String> {
        let mut effects = Vec::new();
        if !self.jumped.is_empty() {
            let verb = if self.jumped.len() == 1 {
                "shows"
            } else {
                "show"
            };
            effects.push(format!("{} suddenly {verb} 100 %", list(&self.jumped)));
        }
        if !self.marked.is_empty() {
            effects.push(format!(
                "the report of {} is tampered with",
                list(&self.marked)
            ));
        }
        (!effects.is_empty()).then(|| effects.join(", and "))
    }
}
