//! The reference's JSON payloads, with the same fields in the same order (spec trust §11).

use super::breakdown::{Breakdown, EvidenceSummary};
use super::report::RewardReport;
use crate::adaptive_difficulty::DifficultyProfile;
#[cfg(feature = "schema")]
use crate::schema::Share;
use crate::slot::{PerSlot, Slot};
use crate::task::Task;
use crate::trust::model::{Rules, Status};

/// The observation as JSON.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(rename = "TrustObservation")
)]
#[allow(
    missing_docs,
    reason = "the field names are the protocol, spec trust §11"
)]
pub struct ObservationPayload {
    /// The session's id; omitted for agents, because ids are derived from the seed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// Number of the scenario, public.
    pub scenario_id: String,
    /// Name of the task.
    pub task_type: Task,
    /// Difficulty of the task.
    #[cfg_attr(feature = "schema", schemars(extend("enum" = ["easy", "medium", "hard"])))]
    pub difficulty: &'static str,
    /// The task in a few sentences.
    pub task_description: String,
    /// The subtask to decide on.
    pub current_subtask: String,
    /// Index of the current subtask, from 0; the number of subtasks after the end.
    pub subtask_index: usize,
    /// Number of subtasks in the scenario.
    #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
    pub subtasks_total: usize,
    /// Number of open subtasks.
    pub subtasks_remaining: u8,
    /// The specialists that can be asked.
    pub available_specialists: [Slot; 5],
    /// Trust in each specialist, from evidence.
    #[cfg_attr(feature = "schema", schemars(with = "PerSlot<Share>"))]
    pub trust_snapshot: PerSlot<f64>,
    /// Evidence about each specialist.
    pub behavioral_fingerprints: PerSlot<EvidenceSummary>,
    /// Difficulty of the episode.
    pub difficulty_profile: DifficultyProfile,
    /// Stakes of the current subtask; poison comes with high stakes.
    #[cfg_attr(feature = "schema", schemars(with = "Share"))]
    pub stakes_level: f64,
    /// Steps of the budget used so far; verify uses two, solve_independently more.
    pub step_count: u8,
    /// Step budget of the episode.
    #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
    pub max_steps: u8,
    /// The last action and its outcome in one line; null at the start.
    pub last_action_summary: Option<String>,
    /// Reward of the last action, 0 at the start.
    #[cfg_attr(feature = "schema", schemars(with = "Share"))]
    pub last_reward: f64,
    /// `active` until the end.
    pub episode_status: Status,
    /// The rules in force; not part of the reference's payload, so omitted under its rules.
    #[serde(skip_serializing_if = "Rules::is_reference")]
    pub rules: Rules,
}

/// The reward as JSON.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(rename = "TrustRewardPayload")
)]
#[allow(
    missing_docs,
    reason = "the field names are the protocol, spec trust §11"
)]
pub struct RewardPayload {
    #[cfg_attr(feature = "schema", schemars(with = "Share"))]
    pub value: f64,
    pub reason: String,
    pub signal_breakdown: Breakdown,
}

/// The additional fields at the end of an episode.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(rename = "TrustEndInfo")
)]
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
    #[cfg_attr(feature = "schema", schemars(with = "Share"))]
    pub completion_rate: f64,
    pub adversarial_detections: u16,
    pub adversarial_poisonings: u16,
    pub is_done: bool,
    #[cfg_attr(feature = "schema", schemars(with = "PerSlot<Share>"))]
    pub trust_snapshot: PerSlot<f64>,
    pub forced_end: bool,
    pub difficulty_profile: DifficultyProfile,
    pub reward_report: RewardReport,
}

/// The totals after a step.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(rename = "TrustStepInfo")
)]
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
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(rename = "TrustStepResult")
)]
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
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(rename = "TrustState")
)]
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
    #[cfg_attr(feature = "schema", schemars(extend("enum" = ["easy", "medium", "hard"])))]
    pub difficulty: &'static str,
    pub status: Status,
    #[cfg_attr(feature = "schema", schemars(with = "Share"))]
    pub last_reward: f64,
    pub subtasks_completed: u8,
    pub subtasks_total: usize,
    #[cfg_attr(feature = "schema", schemars(with = "PerSlot<Share>"))]
    pub trust_snapshot: PerSlot<f64>,
    pub adversarial_detections: u16,
    pub adversarial_poisonings: u16,
    pub behavioral_fingerprints: PerSlot<EvidenceSummary>,
    pub difficulty_profile: DifficultyProfile,
}

/// A short form of the state, for a live view that polls it.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(rename = "TrustStream")
)]
#[allow(
    missing_docs,
    reason = "the field names are the protocol, spec trust §11"
)]
pub struct StreamPayload {
    pub session_id: String,
    pub step_count: u8,
    pub max_steps: u8,
    pub done: bool,
    #[cfg_attr(feature = "schema", schemars(with = "PerSlot<Share>"))]
    pub trust_snapshot: PerSlot<f64>,
    pub behavioral_fingerprints: PerSlot<EvidenceSummary>,
    pub difficulty_profile: DifficultyProfile,
    pub last_action_summary: Option<String>,
    #[cfg_attr(feature = "schema", schemars(with = "Share"))]
    pub last_reward: f64,
}
