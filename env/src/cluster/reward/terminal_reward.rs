//! The reward at the end of an episode (spec cluster §9).

use super::step::{clamp_and_round_reward, clamp_component};
use crate::cluster::model::TerminalReward;
use crate::task::Task;

/// The input of the terminal grader, unrounded.
#[derive(Clone, Copy, Debug)]
pub(super) struct TerminalInput {
    /// The task of the episode.
    pub(super) task: Task,
    /// Fraction of jobs that are complete, 0..=1.
    pub(super) completion: f64,
    /// Fraction of operational memory in use, 0..=1: at the end or, under
    /// [`Change::Ending`](crate::cluster::model::Change::Ending), the mean over the steps.
    pub(super) utilization: f64,
    /// Calibration of the ledger, 0..=1.
    pub(super) calibration: f64,
    /// Fraction of completed jobs that met their deadline, 0..=1.
    pub(super) deadline_hit: f64,
    /// Number of detections per attack, under the rules in force.
    pub(super) detection_rate: f64,
    /// Mean health over the steps.
    pub(super) mean_health: f64,
    /// Number of steps taken.
    pub(super) step: u8,
    /// Maximum number of steps in the episode.
    pub(super) max_steps: u8,
}

/// Names of components that a term of the reward leaves out.
pub(super) const COMPLETION: &str = "jobs_completed_rate";
pub(super) const UTILIZATION: &str = "avg_gpu_utilization";
pub(super) const CALIBRATION: &str = "worker_trust_calibration";
pub(super) const DEADLINES: &str = "deadline_recovery_rate";
pub(super) const DETECTION: [&str; 2] =
    ["adversarial_detection_rate", "reward_hack_detection_rate"];

/// Returns the weights of the components, in their order.
const fn weights(task: Task) -> &'static [f64] {
    match task {
        Task::Task1 => &[0.60, 0.40],
        Task::Task2 => &[0.40, 0.30, 0.30],
        Task::Task3 => &[0.30, 0.25, 0.20, 0.15, 0.10],
    }
}

/// Returns the reward from the components whose names `counts`.
pub(super) fn weighted_sum(
    task: Task,
    components: &[(&'static str, f64)],
    counts: impl Fn(&str) -> bool,
) -> f64 {
    let mut sum = 0.0;
    for ((name, value), weight) in components.iter().zip(weights(task)) {
        if counts(name) {
            sum += weight * value;
        }
    }
    clamp_and_round_reward(sum)
}

/// Builds the terminal reward from names and values of its components.
fn weighted<const N: usize>(task: Task, parts: [(&'static str, f64); N]) -> TerminalReward {
    let components = parts.map(|(name, value)| (name, clamp_component(value)));
    TerminalReward::new(weighted_sum(task, &components, |_| true), components)
}

/// Returns the terminal reward and its components.
#[must_use]
pub(super) fn terminal_reward(input: &TerminalInput) -> TerminalReward {
    let (task, completion) = (input.task, input.completion);
    match task {
        Task::Task1 => weighted(
            task,
            [(COMPLETION, completion), (UTILIZATION, input.utilization)],
        ),
        Task::Task2 => weighted(
            task,
            [
                (COMPLETION, completion),
                (CALIBRATION, input.calibration),
                (DEADLINES, input.deadline_hit),
            ],
        ),
        Task::Task3 => {
            let left = 1.0 - f64::from(input.step) / f64::from(input.max_steps);
            weighted(
                task,
                [
                    (COMPLETION, completion),
                    (DETECTION[0], input.detection_rate),
                    (DETECTION[1], input.detection_rate),
                    ("plan_coherence_score", input.mean_health),
                    ("efficiency_score", left.max(0.0)),
                ],
            )
        }
    }
}
