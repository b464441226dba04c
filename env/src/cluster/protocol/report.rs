//! The reward events of an episode and the report on them (spec cluster §5, §6, §10).
#![allow(
    missing_docs,
    reason = "the field names are the protocol, spec cluster §10"
)]

use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};

use super::breakdown::{Breakdown, StepBreakdown};
use super::message::ActionMessage;
use super::summary::{ClusterSummary, FailureModes, JobsSummary};
use super::text;
use crate::adaptive_difficulty::DifficultyProfile;
use crate::cluster::Episode;
use crate::cluster::dynamics::{FORGED_JOB_MEMORY, degradation};
use crate::cluster::model::{
    Attack, AttackType, Behavior, FORGED_FREE_MEMORY, GpuId, JobId, Step, WorkerReport,
};
use crate::environment::{Environment, PrivilegedState};
use crate::num::round_to;
#[cfg(feature = "schema")]
use crate::schema::Share;
use crate::schema::impl_json_schema;
use crate::slot::{PerSlot, Slot};
use crate::task::Task;

/// A reward event: a step or the end of the episode.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(rename = "ClusterEvent")
)]
pub struct Event {
    pub step_count: u8,
    #[cfg_attr(
        feature = "schema",
        schemars(with = "serde_json::Map<String, serde_json::Value>")
    )]
    pub action: ActionMessage,
    pub reward: f64,
    pub reason: String,
    pub signal_breakdown: Breakdown,
    pub cluster_health: f64,
    pub utilization_rate: f64,
    #[cfg_attr(feature = "schema", schemars(with = "PerSlot<Share>"))]
    pub trust_snapshot: PerSlot<f64>,
    pub ai_failure_coverage: FailureModes,
    pub attack: Option<AttackEvent>,
    pub worker_report: Option<ReportEvent>,
}

impl Event {
    /// Creates the event of the step that `episode` has just taken.
    #[must_use]
    pub fn from_step(
        episode: &Episode,
        step: &Step,
        action: ActionMessage,
        attack_id: impl FnOnce() -> String,
    ) -> Self {
        let o = episode.observation();
        let breakdown = StepBreakdown::new(&step.grades, &o.counters);
        Self {
            step_count: o.step_count,
            action,
            reward: step.grades.reward,
            reason: text::explain_reward(step),
            signal_breakdown: Breakdown::Step(Box::new(breakdown)),
            cluster_health: o.health,
            utilization_rate: o.utilization,
            trust_snapshot: o.ledger.rounded_trust(),
            ai_failure_coverage: FailureModes::from_episode(episode),
            attack: step.attack.map(|attack| AttackEvent {
                attack_id: attack_id(),
                level: attack.level,
                attack_type: attack.kind,
                step: o.step_count,
                payload: AttackPayload(attack),
                detected: attack.detected,
            }),
            worker_report: step.report.map(|report| ReportEvent::new(episode, &report)),
        }
    }

    /// Creates the event of the end, or `None` if the step did not end the episode.
    #[must_use]
    pub fn from_terminal(episode: &Episode, step: &Step) -> Option<Self> {
        let end = step.terminal?;
        let o = episode.observation();
        Some(Self {
            step_count: o.step_count,
            action: ActionMessage {
                action_type: Some("terminal".to_owned()),
                ..ActionMessage::default()
            },
            reward: end.reward,
            reason: text::explain_terminal_reward(&end),
            signal_breakdown: Breakdown::Terminal(end),
            cluster_health: o.health,
            utilization_rate: o.utilization,
            trust_snapshot: o.ledger.rounded_trust(),
            ai_failure_coverage: FailureModes::from_episode(episode),
            attack: None,
            worker_report: None,
        })
    }
}

/// An attack, as the report shows it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AttackEvent {
    pub attack_id: String,
    pub level: u8,
    pub attack_type: AttackType,
    pub step: u8,
    pub payload: AttackPayload,
    pub detected: bool,
}

/// The content of an attack, whose fields depend on the attack's type.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AttackPayload(Attack);

#[derive(Serialize)]
#[serde(untagged)]
enum Forgery {
    Job {
        target: JobId,
        reported_status: &'static str,
        reported_progress: f64,
    },
    Gpu {
        target: GpuId,
        reported_state: &'static str,
        reported_memory_free: u16,
    },
    Health {
        reported_cluster_health: f64,
    },
}

impl AttackPayload {
    fn job(&self) -> Forgery {
        Forgery::Job {
            target: self.0.job,
            reported_status: "complete",
            reported_progress: 1.0,
        }
    }

    fn gpu(&self) -> Forgery {
        Forgery::Gpu {
            target: self.0.gpu,
            reported_state: "IDLE",
            reported_memory_free: FORGED_FREE_MEMORY,
        }
    }
}

impl Serialize for AttackPayload {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0.kind {
            AttackType::FalseCompletion => self.job().serialize(serializer),
            AttackType::FalseMemoryReport => self.gpu().serialize(serializer),
            AttackType::CascadePanic => {
                let mut map = serializer.serialize_map(Some(2))?;
                map.serialize_entry("reported_cluster_health", &0.0)?;
                map.serialize_entry("message", text::PANIC_MESSAGE)?;
                map.end()
            }
            AttackType::FabricateJob => {
                let mut map = serializer.serialize_map(Some(5))?;
                map.serialize_entry("job_id", &format!("FAB-{:04}", self.0.forged))?;
                map.serialize_entry("priority", &5)?;
                map.serialize_entry("memory", &FORGED_JOB_MEMORY)?;
                map.serialize_entry("deadline", &8)?;
                map.serialize_entry("owner", "adversary")?;
                map.end()
            }
            AttackType::CoordinatedMultiReport => {
                let health = Forgery::Health {
                    reported_cluster_health: 0.25,
                };
                let mut map = serializer.serialize_map(Some(1))?;
                map.serialize_entry("sequence", &[self.gpu(), self.job(), health])?;
                map.end()
            }
        }
    }
}

impl_json_schema!([] AttackPayload, "AttackPayload", |_generator| schemars::json_schema!({"type": "object"}));

/// A worker's report with the true progress, as the report on the episode shows it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ReportEvent {
    pub worker_id: Slot,
    pub job_id: JobId,
    pub reported_progress: f64,
    pub actual_progress: f64,
    pub confidence: f64,
    pub honest: bool,
    pub false_completion: bool,
    pub metadata: Metadata,
}

/// The details of a worker's report, which reveal the behavior behind it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Metadata {
    behavior: Behavior,
    report: WorkerReport,
    threshold: f64,
}

impl Serialize for Metadata {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let report = &self.report;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("behavior", &self.behavior)?;
        match self.behavior {
            Behavior::Reliable => {}
            Behavior::Overreporter => {
                let gap = round_to(report.reported - report.actual, 3);
                map.serialize_entry("overreport_gap", &gap)?;
            }
            Behavior::Slow => {
                map.serialize_entry("speed_multiplier", &self.behavior.speed())?;
            }
            Behavior::Adversarial => {
                map.serialize_entry("triggered", &report.false_completion)?;
                map.serialize_entry("stakes", &report.stakes)?;
                map.serialize_entry("threshold", &self.threshold)?;
            }
            Behavior::Degrading => {
                let error = round_to(degradation(f64::from(report.calls)), 3);
                map.serialize_entry("call_count", &report.calls)?;
                map.serialize_entry("degradation_error", &error)?;
            }
        }
        map.end()
    }
}

impl_json_schema!([] Metadata, "Metadata", |_generator| schemars::json_schema!({"type": "object"}));

impl ReportEvent {
    fn new(episode: &Episode, report: &WorkerReport) -> Self {
        let hidden = episode.hidden();
        Self {
            worker_id: report.worker,
            job_id: report.job,
            reported_progress: report.reported,
            actual_progress: report.actual,
            confidence: report.confidence,
            honest: report.honest,
            false_completion: report.false_completion,
            metadata: Metadata {
                behavior: hidden.assignment[report.worker],
                report: *report,
                threshold: hidden.worker_adversary.threshold,
            },
        }
    }
}

/// The report on an episode.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(rename = "ClusterRewardReport")
)]
pub struct RewardReport {
    pub episode_id: String,
    pub session_id: String,
    pub task_type: Task,
    pub score: f64,
    pub reward_events: u16,
    pub events: Vec<Event>,
    #[cfg_attr(feature = "schema", schemars(with = "PerSlot<Share>"))]
    pub trust_snapshot: PerSlot<f64>,
    pub cluster: ClusterSummary,
    pub jobs: JobsSummary,
    pub ai_failure_coverage: FailureModes,
    pub difficulty_profile: DifficultyProfile,
}
