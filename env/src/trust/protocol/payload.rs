//! The reference's JSON payloads, with the same fields in the same order (spec trust §11).

use super::breakdown::{Breakdown, EvidenceSummary};
use super::report::RewardReport;
use crate::adaptive_difficulty::DifficultyProfile;
use crate::slot::{PerSlot, Slot};
use crate::task::Task;
use crate::trust::model::{Rules, Status};

/// The observation as JSON.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[allow(
    missing_docs,
    reason = "the field names are the protocol, spec trust §11"
)]
pub struct ObservationPayload {
    /// The session's id; omitted for agents, because ids are derived from the seed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    pub scenario_id: String,
    pub task_type: Task,
    pub difficulty: &'static str,
    pub task_description: String,
    pub current_subtask: String,
    pub subtask_index: usize,
    pub subtasks_total: usize,
    pub subtasks_remaining: u8,
    pub available_specialists: [Slot; 5],
    pub trust_snapshot: PerSlot<f64>,
    pub behavioral_fingerprints: PerSlot<EvidenceSummary>,
    pub difficulty_profile: DifficultyProfile,
    pub stakes_level: f64,
    pub step_count: u8,
    pub max_steps: u8,
    pub last_action_summary: Option<String>,
    pub last_reward: f64,
    pub episode_status: Status,
    /// The rules in force; not part of the reference's payload, so omitted under its rules.
    #[serde(skip_serializing_if = "Rules::is_reference")]
    pub rules: Rules,
}

/// The reward as JSON.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[allow(
    missing_docs,
    reason = "the field names are the protocol, spec trust §11"
)]
pub struct RewardPayload {
    pub value: f64,
    pub reason: String,
    pub signal_breakdown: Breakdown,
}

/// The additional fields at the end of an episode.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[allow(
    missing_docs,
    reason = "the field names are the protocol, spec trust §11"
)]
pub struct EndInfo {
    pub scenario_id: String,
    pub task_type: Task,
    pub subtasks_total: usize,
    pub subtasks_completed: u8,
    pub subtasks_failed: usize,
    pub subtasks_remaining: u8,
    pub completion_rate: f64,
    pub adversarial_detections: u16,
    pub adversarial_poisonings: u16,
    pub is_done: bool,
    pub trust_snapshot: PerSlot<f64>,
    pub forced_end: bool,
    pub difficulty_profile: DifficultyProfile,
    pub reward_report: RewardReport,
}

/// The totals after a step.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[allow(
    missing_docs,
    reason = "the field names are the protocol, spec trust §11"
)]
pub struct StepInfo {
    pub episode_id: String,
    pub session_id: String,
    pub step_count: u8,
    pub max_steps: u8,
    pub total_reward: f64,
    pub score: f64,
    #[serde(flatten)]
    pub end: Option<EndInfo>,
}

/// The reply to a reset or a step.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[allow(
    missing_docs,
    reason = "the field names are the protocol, spec trust §11"
)]
pub struct StepResult {
    pub observation: ObservationPayload,
    pub reward: RewardPayload,
    pub done: bool,
    pub info: StepInfo,
}

/// The state of the episode for a status page.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[allow(
    missing_docs,
    reason = "the field names are the protocol, spec trust §11"
)]
pub struct StatePayload {
    pub episode_id: String,
    pub session_id: String,
    pub step_count: u8,
    pub max_steps: u8,
    pub total_reward: f64,
    pub score: f64,
    pub done: bool,
    pub scenario_id: String,
    pub task_type: Task,
    pub difficulty: &'static str,
    pub status: Status,
    pub last_reward: f64,
    pub subtasks_completed: u8,
    pub subtasks_total: usize,
    pub trust_snapshot: PerSlot<f64>,
    pub adversarial_detections: u16,
    pub adversarial_poisonings: u16,
    pub behavioral_fingerprints: PerSlot<EvidenceSummary>,
    pub difficulty_profile: DifficultyProfile,
}

/// A short form of the state, for a live view that polls it.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[allow(
    missing_docs,
    reason = "the field names are the protocol, spec trust §11"
)]
pub struct StreamPayload {
    pub session_id: String,
    pub step_count: u8,
    pub max_steps: u8,
    pub done: bool,
    pub trust_snapshot: PerSlot<f64>,
    pub behavioral_fingerprints: PerSlot<EvidenceSummary>,
    pub difficulty_profile: DifficultyProfile,
    pub last_action_summary: Option<String>,
    pub last_reward: f64,
}
