//! The record of one step: its effects and its rewards.

use super::action::Action;
use super::task::Domain;

/// The error of a step after the end of the episode. The episode is unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the episode has ended: reset before the next step")]
pub struct EpisodeOver;

/// The complete record of one step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// The action that was taken.
    pub action: Action,
    /// Index of the subtask.
    pub node: usize,
    /// Number of attempts at the subtask, this one included.
    pub attempt: u8,
    /// Domain of the subtask.
    pub domain: Domain,
    /// Stakes of the subtask, 0..=1.
    pub stakes: f64,
    /// The reward of this step and its components.
    pub grades: Grades,
    /// `true` if a draw was taken from the outcome stream.
    pub drew: bool,
    /// `true` if the adversary poisoned its answer, caught or not.
    pub adversarial: bool,
    /// Stated confidence, 0..=1; `None` if no specialist was called.
    pub confidence: Option<f64>,
    /// `Some` only if the domain-bound specialist was called: `true` if the subtask is in its
    /// domain.
    pub in_domain: Option<bool>,
    /// Number of calls to the slot before this one.
    pub calls_before: u16,
    /// Success probability that the outcome was drawn with; `None` if nothing was drawn.
    pub success_chance: Option<f64>,
    /// Number of steps used by the specialist itself, without checking and correcting.
    pub specialist_cost: u8,
    /// `true` if the subtask was completed, `false` if the attempt failed; `None` if it was
    /// skipped.
    pub success: Option<bool>,
    /// `true` if the orchestrator's own work completed the subtask; always `false` under the
    /// reference's rules.
    pub own_work: bool,
    /// Trust in the called slot before this step, 0..=1; `None` if no specialist was called.
    pub trust_before: Option<f64>,
    /// The terminal reward, if this step ended the episode.
    pub terminal: Option<TerminalReward>,
}

impl Step {
    /// Creates the record of a step that has had no effects yet.
    pub(crate) const fn new(action: Action, node: usize, domain: Domain, stakes: f64) -> Self {
        Self {
            action,
            node,
            attempt: 0,
            domain,
            stakes,
            grades: Grades {
                task_accuracy: 0.0,
                stakes_awareness: 0.0,
                efficiency: 0.0,
                confidence_alignment: 0.0,
                domain_routing: 0.0,
                verification_quality: 0.0,
                reward: 0.0,
                skipped: false,
            },
            drew: false,
            adversarial: false,
            confidence: None,
            in_domain: None,
            calls_before: 0,
            success_chance: None,
            specialist_cost: 0,
            success: None,
            own_work: false,
            trust_before: None,
            terminal: None,
        }
    }
}

/// The components of a step's reward, unrounded, and their weighted sum.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Grades {
    /// Completion of the subtask: 1 if completed, less for own work, 0 otherwise.
    pub task_accuracy: f64,
    /// Appropriateness of the action for the stakes, 0..=1; not part of task2.
    pub stakes_awareness: f64,
    /// Cheapness of the action in task1; fraction of the budget left in task3, and in task2 less a
    /// penalty for costly actions; 0..=1.
    pub efficiency: f64,
    /// 1 minus the overconfidence of the answer, 0..=1.
    pub confidence_alignment: f64,
    /// Fit of the domain-bound specialist to the subtask: 1 in its domain, 0.1 outside; 0.5 if it
    /// was not called.
    pub domain_routing: f64,
    /// Usefulness of verifying or not verifying this answer, 0..=1; not part of task2.
    pub verification_quality: f64,
    /// Reward of the step, 0.01..=0.99.
    pub reward: f64,
    /// `true` for a skip, whose only other component is efficiency.
    pub skipped: bool,
}

/// The weights of the components of a terminal reward. All are 0 if the reward is not a weighted
/// sum: task1 of the reference repeats the reward of its last step.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[allow(missing_docs, reason = "named as the components of `TerminalReward`")]
pub struct TerminalWeights {
    pub completion: f64,
    pub detection: f64,
    pub calibration: f64,
    pub efficiency: f64,
}

/// The terminal reward and its components, unrounded.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TerminalReward {
    /// Reward that is added to the total, 0.01..=0.99.
    pub reward: f64,
    /// Fraction of subtasks that were completed, 0..=1.
    pub completion: f64,
    /// Detections divided by encounters, 0..=1; 1 without encounters (quirk Q8).
    pub detection_rate: f64,
    /// Calibration of the ledger, 0..=1.
    pub calibration: f64,
    /// Fraction of the budget that is left, 0..=1.
    pub efficiency: f64,
    /// The weights of these four components.
    pub weights: TerminalWeights,
    /// `true` if believed poison at stakes of 0.85 or more ended the episode.
    pub forced: bool,
}
