//! Warnings about actions that would have no effect, judged by the observation.

use sentinel_env::cluster::{Action, Change, GpuId, JobId, JobStatus, Observation};

use super::display_text::status;

/// Returns a sentence about what would go wrong with an action; empty if nothing is known.
pub(super) fn warning(o: &Observation, action: Action) -> String {
    reason(o, action).map_or_else(String::new, |reason| {
        format!("{reason}. The step would be wasted.")
    })
}

fn reason(o: &Observation, action: Action) -> Option<String> {
    if let Some(job) = action.job().filter(|job| o.jobs.get(*job).is_none()) {
        return Some(format!("This task has no {job}"));
    }
    let unknown = |gpu: &GpuId| o.gpus().get(gpu.index()).is_none();
    if let Some(gpu) = action.gpu().filter(unknown) {
        return Some(format!("This task has no {gpu}"));
    }
    if let Some(left_out) = left_out(action).filter(|_| o.rules.has(Change::Choices)) {
        return Some(format!("Under these rules the action must name {left_out}"));
    }
    match action {
        Action::Allocate { job, gpu, .. } => requires(o, job, JobStatus::Queued, "allocated")
            .or_else(|| {
                let gpu = gpu.filter(|gpu| !o.appears_operational(*gpu))?;
                Some(format!("{gpu} is down and takes no jobs"))
            }),
        Action::Verify { job, .. } => requires(o, job, JobStatus::Running, "verified"),
        Action::RequestInfo { job, .. } => requires(o, job, JobStatus::Running, "asked about"),
        Action::Preempt { job: Some(job), .. } => {
            let placed = o.jobs.get(job).is_some_and(|job| job.placed.is_some());
            (!placed).then(|| format!("{job} is on no GPU, so there is nothing to preempt"))
        }
        Action::Preempt { job: None, .. } => requires(o, None, JobStatus::Running, "preempted"),
        Action::Tick => None,
    }
}

/// Returns the parts that an action leaves to the environment, which some rules forbid.
fn left_out(action: Action) -> Option<&'static str> {
    match action {
        Action::Allocate {
            job: Some(_),
            gpu: Some(_),
            worker: Some(_),
        }
        | Action::Tick => None,
        Action::Allocate { .. } => Some("a job, a GPU and a worker"),
        _ => action.job().is_none().then_some("a job"),
    }
}

/// Returns a reason if the job does not have the status that an action needs, or no job has it.
fn requires(o: &Observation, job: Option<JobId>, wanted: JobStatus, done: &str) -> Option<String> {
    let needed = status(wanted);
    match job {
        Some(job) => {
            let found = o.jobs.get(job)?.status;
            (found != wanted).then(|| {
                format!(
                    "{job} is {}, and only a {needed} job can be {done}",
                    status(found)
                )
            })
        }
        None => {
            let any = o.jobs.count(wanted) > 0;
            (!any).then(|| format!("No job is {needed}, so none can be {done}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sentinel_env::Environment;
    use sentinel_env::cluster::{Episode, Rules, Setup, Task};
    use sentinel_env::rng::Streams;

    /// Checks that a warned action fails, and that one without a warning succeeds as long as
    /// nothing hidden is in the way.
    #[test]
    fn warnings_are_right() {
        let job = Some(JobId(0));
        let (gpu, worker) = (Some(GpuId(1)), None);
        let named = Some(sentinel_env::slot::Slot::ALL[2]);
        let verify = |job| Action::Verify {
            job,
            worker,
            force_flag: false,
        };
        let all = [
            verify(job),
            verify(None),
            Action::RequestInfo { job, worker },
            Action::RequestInfo { job: None, worker },
            Action::Preempt { job, worker },
            Action::Allocate { job, gpu, worker },
            Action::Allocate {
                job,
                gpu,
                worker: named,
            },
            Action::Allocate { job, gpu, worker },
            verify(job),
            verify(None),
            Action::Preempt { job, worker },
            Action::Preempt { job: None, worker },
            Action::Tick,
        ];
        for rules in [Rules::REFERENCE, Rules::HARDENED] {
            let setup = Setup::new(Task::Task1, 5, Streams::Independent).with_rules(rules);
            let mut episode = Episode::reset(&setup);
            for action in all {
                let warned = warning(episode.observation(), action);
                let step = episode.step(action).expect("a step");
                assert_eq!(warned.is_empty(), step.info.success, "{action}: {warned}");
            }
        }
    }

    /// Checks that names that the task does not have are warned of; the environment refuses them.
    #[test]
    fn names_that_do_not_exist_are_warned_of() {
        let setup = Setup::new(Task::Task1, 5, Streams::Independent);
        let mut episode = Episode::reset(&setup);
        let (job, gpu, worker) = (Some(JobId(10)), Some(GpuId(8)), None);
        for action in [
            Action::Preempt { job, worker },
            Action::Allocate {
                job: None,
                gpu,
                worker,
            },
        ] {
            assert!(warning(episode.observation(), action).contains("no "));
            assert!(episode.step(action).is_err());
        }
    }
}
