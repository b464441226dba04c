//! What one step did.

use super::{Action, Domain, Grades, Terminal};

/// A step was asked for after the end. The episode is as it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the episode has ended: reset before the next step")]
pub struct EpisodeOver;

/// Everything that one step did.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// What was done.
    pub action: Action,
    /// Index of the subtask.
    pub node: usize,
    /// Attempts at it so far.
    pub attempt: u8,
    /// Its domain.
    pub domain: Domain,
    /// Its stakes.
    pub stakes: f64,
    /// Components and reward of this step.
    pub grades: Grades,
    /// Whether the outcome stream was drawn from.
    pub drew: bool,
    /// Whether the adversary poisoned, caught or not.
    pub adversarial: bool,
    /// Stated confidence, when a specialist was called.
    pub confidence: Option<f64>,
    /// `Some` only when the domain-bound specialist was called.
    pub in_domain: Option<bool>,
    /// Calls to the slot before this one.
    pub calls_before: u16,
    /// Chance of success that luck was held against.
    pub success_chance: Option<f64>,
    /// Steps that the specialist itself took.
    pub specialist_cost: u8,
    /// What became of the subtask; `None` when it was skipped.
    pub success: Option<bool>,
    /// Whether the orchestrator's own work completed it; never under the reference's rules.
    pub own_work: bool,
    /// Trust in the called slot before this step.
    pub trust_before: Option<f64>,
    /// The end, when this step ended the episode.
    pub terminal: Option<Terminal>,
}

impl Step {
    /// A step before anything has happened.
    pub(super) const fn new(action: Action, node: usize, domain: Domain, stakes: f64) -> Self {
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
