//! How large each task is (spec cluster §1).

use super::Task;

/// The fixed numbers of a task.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Size {
    /// Jobs in the queue.
    pub jobs: u8,
    /// GPUs in the pool.
    pub gpus: u8,
    /// Steps until the episode is cut off.
    pub max_steps: u8,
    /// Chance per step that a GPU with jobs on it fails.
    pub failure_chance: f64,
    /// Whether an adversary attacks.
    pub adversary: bool,
}

impl Size {
    /// The numbers of `task`.
    #[must_use]
    pub const fn of(task: Task) -> Self {
        let (jobs, gpus, max_steps, failure_chance, adversary) = match task {
            Task::Task1 => (10, 8, 30, 0.0, false),
            Task::Task2 => (20, 12, 60, 0.02, false),
            Task::Task3 => (30, 16, 120, 0.03, true),
        };
        Self {
            jobs,
            gpus,
            max_steps,
            failure_chance,
            adversary,
        }
    }
}
