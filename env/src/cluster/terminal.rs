//! The reward at the end of an episode (spec cluster §9).

use super::Task;
use super::reward::{reward, unit};

/// What the terminal grader looks at, unrounded.
#[derive(Clone, Copy, Debug)]
pub struct TerminalInput {
    /// The task.
    pub task: Task,
    /// Complete over all jobs.
    pub completion: f64,
    /// Share of operational memory in use at the end.
    pub utilization: f64,
    /// Calibration of the ledger.
    pub calibration: f64,
    /// Complete in time over complete jobs.
    pub deadline_hit: f64,
    /// Detections over attacks.
    pub detection_rate: f64,
    /// Mean health over the steps.
    pub mean_health: f64,
    /// Steps taken.
    pub step: u8,
    /// The most steps there could have been.
    pub max_steps: u8,
}

/// The terminal reward and its components, rounded as payloads show them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Terminal {
    /// Value that is added to the total.
    pub reward: f64,
    /// Names and values; the task decides how many there are.
    components: [(&'static str, f64); 5],
    len: u8,
}

impl Terminal {
    /// The components in order.
    #[must_use]
    pub fn components(&self) -> &[(&'static str, f64)] {
        &self.components[..usize::from(self.len)]
    }

    fn of<const N: usize>(parts: [(&'static str, f64, f64); N]) -> Self {
        let mut components = [("", 0.0); 5];
        let mut sum = 0.0;
        for (component, (name, weight, value)) in components.iter_mut().zip(parts) {
            *component = (name, unit(value));
            sum += weight * component.1;
        }
        Self {
            reward: reward(sum),
            components,
            len: N as u8,
        }
    }
}

/// Grades the end of an episode.
#[must_use]
pub fn terminal(input: &TerminalInput) -> Terminal {
    let completion = input.completion;
    match input.task {
        Task::Task1 => Terminal::of([
            ("jobs_completed_rate", 0.60, completion),
            ("avg_gpu_utilization", 0.40, input.utilization),
        ]),
        Task::Task2 => Terminal::of([
            ("jobs_completed_rate", 0.40, completion),
            ("worker_trust_calibration", 0.30, input.calibration),
            ("deadline_recovery_rate", 0.30, input.deadline_hit),
        ]),
        Task::Task3 => {
            let left = 1.0 - f64::from(input.step) / f64::from(input.max_steps);
            Terminal::of([
                ("jobs_completed_rate", 0.30, completion),
                ("adversarial_detection_rate", 0.25, input.detection_rate),
                ("reward_hack_detection_rate", 0.20, input.detection_rate),
                ("plan_coherence_score", 0.15, input.mean_health),
                ("efficiency_score", 0.10, left.max(0.0)),
            ])
        }
    }
}
