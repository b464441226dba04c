//! The contents of the three tasks: subtasks, domains, base stakes and budgets (spec trust §3, §7).

use crate::named_enum;
use crate::task::Task;

named_enum! {
    /// The kind of work of a subtask, in alphabetical order, which is the order of maps keyed by
    /// domain.
    pub enum Domain {
        /// Finding patterns in material.
        Analyze = "ANALYZE",
        /// Carrying out a plan.
        Execute = "EXECUTE",
        /// Deciding what to do.
        Plan = "PLAN",
        /// Combining findings into one.
        Synthesize = "SYNTHESIZE",
        /// Checking an earlier result.
        Verify = "VERIFY",
    }
}

/// A subtask: domain, base stakes in hundredths, numbers of the subtasks that must be resolved
/// first.
type Subtask = (Domain, u8, &'static [u8]);

const A: Domain = Domain::Analyze;
const S: Domain = Domain::Synthesize;
const V: Domain = Domain::Verify;
const P: Domain = Domain::Plan;
const E: Domain = Domain::Execute;

#[rustfmt::skip]
const TASK1: [Subtask; 10] = [
    (A, 20, &[]), (A, 25, &[1]), (V, 20, &[2]), (S, 30, &[3]), (V, 25, &[4]),
    (P, 30, &[5]), (A, 35, &[6]), (S, 30, &[7]), (V, 35, &[8]), (E, 40, &[9]),
];
#[rustfmt::skip]
const TASK2: [Subtask; 15] = [
    (A, 20, &[]), (A, 25, &[1]), (V, 30, &[2]), (S, 35, &[3]), (P, 40, &[4]),
    (A, 30, &[3]), (V, 45, &[5, 6]), (E, 50, &[7]), (V, 55, &[8]), (S, 45, &[9]),
    (P, 50, &[10]), (A, 55, &[11]), (V, 60, &[12]), (S, 60, &[13]), (E, 65, &[14]),
];
#[rustfmt::skip]
const TASK3: [Subtask; 20] = [
    (A, 20, &[]), (A, 25, &[1]), (V, 30, &[2]), (S, 35, &[3]), (P, 40, &[4]),
    (A, 30, &[3]), (V, 45, &[5, 6]), (E, 50, &[7]), (V, 55, &[8]), (S, 50, &[9]),
    (P, 60, &[10]), (A, 55, &[11]), (S, 65, &[12]), (V, 70, &[13]), (E, 75, &[14]),
    (P, 80, &[15]), (A, 75, &[16]), (V, 85, &[17]), (S, 90, &[18]), (E, 95, &[19]),
];

/// Number of subtasks of the longest task.
pub(crate) const NODES_MAX: usize = TASK3.len();

/// The subtasks and the budget of a task, without the jitter of a scenario.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TaskLayout {
    /// Step budget before any penalty.
    pub budget: u8,
    subtasks: &'static [Subtask],
}

const fn layout(budget: u8, subtasks: &'static [Subtask]) -> TaskLayout {
    TaskLayout { budget, subtasks }
}

static LAYOUTS: [TaskLayout; Task::COUNT] =
    [layout(15, &TASK1), layout(30, &TASK2), layout(45, &TASK3)];

impl TaskLayout {
    /// Returns the layout of `task`.
    #[must_use]
    pub fn for_task(task: Task) -> &'static Self {
        &LAYOUTS[task as usize]
    }

    /// Returns the number of subtasks.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.subtasks.len()
    }

    /// Returns `false`, because every task has subtasks.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.subtasks.is_empty()
    }

    /// Returns the domain and base stakes of the subtask at `index`, which are public as part of
    /// the task's description.
    #[must_use]
    pub fn node(&self, index: usize) -> Option<(Domain, f64)> {
        let (domain, stakes, _) = self.subtasks.get(index)?;
        Some((*domain, f64::from(*stakes) / 100.0))
    }

    pub(super) const fn subtasks(&self) -> &'static [Subtask] {
        self.subtasks
    }
}
