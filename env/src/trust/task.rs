//! The three tasks: their subtasks, domains, base stakes and budgets (spec trust §3, §7).

use serde::{Serialize, Serializer};

use crate::task::{TaskBits, TaskName};

/// What kind of work a subtask is. In alphabetical order, the order of maps keyed by domain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Domain {
    /// Find patterns.
    Analyze,
    /// Carry out.
    Execute,
    /// Decide what to do.
    Plan,
    /// Put together.
    Synthesize,
    /// Check.
    Verify,
}

impl Domain {
    /// How many domains there are.
    pub const COUNT: usize = 5;
    /// All of them, alphabetically.
    pub const ALL: [Self; Self::COUNT] = [
        Self::Analyze,
        Self::Execute,
        Self::Plan,
        Self::Synthesize,
        Self::Verify,
    ];

    /// Upper-case name, as payloads use it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Analyze => "ANALYZE",
            Self::Execute => "EXECUTE",
            Self::Plan => "PLAN",
            Self::Synthesize => "SYNTHESIZE",
            Self::Verify => "VERIFY",
        }
    }
}

impl Serialize for Domain {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

/// The task of an episode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Task {
    /// 10 subtasks, low stakes.
    Task1,
    /// 15 subtasks, middling stakes.
    Task2,
    /// 20 subtasks, stakes up to .99: the adversary wakes.
    Task3,
}

/// One row of a layout: domain, base stakes in hundredths, numbers of prerequisite nodes.
pub(super) type Row = (Domain, u8, &'static [u8]);

const A: Domain = Domain::Analyze;
const S: Domain = Domain::Synthesize;
const V: Domain = Domain::Verify;
const P: Domain = Domain::Plan;
const E: Domain = Domain::Execute;

#[rustfmt::skip]
const TASK1: [Row; 10] = [
    (A, 20, &[]), (A, 25, &[1]), (V, 20, &[2]), (S, 30, &[3]), (V, 25, &[4]),
    (P, 30, &[5]), (A, 35, &[6]), (S, 30, &[7]), (V, 35, &[8]), (E, 40, &[9]),
];
#[rustfmt::skip]
const TASK2: [Row; 15] = [
    (A, 20, &[]), (A, 25, &[1]), (V, 30, &[2]), (S, 35, &[3]), (P, 40, &[4]),
    (A, 30, &[3]), (V, 45, &[5, 6]), (E, 50, &[7]), (V, 55, &[8]), (S, 45, &[9]),
    (P, 50, &[10]), (A, 55, &[11]), (V, 60, &[12]), (S, 60, &[13]), (E, 65, &[14]),
];
#[rustfmt::skip]
const TASK3: [Row; 20] = [
    (A, 20, &[]), (A, 25, &[1]), (V, 30, &[2]), (S, 35, &[3]), (P, 40, &[4]),
    (A, 30, &[3]), (V, 45, &[5, 6]), (E, 50, &[7]), (V, 55, &[8]), (S, 50, &[9]),
    (P, 60, &[10]), (A, 55, &[11]), (S, 65, &[12]), (V, 70, &[13]), (E, 75, &[14]),
    (P, 80, &[15]), (A, 75, &[16]), (V, 85, &[17]), (S, 90, &[18]), (E, 95, &[19]),
];

impl Task {
    /// All tasks in order.
    pub const ALL: [Self; 3] = [Self::Task1, Self::Task2, Self::Task3];

    /// `"task1"`..`"task3"`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Task1 => "task1",
            Self::Task2 => "task2",
            Self::Task3 => "task3",
        }
    }

    /// The task with this name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|t| t.name() == name)
    }

    /// The reference's word for how hard it is.
    #[must_use]
    pub const fn difficulty(self) -> &'static str {
        match self {
            Self::Task1 => "easy",
            Self::Task2 => "medium",
            Self::Task3 => "hard",
        }
    }

    /// Number of subtasks.
    #[must_use]
    pub const fn nodes(self) -> usize {
        self.layout().len()
    }

    /// Step budget before any penalty.
    #[must_use]
    pub const fn base_budget(self) -> u8 {
        match self {
            Self::Task1 => 15,
            Self::Task2 => 30,
            Self::Task3 => 45,
        }
    }

    /// Domain and base stakes of the node at `index` (public: the task's description).
    #[must_use]
    pub fn base_node(self, index: usize) -> Option<(Domain, f64)> {
        self.layout()
            .get(index)
            .map(|(domain, stakes, _)| (*domain, f64::from(*stakes) / 100.0))
    }

    pub(super) const fn layout(self) -> &'static [Row] {
        match self {
            Self::Task1 => &TASK1,
            Self::Task2 => &TASK2,
            Self::Task3 => &TASK3,
        }
    }

    /// Added to 100 * variant to seed the stake jitter.
    pub(super) const fn jitter_offset(self) -> u64 {
        match self {
            Self::Task1 => 101,
            Self::Task2 => 202,
            Self::Task3 => 303,
        }
    }
}

impl TaskName for Task {
    const ALL: &'static [Self] = &Self::ALL;

    fn name(self) -> &'static str {
        Self::name(self)
    }

    fn parse(name: &str) -> Option<Self> {
        Self::parse(name)
    }

    fn bits(self) -> TaskBits {
        TaskBits(self as u16)
    }

    fn of(bits: TaskBits) -> Option<Self> {
        Self::ALL.get(usize::from(bits.0)).copied()
    }
}

impl std::fmt::Display for Task {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

impl Serialize for Task {
    fn serialize<S2: Serializer>(&self, serializer: S2) -> Result<S2::Ok, S2::Error> {
        serializer.serialize_str(self.name())
    }
}
