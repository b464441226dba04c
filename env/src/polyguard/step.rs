//! What one step did.

use super::action::Action;
use super::ending::End;
use super::history::Act;
use super::reward::Reward;
use super::violation::{Exploit, Violation};

/// Why a step was not taken; the episode is as it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StepError {
    /// The episode has ended.
    #[error("the episode is over: reset before the next step")]
    Over,
}

/// What one step did. Risk, burden and control are the true ones: for evaluators, not for agents.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// What was answered.
    pub action: Action,
    /// What that stands for.
    pub act: Option<Act>,
    /// Why it was refused.
    pub violation: Option<Violation>,
    /// Whether it was cheating.
    pub exploit: Option<Exploit>,
    /// What it earned, in parts.
    pub reward: Reward,
    /// What it earned under the rules in force.
    pub total: f64,
    /// What it counts towards the score: at most .8 without progress.
    pub counted: f64,
    /// True risk before and after.
    pub risk: [f64; 2],
    /// True burden before and after.
    pub burden: [f64; 2],
    /// True control before and after.
    pub stability: [f64; 2],
    /// Issues that are resolved, before and after.
    pub resolved: [u8; 2],
    /// Whether it brought information.
    pub gained: bool,
    /// Whether it got anywhere.
    pub progress: bool,
    /// How the episode ended with it.
    pub end: Option<End>,
    /// Score, if the episode ended.
    pub score: Option<f64>,
}
