//! The factored action: what to do, then with which job, on which GPU, by which worker.
//!
//! A network says one number for each value of each factor, all side by side: the columns. Every
//! factor is a softmax of its own, and the log-probability of an action is the sum over the factors
//! that its word needs.

use std::ops::Range;

use sentinel_env::cluster::{Action, ActionType, GPUS_MAX, GpuId, JOBS_MAX, JobId};
use sentinel_env::slot::{SLOTS, Slot};

/// One choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Factor {
    /// Which word.
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
    /// Who is asked.
    AskWorker,
    /// Which job is checked.
    VerifyJob,
    /// Who must report for it; the last value stands for whoever works on it.
    VerifyWorker,
}

/// How many factors there are.
pub const FACTORS: usize = 9;
/// Workers, and the job's own.
const WORKERS: usize = SLOTS + 1;
/// How many values each factor has, in the order of [`Factor`].
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

/// Where each factor's columns begin and end.
pub const SEGMENTS: [Range<usize>; FACTORS] = segments();
/// All columns.
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
    /// Its columns.
    #[must_use]
    pub const fn columns(self) -> Range<usize> {
        let all = &SEGMENTS[self as usize];
        all.start..all.end
    }

    /// The factors that a word needs after itself.
    #[must_use]
    pub const fn of(kind: ActionType) -> &'static [Self] {
        match kind {
            ActionType::Allocate => &[Self::AllocateJob, Self::AllocateGpu, Self::AllocateWorker],
            ActionType::Preempt => &[Self::PreemptJob],
            ActionType::RequestInfo => &[Self::AskJob, Self::AskWorker],
            ActionType::Verify => &[Self::VerifyJob, Self::VerifyWorker],
            ActionType::Tick => &[],
        }
    }
}

/// An action as the columns that were chosen, the word first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    columns: [u8; 4],
    len: u8,
}

impl Choice {
    /// Chooses factor by factor; `pick` gives a column of the range that it is asked for.
    pub fn make(mut pick: impl FnMut(Range<usize>) -> usize) -> Self {
        let kind = pick(Factor::Kind.columns());
        let mut columns = [kind as u8, 0, 0, 0];
        let word = ActionType::ALL[kind.min(ActionType::ALL.len() - 1)];
        let factors = Factor::of(word);
        for (column, factor) in columns[1..].iter_mut().zip(factors) {
            *column = pick(factor.columns()) as u8;
        }
        Self {
            columns,
            len: 1 + factors.len() as u8,
        }
    }

    /// The columns, the word's first.
    pub fn into_columns(self) -> impl Iterator<Item = usize> {
        let columns = self.columns.into_iter().take(usize::from(self.len));
        columns.map(usize::from)
    }

    fn value(&self, place: usize, factor: Factor) -> u8 {
        self.columns[place] - factor.columns().start as u8
    }

    /// The action that was chosen.
    #[must_use]
    pub fn action(&self) -> Action {
        let job = |factor| Some(JobId(self.value(1, factor)));
        let worker = |place, factor| {
            Slot::ALL
                .get(usize::from(self.value(place, factor)))
                .copied()
        };
        match ActionType::ALL[usize::from(self.columns[0])] {
            ActionType::Allocate => Action::Allocate {
                job: job(Factor::AllocateJob),
                gpu: Some(GpuId(self.value(2, Factor::AllocateGpu))),
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

    /// The choice that leads to an action; `None` for one that leaves out what a choice names.
    #[must_use]
    pub fn of(action: Action) -> Option<Self> {
        let job = action.job().map(|job| job.index());
        let gpu = action.gpu().map(GpuId::index);
        let worker = action.worker().map(Slot::index);
        let mut fits = true;
        let choice = Self::make(|columns| {
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
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_choice_leads_to_an_action_and_back() {
        assert!(COLUMNS <= usize::from(u8::MAX), "a column is one byte");
        for start in 0..200usize {
            let mut turn = start;
            let choice = Choice::make(|columns| {
                turn = turn * 7 + 3;
                columns.start + turn % columns.len()
            });
            assert_eq!(
                Choice::of(choice.action()),
                Some(choice),
                "{}",
                choice.action()
            );
        }
    }

    #[test]
    fn what_names_nothing_is_no_choice() {
        let nothing = Action::Allocate {
            job: None,
            gpu: None,
            worker: None,
        };
        assert_eq!(Choice::of(nothing), None);
    }
}
