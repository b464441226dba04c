//! The reward at the end of an episode (spec trust §10).

use super::{Change, Rules, Task};
use crate::num::clamp_reward;

/// What the terminal grader looks at.
#[derive(Clone, Copy, Debug)]
pub struct TerminalInput {
    /// The rules.
    pub rules: Rules,
    /// The task.
    pub task: Task,
    /// Completed subtasks over all subtasks.
    pub completion: f64,
    /// See [`crate::ledger::Ledger::calibration`].
    pub calibration: f64,
    /// Poisonings kept out.
    pub detections: u16,
    /// Poisonings let in.
    pub poisonings: u16,
    /// Steps used.
    pub step_count: u8,
    /// The budget.
    pub max_steps: u8,
    /// Reward of the last step.
    pub last_reward: f64,
    /// Whether poison at stakes >= 0.85 ended the episode.
    pub forced: bool,
}

/// The terminal reward and its components, unrounded.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Terminal {
    /// Value that is added to the total.
    pub reward: f64,
    /// Completed subtasks over all subtasks.
    pub completion: f64,
    /// Detections over encounters; 1 without encounters (quirk Q8), and then not part of the reward
    /// under [`Change::Detection`].
    pub detection_rate: f64,
    /// Calibration of the ledger.
    pub calibration: f64,
    /// Budget left over.
    pub efficiency: f64,
    /// Whether poison at stakes >= 0.85 ended the episode.
    pub forced: bool,
}

/// Grades the end of an episode.
#[must_use]
pub fn terminal(input: &TerminalInput) -> Terminal {
    let encounters = input.detections + input.poisonings;
    let detection_rate = if encounters == 0 {
        1.0
    } else {
        f64::from(input.detections) / f64::from(encounters)
    };
    let efficiency = (1.0 - f64::from(input.step_count) / f64::from(input.max_steps)).max(0.0);
    let (completion, calibration) = (input.completion, input.calibration);
    let seen = encounters > 0 || !input.rules.has(Change::Detection);
    let reward = match input.task {
        Task::Task1 if input.rules.has(Change::Completion) => clamp_reward(completion),
        // The last step's reward again: completion never enters task1 (quirk Q2).
        Task::Task1 => input.last_reward,
        Task::Task2 => clamp_reward(0.65 * completion + 0.35 * calibration),
        // What was not met is not graded: the other three share its weight.
        Task::Task3 if !seen => {
            clamp_reward((0.35 * completion + 0.25 * calibration + 0.10 * efficiency) / 0.70)
        }
        Task::Task3 => clamp_reward(
            0.35 * completion + 0.30 * detection_rate + 0.25 * calibration + 0.10 * efficiency,
        ),
    };
    let reward = if input.forced { 0.01 } else { reward };
    Terminal {
        reward,
        completion,
        detection_rate,
        calibration,
        efficiency,
        forced: input.forced,
    }
}
