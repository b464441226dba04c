//! The factored action: its type, then the job, the GPU and the worker that the type needs.
//!
//! A network computes one logit for each value of each factor; together these are the columns.
//! Every factor is a separate softmax, and the log-probability of an action is the sum over the
//! factors that its type needs.

use std::ops::Range;

use sentinel_env::cluster::{
    Action, ActionType, GPUS_MAX, GpuId, JOBS_MAX, JobId, JobStatus, Observation,
};
use sentinel_env::slot::{SLOTS, Slot};

use super::architecture::ClusterNet;
use crate::nn::{Choice, Network};

/// A part of an action that is chosen separately.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Factor {
    /// The type of the action.
    Kind,
    /// The job to allocate.
    AllocateJob,
    /// The GPU to allocate the job to.
    AllocateGpu,
    /// The worker to allocate the job to.
    AllocateWorker,
    /// The job to preempt.
    PreemptJob,
    /// The job to ask about.
    AskJob,
    /// The worker to ask; the last value stands for the worker of the job.
    AskWorker,
    /// The job to verify.
    VerifyJob,
    /// The worker that must report on the job; the last value stands for the worker of the job.
    VerifyWorker,
}

/// Number of factors, the variants of [`Factor`].
pub const FACTORS: usize = 9;
/// Number of values of a factor that names a worker or the worker of the job.
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

/// The columns of each factor, in the order of [`Factor`].
pub const FACTOR_COLUMNS: [Range<usize>; FACTORS] = segments();
/// Number of columns over all factors.
pub const COLUMNS: usize = FACTOR_COLUMNS[FACTORS - 1].end;

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
        let all = &FACTOR_COLUMNS[self as usize];
        all.start..all.end
    }

    /// Returns the factors that an action type needs in addition to the type itself.
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

/// Returns the index of the factor to choose after those of `chosen`; `None` if the choice is
/// complete.
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
pub(super) fn decode_action(choice: &Choice) -> Action {
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

/// Returns the choice that stands for an action; `None` if the action leaves out a part that a
/// choice must name.
pub(super) fn encode_action(action: Action) -> Option<Choice> {
    let job = action.job().map(|job| job.index());
    let gpu = action.gpu().map(GpuId::index);
    let worker = action.worker().map(Slot::index);
    let mut fits = true;
    let choice = ClusterNet::build_choice(|columns| {
        let value = match FACTOR_COLUMNS
            .iter()
            .position(|segment| *segment == columns)
        {
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

/// Writes the mask of the columns that can be chosen. A factor may have no such column, but then
/// its action type cannot be chosen either.
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
        if gpu.state.is_operational() {
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
    fn choices_roundtrip_through_actions() {
        for start in 0..200usize {
            let mut turn = start;
            let choice = ClusterNet::build_choice(|columns| {
                turn = turn * 7 + 3;
                columns.start + turn % columns.len()
            });
            let action = decode_action(&choice);
            assert_eq!(encode_action(action), Some(choice), "{action}");
        }
    }

    #[test]
    fn action_without_targets_has_no_encoding() {
        let nothing = Action::Allocate {
            job: None,
            gpu: None,
            worker: None,
        };
        assert_eq!(encode_action(nothing), None);
    }
}
