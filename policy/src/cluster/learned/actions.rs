//! The factored action: what to do, then with which job, on which GPU, by which worker.
//!
//! A network computes one logit for each value of each factor, all side by side: the columns. Every
//! factor is a softmax of its own, and the log-probability of an action is the sum over the factors
//! that its type needs.

use std::ops::Range;

use sentinel_env::cluster::{
    Action, ActionType, GPUS_MAX, GpuId, JOBS_MAX, JobId, JobStatus, Observation,
};
use sentinel_env::slot::{SLOTS, Slot};

use super::net::ClusterNet;
use crate::nn::{Choice, Network};

/// A part of an action that is chosen by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Factor {
    /// The type of the action.
    Kind,
    /// Which job is put on a GPU.
    AllocateJob,
    /// On which GPU.
    AllocateGpu,
    /// By which worker.
    AllocateWorker,
    /// Which job is taken off.
    PreemptJob,
    /// Which job is asked about.
    AskJob,
    /// Which worker is asked; the last value stands for the job's own.
    AskWorker,
    /// Which job is checked.
    VerifyJob,
    /// Which worker must report for it; the last value stands for the job's own.
    VerifyWorker,
}

/// Number of factors.
pub const FACTORS: usize = 9;
/// Values of a factor that names a worker or the job's own.
const WORKERS: usize = SLOTS + 1;
/// Number of values of each factor, in the order of [`Factor`].
const SIZES: [usize; FACTORS] = [
    ActionType::ALL.len(),
    JOBS_MAX,
    GPUS_MAX,
    SLOTS,
    JOBS_MAX,
    JOBS_MAX,
    WORKERS,
    JOBS_MAX,
    WORKERS,
];

/// The columns of each factor.
pub const SEGMENTS: [Range<usize>; FACTORS] = segments();
/// Number of columns.
pub const COLUMNS: usize = SEGMENTS[FACTORS - 1].end;

const fn segments() -> [Range<usize>; FACTORS] {
    let mut all = [const { 0..0 }; FACTORS];
    let (mut index, mut start) = (0, 0);
    while index < FACTORS {
        all[index] = start..start + SIZES[index];
        start += SIZES[index];
        index += 1;
    }
    all
}

impl Factor {
    /// Returns the columns of the factor.
    #[must_use]
    pub const fn columns(self) -> Range<usize> {
        let all = &SEGMENTS[self as usize];
        all.start..all.end
    }

    /// Returns the factors that a type of action needs beside itself.
    #[must_use]
    pub const fn needed_by(kind: ActionType) -> &'static [Self] {
        match kind {
            ActionType::Allocate => &[Self::AllocateJob, Self::AllocateGpu, Self::AllocateWorker],
            ActionType::Preempt => &[Self::PreemptJob],
            ActionType::RequestInfo => &[Self::AskJob, Self::AskWorker],
            ActionType::Verify => &[Self::VerifyJob, Self::VerifyWorker],
            ActionType::Tick => &[],
        }
    }
}

/// Returns the factor to choose after those of `chosen`.
pub(super) fn next_factor(chosen: &Choice) -> Option<usize> {
    match chosen.len().checked_sub(1) {
        None => Some(Factor::Kind as usize),
        Some(place) => {
            let needed = Factor::needed_by(ActionType::ALL[chosen.column(0)]);
            needed.get(place).map(|factor| *factor as usize)
        }
    }
}

/// Returns the action that a complete choice stands for.
pub(super) fn action(choice: &Choice) -> Action {
    let value = |place: usize, factor: Factor| choice.column(place) - factor.columns().start;
    let job = |factor| Some(JobId(value(1, factor) as u8));
    let worker = |place, factor| Slot::ALL.get(value(place, factor)).copied();
    match ActionType::ALL[choice.column(0)] {
        ActionType::Allocate => Action::Allocate {
            job: job(Factor::AllocateJob),
            gpu: Some(GpuId(value(2, Factor::AllocateGpu) as u8)),
            worker: worker(3, Factor::AllocateWorker),
        },
        ActionType::Preempt => Action::Preempt {
            job: job(Factor::PreemptJob),
            worker: None,
        },
        ActionType::RequestInfo => Action::RequestInfo {
            job: job(Factor::AskJob),
            worker: worker(2, Factor::AskWorker),
        },
        ActionType::Verify => Action::Verify {
            job: job(Factor::VerifyJob),
            worker: worker(2, Factor::VerifyWorker),
            force_flag: false,
        },
        ActionType::Tick => Action::Tick,
    }
}

/// Returns the choice that stands for an action; `None` for one that leaves out what a choice names.
pub(super) fn choice_of(action: Action) -> Option<Choice> {
    let job = action.job().map(|job| job.index());
    let gpu = action.gpu().map(GpuId::index);
    let worker = action.worker().map(Slot::index);
    let mut fits = true;
    let choice = ClusterNet::select(|columns| {
        let value = match SEGMENTS.iter().position(|segment| *segment == columns) {
            Some(0) => Some(action.action_type() as usize),
            Some(1 | 4 | 5 | 7) => job,
            Some(2) => gpu,
            Some(3) => worker,
            _ => Some(worker.unwrap_or(SLOTS)),
        };
        let value = value.filter(|value| *value < columns.len());
        fits &= value.is_some();
        columns.start + value.unwrap_or(0)
    });
    fits.then_some(choice)
}

/// Writes which columns can be chosen. A factor of an action type that cannot be chosen may have
/// none; the other types can always be completed.
pub(super) fn action_mask(o: &Observation, mask: &mut [bool]) {
    mask.fill(false);
    if o.done() {
        return;
    }
    let mut allow = |factor: Factor, value: usize| mask[factor.columns().start + value] = true;
    let (mut waits, mut runs, mut placed) = (false, false, false);
    for (id, job) in o.jobs.iter() {
        let open = matches!(job.status, JobStatus::Running | JobStatus::TimedOut);
        match job.status {
            JobStatus::Queued => {
                waits = true;
                allow(Factor::AllocateJob, id.index());
            }
            JobStatus::Running => {
                runs = true;
                allow(Factor::AskJob, id.index());
                allow(Factor::VerifyJob, id.index());
            }
            _ => {}
        }
        if open && job.placed.is_some() {
            placed = true;
            allow(Factor::PreemptJob, id.index());
        }
    }
    let mut room = false;
    for (index, gpu) in o.gpus().iter().enumerate() {
        if gpu.state.operational() {
            room = true;
            allow(Factor::AllocateGpu, index);
        }
    }
    for factor in [
        Factor::AllocateWorker,
        Factor::AskWorker,
        Factor::VerifyWorker,
    ] {
        (0..factor.columns().len()).for_each(|value| allow(factor, value));
    }
    let kinds = [
        (ActionType::Allocate, waits && room),
        (ActionType::Preempt, placed),
        (ActionType::RequestInfo, runs),
        (ActionType::Verify, runs),
        (ActionType::Tick, true),
    ];
    for (kind, possible) in kinds {
        if possible {
            allow(Factor::Kind, kind as usize);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_choice_leads_to_an_action_and_back() {
        for start in 0..200usize {
            let mut turn = start;
            let choice = ClusterNet::select(|columns| {
                turn = turn * 7 + 3;
                columns.start + turn % columns.len()
            });
            let action = action(&choice);
            assert_eq!(choice_of(action), Some(choice), "{action}");
        }
    }

    #[test]
    fn an_action_that_names_nothing_has_no_choice() {
        let nothing = Action::Allocate {
            job: None,
            gpu: None,
            worker: None,
        };
        assert_eq!(choice_of(nothing), None);
    }
}
