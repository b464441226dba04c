//! All that a policy gets.
//!
//! Every field is a function of the public payloads so far. Numbers are unrounded, which an agent
//! that keeps count of its own calls recovers from the rounded payload.

use serde::Serialize;

use super::{Action, Adversary, Domain, Ledger, NODES_MAX, Rules, Task};

/// Where the episode stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Steps can be taken.
    Active,
    /// Ended by finishing or by running out of budget.
    Completed,
    /// Ended by poison at stakes of 0.85 or more.
    Failed,
}

impl Status {
    /// The word that payloads use.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Completed => "completed",
            Self::Failed => "failed",
        }
    }
}

/// What became of a subtask.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Default)]
#[serde(rename_all = "snake_case")]
pub enum NodeState {
    /// Not offered yet.
    #[default]
    Pending,
    /// Offered now.
    Ready,
    /// Done.
    Completed,
    /// Wrong, once or twice.
    Failed,
    /// Left.
    Skipped,
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
    pub(super) fn new(len: usize) -> Self {
        Self {
            nodes: [NodeState::Pending; NODES_MAX],
            len: len as u8,
            position: 0,
            attempt: 0,
            completed: 0,
        }
    }

    /// Index of the current subtask; the number of subtasks when all are resolved.
    #[must_use]
    pub fn position(&self) -> usize {
        usize::from(self.position)
    }

    /// Failed attempts at the current subtask: 0 or 1.
    #[must_use]
    pub const fn failed_attempts(&self) -> u8 {
        self.attempt
    }

    /// Completed subtasks.
    #[must_use]
    pub const fn completed(&self) -> u8 {
        self.completed
    }

    /// Completed over all subtasks.
    #[must_use]
    pub fn completion(&self) -> f64 {
        f64::from(self.completed) / f64::from(self.len)
    }

    /// Subtasks in state failed. A node that waits for its retry is ready again while the episode
    /// goes on, and counts as failed once it has ended.
    #[must_use]
    pub fn failed(&self) -> usize {
        self.nodes
            .iter()
            .filter(|n| **n == NodeState::Failed)
            .count()
    }

    /// Subtasks that are not resolved.
    #[must_use]
    pub const fn remaining(&self) -> u8 {
        self.len - self.position
    }

    /// State of every subtask.
    #[must_use]
    pub fn nodes(&self) -> &[NodeState] {
        &self.nodes[..usize::from(self.len)]
    }

    /// Whether all subtasks are resolved.
    #[must_use]
    pub const fn is_done(&self) -> bool {
        self.position == self.len
    }

    /// Takes in what became of the current node; returns the attempts made at it.
    #[inline]
    pub(super) fn record(&mut self, outcome: NodeState) -> u8 {
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
    pub(super) fn offer(&mut self) {
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
    pub adversary: Adversary,
    /// Evidence about the slots.
    pub ledger: Ledger,
    /// The last action and what came of it.
    pub last: Option<LastStep>,
    /// Where the episode stands.
    pub status: Status,
}

impl Observation {
    /// Whether no further step can be taken.
    #[must_use]
    pub fn done(&self) -> bool {
        self.status != Status::Active
    }
}
