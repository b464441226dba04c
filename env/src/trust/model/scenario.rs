//! The 120 scenarios: 40 variants of each task's layout with jittered stakes (spec trust §3).

use super::scenario_table::STAKES;
use super::task::{Domain, NODES_MAX, TaskLayout};
use crate::adaptive_difficulty::DifficultyProfile;
use crate::num::round_to;
use crate::task::Task;

/// Number of variants per task.
pub(crate) const SCENARIOS_PER_TASK: u8 = 40;

/// The subtasks of one episode: a variant of a task, and the stakes of its nodes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scenario {
    /// The task that the scenario belongs to.
    pub task: Task,
    /// Variant number within the task, 0..40.
    pub variant: u8,
    /// Stakes in hundredths; entries past the task's nodes are 0.
    stakes: [u8; NODES_MAX],
    /// Bit mask of the nodes whose stakes were raised by the curriculum.
    hardened: u32,
}

/// A subtask with the details that reports and descriptions need.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Node {
    /// Position of the subtask, from 0.
    pub index: usize,
    /// Domain of the work.
    pub domain: Domain,
    /// Stakes of the subtask, 0..=1.
    pub stakes: f64,
    /// `true` if the curriculum raised the stakes.
    pub hardened: bool,
    /// Numbers, from 1, of the nodes that must be resolved first.
    pub depends_on: &'static [u8],
}

/// The error for a scenario id that does not exist.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown scenario_id {0:?}: ids run from SCN-TASK1-001 to SCN-TASK3-040")]
pub struct UnknownScenario(pub String);

impl Scenario {
    /// Creates variant `variant` (from 0) of a task, modulo the 40 that exist.
    #[must_use]
    pub fn new(task: Task, variant: u8) -> Self {
        let variant = variant % SCENARIOS_PER_TASK;
        let stakes = STAKES[task as usize][usize::from(variant)];
        Self {
            task,
            variant,
            stakes,
            hardened: 0,
        }
    }

    /// Iterates over all scenarios, by task and variant.
    pub fn all() -> impl Iterator<Item = Self> {
        let tasks = Task::ALL.into_iter();
        tasks.flat_map(|task| (0..SCENARIOS_PER_TASK).map(move |v| Self::new(task, v)))
    }

    /// Returns the scenario with this id, such as `SCN-TASK2-007`.
    ///
    /// # Errors
    /// Returns an error if no scenario has that id.
    pub fn from_id(id: &str) -> Result<Self, UnknownScenario> {
        Self::all()
            .find(|scenario| scenario.id() == id)
            .ok_or_else(|| UnknownScenario(id.to_owned()))
    }

    /// Returns the id, `SCN-TASK1-001` to `SCN-TASK3-040`.
    #[must_use]
    pub fn id(&self) -> String {
        format!(
            "SCN-{}-{:03}",
            self.task.name().to_uppercase(),
            self.variant + 1
        )
    }

    fn layout(&self) -> &'static TaskLayout {
        TaskLayout::for_task(self.task)
    }

    /// Returns the number of subtasks.
    #[must_use]
    pub fn len(&self) -> usize {
        self.layout().len()
    }

    /// Returns `false`, because every task has subtasks.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        false
    }

    /// Returns the stakes of a node, 0..=1, or 0 past the end.
    #[must_use]
    #[inline]
    pub fn stakes(&self, index: usize) -> f64 {
        // Hundredths divided by 100 give the double nearest to the decimal, as Python's round does.
        self.stakes
            .get(index)
            .map_or(0.0, |s| f64::from(*s) / 100.0)
    }

    /// Iterates over the nodes in order.
    pub fn nodes(&self) -> impl Iterator<Item = Node> + '_ {
        self.layout()
            .subtasks()
            .iter()
            .enumerate()
            .map(|(index, (domain, _, depends_on))| Node {
                index,
                domain: *domain,
                stakes: self.stakes(index),
                hardened: self.hardened >> index & 1 == 1,
                depends_on,
            })
    }

    /// Raises the stakes of the last nodes, as the curriculum does for adaptive task3 (§12).
    #[must_use]
    pub fn with_raised_stakes(mut self, profile: &DifficultyProfile) -> Self {
        let n = self.len();
        let count = (round_to(n as f64 * profile.high_stakes_ratio, 0) as usize).clamp(1, n);
        for (offset, index) in (n - count..n).enumerate() {
            let target = (profile.adversarial_threshold + 0.05 + 0.02 * offset as f64).min(0.99);
            if self.stakes(index) < target {
                self.stakes[index] = hundredths(target);
                self.hardened |= 1 << index;
            }
        }
        self
    }
}

fn hundredths(stakes: f64) -> u8 {
    (round_to(stakes, 2) * 100.0).round() as u8
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::PyRandom;

    /// Computes the stakes of a variant in hundredths from the jitter stream, as stored in the
    /// table.
    fn generate_stakes(task: Task, variant: u8) -> [u8; NODES_MAX] {
        let layout = TaskLayout::for_task(task);
        let mut rng = PyRandom::new(100 * u64::from(variant) + 101 * (task as u64 + 1));
        let mut stakes = [0; NODES_MAX];
        for (entry, (_, base, _)) in stakes.iter_mut().zip(layout.subtasks()) {
            let jittered = f64::from(*base) / 100.0 + rng.uniform(-0.05, 0.05);
            *entry = hundredths(jittered.clamp(0.01, 0.99));
        }
        stakes
    }

    #[test]
    fn stakes_table_matches_jitter_stream() {
        for task in Task::ALL {
            for variant in 0..SCENARIOS_PER_TASK {
                let expected = generate_stakes(task, variant);
                assert_eq!(
                    STAKES[task as usize][usize::from(variant)],
                    expected,
                    "{task} {variant}"
                );
            }
        }
    }

    #[test]
    fn scenario_parsing_accepts_only_valid_ids() {
        assert_eq!(
            Scenario::from_id("SCN-TASK2-007"),
            Ok(Scenario::new(Task::Task2, 6))
        );
        for bad in [
            "",
            "SCN-TASK2-000",
            "SCN-TASK2-041",
            "SCN-TASK4-001",
            "scn-task2-007",
        ] {
            assert!(Scenario::from_id(bad).is_err(), "{bad}");
        }
    }
}
