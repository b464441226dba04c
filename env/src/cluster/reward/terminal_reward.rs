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

/// Builds the terminal reward from names, weights and values of its components.
fn weighted<const N: usize>(parts: [(&'static str, f64, f64); N]) -> TerminalReward {
    let mut components = [("", 0.0); N];
    let mut sum = 0.0;
    for (component, (name, weight, value)) in components.iter_mut().zip(parts) {
        *component = (name, clamp_component(value));
        sum += weight * component.1;
    }
    TerminalReward::new(clamp_and_round_reward(sum), components)
}

/// Returns the terminal reward and its components.
#[must_use]
pub(super) fn terminal_reward(input: &TerminalInput) -> TerminalReward {
    let completion = input.completion;
    match input.task {
        Task::Task1 => weighted([
            ("jobs_completed_rate", 0.60, completion),
            ("avg_gpu_utilization", 0.40, input.utilization),
        ]),
        Task::Task2 => weighted([
            ("jobs_completed_rate", 0.40, completion),
            ("worker_trust_calibration", 0.30, input.calibration),
            ("deadline_recovery_rate", 0.30, input.deadline_hit),
        ]),
        Task::Task3 => {
            let left = 1.0 - f64::from(input.step) / f64::from(input.max_steps);
            weighted([
                ("jobs_completed_rate", 0.30, completion),
                ("adversarial_detection_rate", 0.25, input.detection_rate),
                ("reward_hack_detection_rate", 0.20, input.detection_rate),
                ("plan_coherence_score", 0.15, input.mean_health),
                ("efficiency_score", 0.10, left.max(0.0)),
            ])
        }
    }
}
