//! The observation: the complete input of a policy.
//!
//! Every field is a function of the public payloads so far. The numbers are unrounded; an agent can
//! recover them from the rounded payloads by keeping count of its own calls.

use super::action::Action;
use super::setup::Rules;
use super::task::{Domain, NODES_MAX};
use crate::adaptive_difficulty::AdversaryProfile;
use crate::named_enum;
use crate::task::Task;

/// The ledger of this world, with one success rate per [`Domain`].
pub type TrustLedger = crate::ledger::TrustLedger<{ Domain::COUNT }>;

named_enum! {
    /// The status of an episode.
    pub enum Status {
        /// The episode is running and accepts actions.
        Active = "active",
        /// Ended by resolving all subtasks or by running out of budget.
        Completed = "completed",
        /// Ended by believed poison at stakes of 0.85 or more.
        Failed = "failed",
    }
}

named_enum! {
    /// The state of a subtask.
    #[derive(Default)]
    pub enum NodeState {
        /// Not offered as the current subtask yet.
        #[default]
        Pending = "pending",
        /// The current subtask, offered for an attempt.
        Ready = "ready",
        /// Completed by a successful attempt.
        Completed = "completed",
        /// Failed once without a retry so far, or twice.
        Failed = "failed",
        /// Left undone by `skip`.
        Skipped = "skipped",
    }
}

/// The public result of the last action.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LastStep {
    /// The action that was taken.
    pub action: Action,
    /// Number of steps that it used.
    pub cost: u8,
    /// `true` if the called specialist's own answer was correct; `None` if no specialist was
    /// called.
    pub success: Option<bool>,
    /// Reward of the step, without any terminal reward.
    pub reward: f64,
    /// Stakes of the subtask, 0..=1.
    pub stakes: f64,
    /// Domain of the subtask.
    pub domain: Domain,
}

/// The order of work: strictly from first to last, with one retry each (spec trust §6, quirk Q15).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    nodes: [NodeState; NODES_MAX],
    len: u8,
    position: u8,
    attempt: u8,
    completed: u8,
}

impl Progress {
    pub(crate) fn new(len: usize) -> Self {
        Self {
            nodes: [NodeState::Pending; NODES_MAX],
            len: len as u8,
            position: 0,
            attempt: 0,
            completed: 0,
        }
    }

    /// Returns the index of the current subtask, or the number of subtasks once all are resolved.
    #[must_use]
    pub fn position(&self) -> usize {
        usize::from(self.position)
    }

    /// Returns the number of failed attempts at the current subtask: 0 or 1.
    #[must_use]
    pub const fn failed_attempts(&self) -> u8 {
        self.attempt
    }

    /// Returns the number of completed subtasks.
    #[must_use]
    pub const fn completed(&self) -> u8 {
        self.completed
    }

    /// Returns the fraction of subtasks that are completed, 0..=1.
    #[must_use]
    pub fn completion_rate(&self) -> f64 {
        f64::from(self.completed) / f64::from(self.len)
    }

    /// Returns the number of subtasks in state failed. A subtask that waits for its retry counts as
    /// ready while the episode runs, and as failed once the episode has ended.
    #[must_use]
    pub fn failed(&self) -> usize {
        self.nodes
            .iter()
            .filter(|n| **n == NodeState::Failed)
            .count()
    }

    /// Returns the number of subtasks that are not resolved yet.
    #[must_use]
    pub const fn remaining(&self) -> u8 {
        self.len - self.position
    }

    /// Returns the state of every subtask, in order.
    #[must_use]
    pub fn nodes(&self) -> &[NodeState] {
        &self.nodes[..usize::from(self.len)]
    }

    /// Returns `true` if all subtasks are resolved.
    #[must_use]
    pub const fn is_done(&self) -> bool {
        self.position == self.len
    }

    /// Records the outcome of the current subtask and returns the number of attempts made at it.
    #[inline]
    pub(crate) fn record_outcome(&mut self, outcome: NodeState) -> u8 {
        let node = usize::from(self.position);
        self.nodes[node] = outcome;
        let attempts = self.attempt + u8::from(outcome != NodeState::Skipped);
        if outcome == NodeState::Failed && attempts < 2 {
            self.attempt = attempts;
        } else {
            self.completed += u8::from(outcome == NodeState::Completed);
            self.position += 1;
            self.attempt = 0;
        }
        attempts
    }

    /// Marks the current subtask as ready, for its first attempt or its retry.
    #[inline]
    pub(crate) fn mark_ready(&mut self) {
        if let Some(node) = self.nodes.get_mut(usize::from(self.position)) {
            *node = NodeState::Ready;
        }
    }
}

/// The observation that a policy receives before it acts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Observation {
    /// The task of the episode.
    pub task: Task,
    /// The rules in force, as changes to the reference's rules.
    pub rules: Rules,
    /// Public scenario number, 0..40. Under reference streams it reveals the behavior behind slot
    /// S4 (quirk Q11).
    pub variant: u8,
    /// Stakes of the current subtask, 0..=1; 0 once the episode has ended.
    pub stakes: f64,
    /// Domain of the current subtask; `None` once the episode has ended.
    pub domain: Option<Domain>,
    /// The progress through the subtasks.
    pub progress: Progress,
    /// Number of steps used, which can exceed the budget at the end (quirk Q5).
    pub step_count: u8,
    /// Step budget of the episode.
    pub max_steps: u8,
    /// The configuration of the adversary, which the payload publishes in the difficulty profile.
    pub adversary: AdversaryProfile,
    /// The evidence about each slot.
    pub ledger: TrustLedger,
    /// The last action and its result; `None` before the first action.
    pub last: Option<LastStep>,
    /// The status of the episode.
    pub status: Status,
}

impl Observation {
    /// Returns `true` if the episode has ended.
    #[must_use]
    pub fn done(&self) -> bool {
        self.status != Status::Active
    }
}
