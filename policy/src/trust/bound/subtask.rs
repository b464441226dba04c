//! A subtask as an action finds it.

use sentinel_env::adaptive_difficulty::AdversaryProfile;
use sentinel_env::ledger::HIGH_STAKES;
use sentinel_env::trust::{Domain, FATAL_STAKES, Node, Scenario, Task};

/// The part of a subtask on which rewards and answers depend.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Subtask {
    pub(super) task: Task,
    pub(super) domain: Domain,
    /// The stakes, rounded down to the next value at which a reward or an answer changes, or to 0.
    pub(super) stakes: f64,
}

impl Subtask {
    /// Returns the subtasks of a scenario in order.
    pub(super) fn all(scenario: &Scenario) -> Vec<Self> {
        let changes = [
            HIGH_STAKES,
            AdversaryProfile::default().threshold,
            FATAL_STAKES,
        ];
        let subtask = |node: Node| Self {
            task: scenario.task,
            domain: node.domain,
            stakes: (changes.into_iter())
                .filter(|change| node.stakes >= *change)
                .fold(0.0, f64::max),
        };
        scenario.nodes().map(subtask).collect()
    }

    /// Returns `true` if believed poison ends the episode here.
    pub(super) fn is_fatal(&self) -> bool {
        self.stakes >= FATAL_STAKES
    }

    /// Returns `true` if the adversary poisons its answer here, which counts at the end of the task.
    pub(super) fn counts_encounters(&self) -> bool {
        let poisoned = self.stakes >= AdversaryProfile::default().threshold;
        poisoned && self.task == Task::Task3
    }
}
