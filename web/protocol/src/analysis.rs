//! The analysis of an episode: what each action was worth, and what was luck.

use serde::{Deserialize, Serialize};

use crate::Chart;

/// The analysis of a run so far. That of states drawn from public evidence and that of the true
/// hidden state are different replies; see [`DeferredReply`](crate::DeferredReply).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AnalysisUpdate {
    /// Number of the run.
    pub run: u32,
    /// Number of rollouts done.
    pub done: u32,
    /// Number of all rollouts.
    pub total: u32,
    /// The share of what was at stake that the player kept, 0..=1; `None` while it is unknown.
    pub accuracy: Option<f64>,
    /// The decisions in the order of the actions; entry `i` belongs to action `i + 1`.
    pub steps: Vec<StepAnalysis>,
    /// Expected final score along the episode, with the loss of each action below it; over the same
    /// actions as the charts of the run.
    pub chart: Chart,
}

impl AnalysisUpdate {
    /// Returns `true` if no rollout is left.
    #[must_use]
    pub const fn is_complete(&self) -> bool {
        self.total > 0 && self.done >= self.total
    }
}

/// The comparison of the actions that were possible at one step.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StepAnalysis {
    /// The actions, best first; empty before the first rollout.
    pub actions: Vec<ActionValue>,
    /// Expected final score of the best action less that of the chosen one, at least 0.
    pub loss: f64,
    /// Interval of the loss at 95 %; `None` for too few rollouts.
    pub interval: Option<[f64; 2]>,
    /// `true` if the loss is larger than noise and margin.
    pub is_mistake: bool,
    /// Final score less the expected one after the chosen action; `None` before the end.
    pub luck: Option<f64>,
}

/// An action with its expected final score.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ActionValue {
    /// The action as the address writes it.
    pub code: String,
    /// The action in words.
    pub label: String,
    /// Mean final score of the rollouts, 0..=1.
    pub value: f64,
    /// Standard error of the mean; `None` below two rollouts.
    pub error: Option<f64>,
    /// `true` for the action that was taken.
    pub is_chosen: bool,
}
