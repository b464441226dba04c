//! What the person is about to do: chosen in the form, or by pointing at a job, a GPU or a worker.

use leptos::prelude::*;
use sentinel_env::cluster::{Action, ActionType, GpuId, JobId, JobStatus, Observation};
use sentinel_env::slot::Slot;
use wasm_bindgen::JsCast;

use super::Cluster;
use crate::ui::{Scene, Which};

/// A choice that is not made yet in all its parts; what is left out is chosen by rule.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Choice {
    /// The kind of action.
    pub kind: ActionType,
    /// The job.
    pub job: Option<JobId>,
    /// The GPU.
    pub gpu: Option<GpuId>,
    /// The worker.
    pub worker: Option<Slot>,
    /// Whether a report that stands is flagged.
    pub flag: bool,
}

impl Default for Choice {
    fn default() -> Self {
        Self {
            kind: ActionType::Allocate,
            job: None,
            gpu: None,
            worker: None,
            flag: false,
        }
    }
}

impl Choice {
    /// The action, without what its kind does not use.
    pub(super) const fn action(self) -> Action {
        let (job, worker) = (self.job, self.worker);
        match self.kind {
            ActionType::Allocate => Action::Allocate {
                job,
                gpu: self.gpu,
                worker,
            },
            ActionType::Preempt => Action::Preempt { job, worker },
            ActionType::RequestInfo => Action::RequestInfo { job, worker },
            ActionType::Verify => Action::Verify {
                job,
                worker,
                force_flag: self.flag,
            },
            ActionType::Tick => Action::Tick,
        }
    }

    /// Takes in something that was pointed at, such as `j12`, `g3` or `w1`; pointing again takes it back.
    fn point(&mut self, what: &str) {
        fn toggle<T: PartialEq>(place: &mut Option<T>, value: T) {
            *place = (place.as_ref() != Some(&value)).then_some(value);
        }
        let Some((letter, number)) = what.split_at_checked(1) else {
            return;
        };
        let Ok(number) = number.parse::<u8>() else {
            return;
        };
        match letter {
            "j" => toggle(&mut self.job, JobId(number)),
            "g" => toggle(&mut self.gpu, GpuId(number)),
            "w" => {
                if let Some(slot) = Slot::new(usize::from(number)) {
                    toggle(&mut self.worker, slot);
                }
            }
            _ => {}
        }
    }
}

/// Why an action would be spent for nothing, as far as the observation tells.
pub(super) fn warning(o: &Observation, action: Action) -> Option<String> {
    let status = |job: JobId| o.jobs.get(job).map(|job| job.status);
    let is = |wanted: JobStatus, what: &str| {
        let any = o.jobs.count(wanted) > 0;
        match action.job() {
            Some(job) => {
                let status = status(job)?;
                (status != wanted).then(|| {
                    format!(
                        "{job} is {}: only a {} job can be {what}",
                        status.name(),
                        wanted.name()
                    )
                })
            }
            None => (!any).then(|| format!("No job is {}, so none can be {what}", wanted.name())),
        }
    };
    match action {
        Action::Allocate { gpu, .. } => is(JobStatus::Queued, "allocated").or_else(|| {
            let gpu = gpu.filter(|gpu| !o.appears_operational(*gpu))?;
            Some(format!("{gpu} is down: it takes no jobs"))
        }),
        Action::Verify { .. } => is(JobStatus::Running, "verified"),
        Action::RequestInfo { .. } => is(JobStatus::Running, "asked about"),
        Action::Preempt { job: Some(job), .. } => {
            let placed = o.jobs.get(job).is_some_and(|job| job.placed.is_some());
            (!placed).then(|| format!("{job} is on no GPU: there is nothing to preempt"))
        }
        Action::Preempt { job: None, .. } => is(JobStatus::Running, "preempted"),
        Action::Tick => None,
    }
}

/// The choice as a signal, and whether it may be made here.
#[derive(Clone, Copy)]
pub(super) struct Hand {
    /// What is chosen.
    pub choice: RwSignal<Choice>,
    /// Whether the person can act in this pane now.
    pub free: Memo<bool>,
    /// Whether this pane is one that the person can act in at all.
    pub own: bool,
}

impl Hand {
    pub(super) fn new(scene: Scene<Cluster>) -> Self {
        Self {
            choice: RwSignal::new(Choice::default()),
            free: Memo::new(move |_| scene.can_act()),
            own: scene.which == Which::Main,
        }
    }

    /// Takes in a click on something with `data-pick`.
    pub(super) fn click(self, event: &leptos::ev::MouseEvent) {
        let target = event
            .target()
            .and_then(|t| t.dyn_into::<web_sys::Element>().ok());
        let picked = target.and_then(|t| t.closest("[data-pick]").ok().flatten());
        if let Some(what) = picked.and_then(|p| p.get_attribute("data-pick")) {
            self.choice.update(|choice| choice.point(&what));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sentinel_env::Environment;
    use sentinel_env::cluster::{Episode, Setup, Task};
    use sentinel_env::rng::Streams;

    #[test]
    fn pointing_twice_takes_back_and_kinds_use_what_they_need() {
        let mut choice = Choice::default();
        for what in ["j12", "g3", "w4", "x9", "j", "w9", "", "é1"] {
            choice.point(what);
        }
        assert_eq!(
            choice.action().to_string(),
            "allocate JOB-012 on GPU-03 by S4"
        );
        choice.kind = ActionType::Verify;
        choice.point("w4");
        assert_eq!(choice.action().to_string(), "verify JOB-012");
        choice.kind = ActionType::Tick;
        assert_eq!(choice.action(), Action::Tick);
    }

    /// A warned action fails, and one without a warning does what it is meant to, as long as nothing hidden
    /// is in the way.
    #[test]
    fn warnings_are_right() {
        let setup = Setup::new(Task::Task1, 5, Streams::Independent);
        let mut episode = Episode::reset(&setup);
        let job = Some(JobId(0));
        let (gpu, worker) = (Some(GpuId(1)), None);
        let force_flag = false;
        let all = [
            Action::Verify {
                job,
                worker,
                force_flag,
            },
            Action::Verify {
                job: None,
                worker,
                force_flag,
            },
            Action::RequestInfo { job, worker },
            Action::Preempt { job, worker },
            Action::Allocate { job, gpu, worker },
            Action::Allocate { job, gpu, worker },
            Action::Verify {
                job,
                worker,
                force_flag,
            },
            Action::Preempt { job, worker },
            Action::Preempt { job: None, worker },
            Action::Tick,
        ];
        for action in all {
            let warned = warning(episode.observation(), action);
            let step = episode.step(action).expect("a step");
            assert_eq!(warned.is_none(), step.info.success, "{action}: {warned:?}");
        }
    }
}
