//! All that a policy gets.
//!
//! Every field is a function of the public payloads so far. Numbers are unrounded, which an agent
//! that keeps count of its own calls recovers from the rounded payload.

use super::action::Action;
use super::setup::Rules;
use super::task::{Domain, NODES_MAX};
use crate::controller::AdversaryProfile;
use crate::named_enum;
use crate::task::Task;

/// The ledger of this world: one rate per [`Domain`].
pub type Ledger = crate::ledger::Ledger<{ Domain::COUNT }>;

named_enum! {
    /// Where the episode stands.
    pub enum Status {
        /// Steps can be taken.
        Active = "active",
        /// Ended by finishing or by running out of budget.
        Completed = "completed",
        /// Ended by poison at stakes of 0.85 or more.
        Failed = "failed",
    }
}

named_enum! {
    /// What became of a subtask.
    #[derive(Default)]
    pub enum NodeState {
        /// Not offered yet.
        #[default]
        Pending = "pending",
        /// Offered now.
        Ready = "ready",
        /// Done.
        Completed = "completed",
        /// Wrong, once or twice.
        Failed = "failed",
        /// Left.
        Skipped = "skipped",
    }
}

/// The public consequence of the last action.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LastStep {
    /// What was done.
    pub action: Action,
    /// Steps that it took.
    pub cost: u8,
    /// What the ledger learned, when a specialist was called.
    pub success: Option<bool>,
    /// Reward of the step itself.
    pub reward: f64,
    /// Stakes of the subtask.
    pub stakes: f64,
    /// Domain of the subtask.
    pub domain: Domain,
}

/// The order of work: strictly front to back, one retry each (spec trust §6, quirk Q15).
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

    /// Returns the index of the current subtask; the number of subtasks when all are resolved.
    #[must_use]
    pub fn position(&self) -> usize {
        usize::from(self.position)
    }

    /// Returns the failed attempts at the current subtask: 0 or 1.
    #[must_use]
    pub const fn failed_attempts(&self) -> u8 {
        self.attempt
    }

    /// Returns the number of completed subtasks.
    #[must_use]
    pub const fn completed(&self) -> u8 {
        self.completed
    }

    /// Returns completed over all subtasks.
    #[must_use]
    pub fn completion(&self) -> f64 {
        f64::from(self.completed) / f64::from(self.len)
    }

    /// Returns the number of subtasks in state failed. A node that waits for its retry is ready again while the episode
    /// goes on, and counts as failed once it has ended.
    #[must_use]
    pub fn failed(&self) -> usize {
        self.nodes
            .iter()
            .filter(|n| **n == NodeState::Failed)
            .count()
    }

    /// Returns the number of subtasks that are not resolved.
    #[must_use]
    pub const fn remaining(&self) -> u8 {
        self.len - self.position
    }

    /// Returns the state of every subtask.
    #[must_use]
    pub fn nodes(&self) -> &[NodeState] {
        &self.nodes[..usize::from(self.len)]
    }

    /// Returns whether all subtasks are resolved.
    #[must_use]
    pub const fn is_done(&self) -> bool {
        self.position == self.len
    }

    /// Records what became of the current node; returns the attempts made at it.
    #[inline]
    pub(crate) fn record(&mut self, outcome: NodeState) -> u8 {
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

    /// Offers the current node again or the next one for the first time.
    #[inline]
    pub(crate) fn offer(&mut self) {
        if let Some(node) = self.nodes.get_mut(usize::from(self.position)) {
            *node = NodeState::Ready;
        }
    }
}

/// What a policy sees before it acts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Observation {
    /// The task.
    pub task: Task,
    /// What differs from the reference's rules.
    pub rules: Rules,
    /// Public scenario number, 0-based. Under reference streams it betrays slot S4 (quirk Q11).
    pub variant: u8,
    /// Stakes of the current subtask; 0 when the episode has ended.
    pub stakes: f64,
    /// Domain of the current subtask; `None` when the episode has ended.
    pub domain: Option<Domain>,
    /// Where the work stands.
    pub progress: Progress,
    /// Steps used. Can end above the budget (quirk Q5).
    pub step_count: u8,
    /// The budget.
    pub max_steps: u8,
    /// How the adversary is configured; the difficulty profile in the payload says so.
    pub adversary: AdversaryProfile,
    /// Evidence about the slots.
    pub ledger: Ledger,
    /// The last action and what came of it.
    pub last: Option<LastStep>,
    /// Where the episode stands.
    pub status: Status,
}

impl Observation {
    /// Returns whether no further step can be taken.
    #[must_use]
    pub fn done(&self) -> bool {
        self.status != Status::Active
    }
}
