//! The components of a reward, as payloads show them (spec cluster §8, §9).
#![allow(
    missing_docs,
    reason = "the field names are the protocol, spec cluster §8"
)]

use serde::ser::{Serialize, SerializeMap, Serializer};

use crate::cluster::model::{Counters, Grades, TerminalReward};
use crate::cluster::reward::clamp_component;
use crate::schema::impl_json_schema;

/// The components of a reward event.
#[derive(Clone, Debug, PartialEq, Default)]
pub enum Breakdown {
    /// No components, at reset.
    #[default]
    Empty,
    /// The components of a step's reward.
    Step(Box<StepBreakdown>),
    /// The components of the terminal reward.
    Terminal(TerminalReward),
}

impl Serialize for Breakdown {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Empty => serializer.serialize_map(Some(0))?.end(),
            Self::Step(step) => step.serialize(serializer),
            Self::Terminal(end) => serializer.collect_map(end.components().iter().copied()),
        }
    }
}

impl_json_schema!([] Breakdown, "Breakdown", |generator| schemars::json_schema!({
    "anyOf": [
        generator.subschema_for::<StepBreakdown>(),
        generator.subschema_for::<std::collections::BTreeMap<String, f64>>(),
    ],
}));

#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct Global {
    weighted_agent_score: f64,
    cluster_health_score: f64,
    ai_reliability_modifier: f64,
    orchestrator: f64,
    resource_manager: f64,
    auditor: f64,
    worker: f64,
}

#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct AiReliability {
    loop_avoidance: f64,
    context_memory_score: f64,
    hallucination_resistance: f64,
    evaluation_freshness: f64,
}

#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct Orchestrator {
    goal_completion_rate: f64,
    plan_coherence_score: f64,
    recovery_speed: f64,
}

#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct ResourceManager {
    gpu_utilization_efficiency: f64,
    deadline_hit_rate: f64,
    waste_penalty: f64,
}

#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct Auditor {
    detection_rate: f64,
    false_positive_rate: f64,
    calibration_score: f64,
}

#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct Worker {
    job_completion_accuracy: f64,
    report_honesty_score: f64,
}

/// The components of a step's reward, in the reference's order.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StepBreakdown {
    global: Global,
    ai_reliability: AiReliability,
    reward_hack_resistance: f64,
    orchestrator: Orchestrator,
    resource_manager: ResourceManager,
    auditor: Auditor,
    worker: Worker,
    trust_calibration: f64,
    plan_coherence: f64,
    jobs_completed_rate: f64,
    reward_hack_detection_rate: f64,
    adversarial_detection_rate: f64,
    loop_events: u16,
    context_drift_events: u16,
}

impl StepBreakdown {
    /// Creates the breakdown of a step from its grades and the counters after it.
    #[must_use]
    pub fn new(g: &Grades, counters: &Counters) -> Self {
        let reliability = &g.reliability;
        Self {
            global: Global {
                weighted_agent_score: clamp_component(g.weighted),
                cluster_health_score: g.health,
                ai_reliability_modifier: reliability.modifier,
                orchestrator: g.orchestrator,
                resource_manager: g.resource_manager,
                auditor: g.auditor,
                worker: g.worker,
            },
            ai_reliability: AiReliability {
                loop_avoidance: reliability.loop_avoidance,
                context_memory_score: reliability.context_memory,
                hallucination_resistance: reliability.hallucination_resistance,
                evaluation_freshness: reliability.freshness,
            },
            reward_hack_resistance: g.hack_resistance,
            orchestrator: Orchestrator {
                goal_completion_rate: g.completion,
                plan_coherence_score: g.coherence,
                recovery_speed: g.recovery_speed,
            },
            resource_manager: ResourceManager {
                gpu_utilization_efficiency: g.utilization,
                deadline_hit_rate: g.deadline_hit,
                waste_penalty: g.waste,
            },
            auditor: Auditor {
                detection_rate: g.detection_rate,
                false_positive_rate: g.false_positive_rate,
                calibration_score: g.calibration,
            },
            worker: Worker {
                job_completion_accuracy: g.completion,
                report_honesty_score: g.honesty,
            },
            trust_calibration: g.calibration,
            plan_coherence: g.coherence,
            jobs_completed_rate: g.completion,
            reward_hack_detection_rate: g.detection_rate,
            adversarial_detection_rate: g.detection_rate,
            loop_events: counters.loop_events,
            context_drift_events: counters.drift_events,
        }
    }
}
