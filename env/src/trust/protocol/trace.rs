//! An episode as rows for comparison with other implementations (spec trust §11.6).

use std::collections::BTreeMap;

use serde::Serialize;

use super::breakdown::{Breakdown, EvidenceSummary};
use super::report::component_averages;
use super::session::{Session, subtask_index};
use super::text::NodeId;
use crate::adaptive_difficulty::DifficultyProfile;
use crate::environment::{Environment, PrivilegedState};
use crate::num::round_to;
use crate::slot::{PerSlot, SLOTS, Slot};
use crate::task::Task;
use crate::trust::model::{ActionType, Behavior, NodeState, Status, Step};

/// The row for the start of an episode.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[allow(
    missing_docs,
    reason = "the field names are the format, spec trust §11.6"
)]
pub struct TraceReset {
    pub kind: &'static str,
    pub scenario_id: String,
    pub max_steps: u8,
    pub stakes_all: Vec<f64>,
    pub profile: [Behavior; SLOTS],
    pub difficulty_profile: Option<DifficultyProfile>,
}

impl TraceReset {
    /// Creates the row of a session that has not taken a step yet.
    #[must_use]
    pub fn new(session: &Session) -> Self {
        let episode = session.episode();
        let profile = episode.setup().profile;
        Self {
            kind: "reset",
            scenario_id: episode.scenario().id(),
            max_steps: episode.observation().max_steps,
            stakes_all: episode.scenario().nodes().map(|node| node.stakes).collect(),
            profile: episode.hidden().assignment.0,
            difficulty_profile: profile.adaptive.then_some(profile),
        }
    }
}

/// The row for one step.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[allow(
    missing_docs,
    reason = "the field names are the format, spec trust §11.6"
)]
pub struct TraceStep {
    pub kind: &'static str,
    pub step: u16,
    pub action_type: ActionType,
    pub specialist_id: Option<Slot>,
    pub subtask: String,
    pub attempt: u8,
    pub stakes: f64,
    pub reward: f64,
    pub drew: u8,
    pub adversarial: bool,
    pub confidence: Option<f64>,
    pub outcome: Option<f64>,
    pub done: bool,
    pub step_count: u8,
    pub trust: [f64; SLOTS],
    pub trust_full: [f64; SLOTS],
    pub next_subtask_index: usize,
    pub remaining: u8,
    pub detections: u16,
    pub poisonings: u16,
    pub total_reward: f64,
}

impl TraceStep {
    /// Creates the row of the step that `session` has just taken.
    #[must_use]
    pub fn new(session: &Session, step: &Step) -> Self {
        let (o, tally) = (session.episode().observation(), session.episode().tally());
        Self {
            kind: "step",
            step: tally.actions,
            action_type: step.action.action_type(),
            specialist_id: step.action.slot(),
            subtask: NodeId(step.node).to_string(),
            attempt: step.attempt,
            stakes: step.stakes,
            reward: step.grades.reward,
            drew: u8::from(step.drew),
            adversarial: step.adversarial,
            confidence: step.confidence.map(|c| round_to(c, 3)),
            outcome: step.success.map(|s| f64::from(u8::from(s))),
            done: o.done(),
            step_count: o.step_count,
            trust: o.ledger.rounded_trust().0,
            trust_full: o.ledger.trust(),
            next_subtask_index: subtask_index(o),
            remaining: o.progress.remaining(),
            detections: tally.detections,
            poisonings: tally.poisonings,
            total_reward: tally.total_reward,
        }
    }
}

/// The row for the end of an episode.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[allow(
    missing_docs,
    reason = "the field names are the format, spec trust §11.6"
)]
pub struct TraceFinal {
    pub kind: &'static str,
    pub steps: u16,
    pub reward_events: u16,
    pub score: f64,
    pub score4: f64,
    pub total_reward: f64,
    pub terminal_reward: f64,
    pub completion: f64,
    pub detection_rate: Option<f64>,
    pub calibration: f64,
    pub detections: u16,
    pub poisonings: u16,
    pub forced_end: bool,
    pub status: Status,
    pub breakdown: Breakdown,
    pub step_count: u8,
    pub profile: [Behavior; SLOTS],
    pub adversarial_slot: Slot,
    pub fingerprints: PerSlot<EvidenceSummary>,
    pub node_status: Vec<NodeState>,
    pub component_averages: BTreeMap<&'static str, f64>,
    pub rng_next: f64,
    pub policy_rng_next: Option<f64>,
}

impl TraceFinal {
    /// Creates the row of an ended session; `None` while the session is running. `policy_rng_next`
    /// is the next draw of the policy's own stream, if the caller has one.
    #[must_use]
    pub fn new(session: &Session, policy_rng_next: Option<f64>) -> Option<Self> {
        let episode = session.episode();
        let (o, tally) = (episode.observation(), episode.tally());
        let end = session.last_step()?.terminal?;
        let breakdown = session.events().last()?.signal_breakdown;
        Some(Self {
            kind: "final",
            steps: tally.actions,
            reward_events: tally.reward_events,
            score: tally.score(),
            score4: round_to(tally.score(), 4),
            total_reward: tally.total_reward,
            terminal_reward: end.reward,
            completion: end.completion,
            detection_rate: (o.task == Task::Task3).then(|| round_to(end.detection_rate, 3)),
            calibration: end.calibration,
            detections: tally.detections,
            poisonings: tally.poisonings,
            forced_end: end.forced,
            status: o.status,
            breakdown,
            step_count: o.step_count,
            profile: episode.hidden().assignment.0,
            adversarial_slot: episode.hidden().slot_of(Behavior::Adversarial),
            fingerprints: EvidenceSummary::from_ledger(&o.ledger),
            node_status: o.progress.nodes().to_vec(),
            component_averages: component_averages(session.events()),
            rng_next: episode.hidden().peek_draw(),
            policy_rng_next,
        })
    }
}
