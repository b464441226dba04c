//! Texts of the cluster world for actions, statuses, states and lists.

use sentinel_env::cluster::{
    Action, ActionType, Agent, GpuId, GpuState, JobId, JobStatus, Observation,
};
use sentinel_env::slot::Slot;
use sentinel_page_protocol::Tone;

use crate::format::capitalized;

/// Job, GPU and worker of an action, as named or as chosen by rule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Names {
    /// Job of the action; `None` if unknown.
    pub(super) job: Option<JobId>,
    /// GPU of the action; `None` if it has none or it is unknown.
    pub(super) gpu: Option<GpuId>,
    /// Worker of the action; `None` if unknown.
    pub(super) worker: Option<Slot>,
}

impl From<Action> for Names {
    fn from(action: Action) -> Self {
        Self {
            job: action.job(),
            gpu: action.gpu(),
            worker: action.worker(),
        }
    }
}

/// Grammatical form of an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// An order, as in `verify JOB-012`.
    Base,
    /// A statement without a subject who acts, as in `JOB-012 is verified`.
    Passive,
}

/// Returns an action in words, such as `allocate JOB-012 to GPU-03 with worker S2`, or `JOB-012 is
/// allocated to GPU-03 with worker S2`.
pub(super) fn phrase(action: Action, names: Names, form: Form) -> String {
    let verbs = match action {
        Action::Allocate { .. } => ["allocate", "allocated"],
        Action::Preempt { .. } => ["preempt", "preempted"],
        Action::RequestInfo { .. } => ["ask", "asked"],
        Action::Verify {
            force_flag: true, ..
        } => ["verify and flag", "verified and flagged"],
        Action::Verify { .. } => ["verify", "verified"],
        Action::Tick => ["wait", "one step passes"],
    };
    let verb = verbs[form as usize];
    let of = |object: &str| match form {
        Form::Base => format!("{verb} {object}"),
        Form::Passive => format!("{object} is {verb}"),
    };
    let by_rule = match action {
        Action::Preempt { .. } => "the job of the least trusted worker",
        Action::Allocate { .. } | Action::RequestInfo { .. } => "the most urgent job",
        Action::Verify { .. } | Action::Tick => "the most urgent job’s report",
    };
    let job = names
        .job
        .map_or_else(|| by_rule.to_owned(), |job| job.to_string());
    let to = names
        .gpu
        .map_or_else(String::new, |gpu| format!(" to {gpu}"));
    let with = names
        .worker
        .map_or_else(String::new, |worker| format!(" with worker {worker}"));
    match (action, names.worker) {
        (Action::Tick, _) => verb.to_owned(),
        (Action::Preempt { .. }, _) => of(&job),
        (Action::RequestInfo { .. }, Some(worker)) => format!("{} about {job}", of(worker.name())),
        (Action::RequestInfo { .. }, None) if form == Form::Base => format!("{verb} about {job}"),
        (Action::RequestInfo { .. }, None) => format!("{} about {job}", of("a worker")),
        (Action::Verify { .. }, _) => of(&job) + &with,
        (Action::Allocate { .. }, _) => of(&job) + &to + &with,
    }
}

/// Returns an action as menus and lists show it.
pub(super) fn describe(action: Action) -> String {
    capitalized(&phrase(action, action.into(), Form::Base))
}

/// Returns the verb of a kind of action as its button shows it.
pub(super) const fn verb(kind: ActionType) -> &'static str {
    match kind {
        ActionType::Allocate => "Allocate",
        ActionType::Preempt => "Preempt",
        ActionType::RequestInfo => "Ask",
        ActionType::Verify => "Verify",
        ActionType::Tick => "Wait",
    }
}

/// Returns the word for the status of a job.
pub(super) const fn status(status: JobStatus) -> &'static str {
    match status {
        JobStatus::Queued => "queued",
        JobStatus::Running => "running",
        JobStatus::Complete => "done",
        JobStatus::Failed => "failed",
        JobStatus::TimedOut => "timed out",
    }
}

/// Returns the word for the state of a GPU.
pub(super) const fn state(state: GpuState) -> &'static str {
    match state {
        GpuState::Idle => "idle",
        GpuState::Allocated => "in use",
        GpuState::Overloaded => "overloaded",
        GpuState::Failed => "failed",
        GpuState::Recovering => "recovering",
    }
}

/// Returns the color for the state of a GPU.
pub(super) const fn state_tone(state: GpuState) -> Tone {
    match state {
        GpuState::Idle => Tone::Quiet,
        GpuState::Allocated => Tone::Neutral,
        GpuState::Overloaded | GpuState::Recovering => Tone::Warn,
        GpuState::Failed => Tone::Bad,
    }
}

/// Returns the name of an agent in the audit.
pub(super) const fn agent(agent: Agent) -> &'static str {
    match agent {
        Agent::Worker(slot) => slot.name(),
        Agent::Adversary => "Adversary",
        Agent::Auditor => "Scheduler, verifying",
        Agent::Cluster => "GPUs that failed",
        Agent::ResourceManager => "Scheduler, allocating",
    }
}

/// Joins things with commas and `and`.
pub(super) fn list<T: std::fmt::Display>(things: &[T]) -> String {
    match things {
        [] => String::new(),
        [only] => only.to_string(),
        [first @ .., last] => {
            let first: Vec<String> = first.iter().map(T::to_string).collect();
            format!("{} and {last}", first.join(", "))
        }
    }
}

/// Returns the number of jobs of each status in words, such as `3 running, 7 queued`.
pub(super) fn job_counts(o: &Observation) -> String {
    let all = JobStatus::ALL.into_iter().zip(o.jobs.counts());
    let some = all.filter(|(_, count)| *count > 0);
    let some: Vec<String> = some
        .map(|(kind, count)| format!("{count} {}", status(kind)))
        .collect();
    some.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn actions_read_as_plain_words() {
        let (job, gpu, worker) = (Some(JobId(12)), Some(GpuId(3)), Some(Slot::ALL[2]));
        let force_flag = true;
        let all = [
            Action::Allocate { job, gpu, worker },
            Action::Allocate {
                job: None,
                gpu: None,
                worker,
            },
            Action::Preempt { job, worker },
            Action::Preempt {
                job: None,
                worker: None,
            },
            Action::RequestInfo { job, worker },
            Action::RequestInfo { job, worker: None },
            Action::Verify {
                job,
                worker,
                force_flag,
            },
            Action::Tick,
        ];
        let texts = [
            "Allocate JOB-012 to GPU-03 with worker S2",
            "Allocate the most urgent job with worker S2",
            "Preempt JOB-012",
            "Preempt the job of the least trusted worker",
            "Ask S2 about JOB-012",
            "Ask about JOB-012",
            "Verify and flag JOB-012 with worker S2",
            "Wait",
        ];
        assert_eq!(all.map(describe), texts);
        let statements = [
            "JOB-012 is allocated to GPU-03 with worker S2",
            "the most urgent job is allocated with worker S2",
            "JOB-012 is preempted",
            "the job of the least trusted worker is preempted",
            "S2 is asked about JOB-012",
            "a worker is asked about JOB-012",
            "JOB-012 is verified and flagged with worker S2",
            "one step passes",
        ];
        let statement = |action: Action| phrase(action, action.into(), Form::Passive);
        assert_eq!(all.map(statement), statements);
    }

    #[test]
    fn lists_end_with_and() {
        assert_eq!(list::<u8>(&[]), "");
        assert_eq!((list(&[1]), list(&[1, 2])), ("1".into(), "1 and 2".into()));
        assert_eq!(list(&["a", "b", "c"]), "a, b and c");
    }
}
