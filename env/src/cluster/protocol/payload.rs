//! The reference's JSON payloads, with the same fields in the same order (spec cluster §7, §10).
#![allow(
    missing_docs,
    reason = "the field names are the protocol, spec cluster §10"
)]

use serde::Serialize;

use super::breakdown::Breakdown;
use super::report::RewardReport;
use super::summary::{ClusterSummary, FailureModes, JobsSummary};
use crate::adaptive_difficulty::DifficultyProfile;
use crate::cluster::model::{
    Anomalies, Behavior, GPU_MEMORY, GpuId, GpuState, GpuView, Job, JobId, JobStatus, Observation,
    Rules,
};
use crate::ledger::EvidenceRow;
use crate::num::round_to;
#[cfg(feature = "schema")]
use crate::schema::Share;
use crate::slot::{PerSlot, SLOTS, Slot};
use crate::task::Task;

/// The public view of a GPU.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GpuRow {
    /// Id, such as GPU-02.
    pub id: GpuId,
    /// State of the GPU.
    pub state: GpuState,
    /// Size of the memory in GB.
    pub memory_total: u16,
    /// Memory in use, as reported.
    pub memory_used: u16,
    /// Free memory, as reported.
    pub memory_free: u16,
    /// Jobs on the GPU, in order of placement.
    pub jobs: Vec<JobId>,
    /// True if the report was found to be forged.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "bool"))]
    pub report_tampered: Option<bool>,
}

impl GpuRow {
    /// Creates the rows of all GPUs of an observation, each with its jobs in order of placement.
    #[must_use]
    pub fn all(o: &Observation) -> Vec<Self> {
        let gpus = (0..).map(GpuId).zip(o.gpus());
        let row = |(id, view): (GpuId, &GpuView)| {
            let held = |(_, job): &(JobId, &Job)| job.placed == Some(id);
            let mut jobs: Vec<(JobId, &Job)> = o.jobs.iter().filter(held).collect();
            jobs.sort_by_key(|(_, job)| job.placement);
            Self {
                id,
                state: view.state,
                memory_total: GPU_MEMORY,
                memory_used: view.used,
                memory_free: view.free,
                jobs: jobs.into_iter().map(|(id, _)| id).collect(),
                report_tampered: view.tampered.then_some(true),
            }
        };
        gpus.map(row).collect()
    }
}

/// The public part of a job.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct JobRow {
    /// Id, such as JOB-004.
    pub job_id: JobId,
    /// Memory that the job needs, in GB.
    pub memory_required: u8,
    /// Number of steps of work.
    pub steps_to_complete: u8,
    /// Step by which it should be complete.
    pub deadline: u8,
    /// Team that owns it.
    pub owner: String,
    /// Status of the job.
    pub status: JobStatus,
    /// GPU that it is assigned to, or null.
    pub assigned_gpu: Option<GpuId>,
    /// Progress as a worker reports it; it can be false.
    pub reported_progress: f64,
}

impl JobRow {
    /// Creates the rows of all jobs of an observation.
    #[must_use]
    pub fn all(o: &Observation) -> Vec<Self> {
        let row = |(job_id, job): (JobId, &Job)| Self {
            job_id,
            memory_required: job.memory,
            steps_to_complete: job.steps,
            deadline: job.deadline,
            owner: format!("team-{}", job.owner),
            status: job.status,
            assigned_gpu: job.assigned,
            reported_progress: round_to(job.reported, 3),
        };
        o.jobs.iter().map(row).collect()
    }
}

/// The observation as JSON. With its coverage it contains the hidden worker profile (quirk C7), so
/// it must not be given to a policy; see [`Session::agent_observation`](super::Session::agent_observation).
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(rename = "ClusterObservation")
)]
pub struct ObservationPayload {
    /// The session's id; omitted for agents, because ids are derived from the seed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// The id of the episode; omitted for agents.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub episode_id: Option<String>,
    /// Name of the task.
    pub task_type: Task,
    /// Steps used so far.
    pub step_count: u8,
    /// Step budget of the episode.
    #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
    pub max_steps: u8,
    /// The goal in one sentence.
    pub cluster_goal: &'static str,
    /// The GPUs, as reported; a report can be forged.
    pub gpu_pool: Vec<GpuRow>,
    /// Rows of the jobs in the queue.
    pub job_queue_summary: Vec<JobRow>,
    /// Jobs whose deadline is near.
    pub deadline_pressure: Vec<JobId>,
    /// Health of the cluster.
    #[cfg_attr(feature = "schema", schemars(with = "Share"))]
    pub cluster_health: f64,
    /// Share of memory in use.
    #[cfg_attr(feature = "schema", schemars(with = "Share"))]
    pub utilization_rate: f64,
    /// Trust in each worker, from evidence.
    #[cfg_attr(feature = "schema", schemars(with = "PerSlot<Share>"))]
    pub trust_snapshot: PerSlot<f64>,
    /// Evidence about each worker.
    pub behavioral_fingerprints: PerSlot<EvidenceRow<1>>,
    /// Anomaly score of each agent on record.
    pub audit_anomaly_scores: Anomalies,
    /// The failure modes, which name every worker's hidden behavior; omitted for agents.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ai_failure_coverage: Option<FailureModes>,
    /// Difficulty of the episode.
    pub difficulty_profile: DifficultyProfile,
    /// Names of all workers.
    pub available_workers: [Slot; SLOTS],
    /// The last action, its outcome and the worker's statement; null at the start.
    pub last_action_summary: Option<String>,
    /// Names of the action types.
    pub allowed_actions: [&'static str; 5],
    /// The rules in force; not part of the reference's payload, so omitted under its rules.
    #[serde(skip_serializing_if = "Rules::is_reference")]
    pub rules: Rules,
}

/// The reward as JSON.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(rename = "ClusterRewardPayload")
)]
pub struct RewardPayload {
    #[cfg_attr(feature = "schema", schemars(with = "Share"))]
    pub value: f64,
    pub reason: String,
    pub signal_breakdown: Breakdown,
}

/// The totals after a step.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(rename = "ClusterStepInfo")
)]
pub struct StepInfo {
    pub episode_id: String,
    pub session_id: String,
    pub score: f64,
    pub total_reward: f64,
    pub step_count: u8,
    pub max_steps: u8,
    pub cluster: ClusterSummary,
    pub jobs: JobsSummary,
    pub attack_attempts: u16,
    pub attack_detections: u16,
    pub attack_poisonings: u16,
    pub ai_failure_coverage: FailureModes,
    pub difficulty_profile: DifficultyProfile,
    pub reward_report: Option<RewardReport>,
}

/// The reply to a reset or a step.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(rename = "ClusterStepResult")
)]
pub struct StepResult {
    pub observation: ObservationPayload,
    pub reward: RewardPayload,
    pub done: bool,
    pub info: StepInfo,
}

/// The state of the episode for a status page, including the hidden worker profile.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(rename = "ClusterState")
)]
pub struct StatePayload {
    pub episode_id: String,
    pub session_id: String,
    pub task_type: Task,
    pub step_count: u8,
    pub max_steps: u8,
    pub done: bool,
    pub score: f64,
    pub total_reward: f64,
    pub cluster: ClusterSummary,
    pub jobs: JobsSummary,
    #[cfg_attr(feature = "schema", schemars(with = "PerSlot<Share>"))]
    pub trust_snapshot: PerSlot<f64>,
    pub behavioral_fingerprints: PerSlot<EvidenceRow<1>>,
    pub audit_anomaly_scores: Anomalies,
    pub attack_attempts: u16,
    pub attack_detections: u16,
    pub attack_poisonings: u16,
    pub ai_failure_coverage: FailureModes,
    pub difficulty_profile: DifficultyProfile,
    /// The workers' behaviors; a server leaves them out until the end.
    #[cfg_attr(feature = "schema", schemars(skip_serializing_if = "hidden"))]
    pub worker_profile_hidden: PerSlot<Behavior>,
}

/// A short form of the state, for a live view that polls it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(rename = "ClusterStream")
)]
pub struct StreamPayload {
    pub session_id: String,
    pub environment_mode: &'static str,
    pub step_count: u8,
    pub max_steps: u8,
    pub done: bool,
    #[cfg_attr(feature = "schema", schemars(with = "PerSlot<Share>"))]
    pub trust_snapshot: PerSlot<f64>,
    pub behavioral_fingerprints: PerSlot<EvidenceRow<1>>,
    pub cluster: ClusterSummary,
    pub jobs: JobsSummary,
    pub audit_anomaly_scores: Anomalies,
    pub attack_attempts: u16,
    pub attack_detections: u16,
    pub attack_poisonings: u16,
    pub ai_failure_coverage: FailureModes,
    pub difficulty_profile: DifficultyProfile,
    pub last_action_summary: Option<String>,
    pub last_reward: f64,
}
