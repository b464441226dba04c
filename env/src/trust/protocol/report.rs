//! The reward events of an episode and the report on them (spec trust §11).

use std::collections::BTreeMap;

use serde::ser::{Serialize, SerializeMap, Serializer};

use super::breakdown::Breakdown;
use super::text;
use crate::environment::{Environment, PrivilegedState};
use crate::num::round_to;
#[cfg(feature = "schema")]
use crate::schema::Share;
use crate::schema::impl_json_schema;
use crate::slot::{PerSlot, Slot};
use crate::task::Task;
use crate::trust::Episode;
use crate::trust::model::{Behavior, Domain, Step};

/// The details of a specialist's result besides its outcome. They reveal the behavior (quirk Q12),
/// so they belong in reports and must not be given to a policy.
#[derive(Clone, Copy, Debug, PartialEq)]
struct ResultMetadata {
    behavior: Behavior,
    domain: Domain,
    stakes: f64,
    threshold: f64,
    calls: u16,
    accuracy: f64,
    in_domain: bool,
    triggered: bool,
    step_cost: u8,
}

impl Serialize for ResultMetadata {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("step_cost", &self.step_cost)?;
        match self.behavior {
            Behavior::AccurateSlow | Behavior::OverconfidentFast => {}
            Behavior::DomainBound => {
                map.serialize_entry("in_domain", &self.in_domain)?;
                map.serialize_entry("domain", &self.domain)?;
            }
            Behavior::Adversarial => {
                map.serialize_entry("triggered", &self.triggered)?;
                map.serialize_entry("stakes", &self.stakes)?;
                map.serialize_entry("threshold", &self.threshold)?;
            }
            Behavior::Degrading => {
                map.serialize_entry("call_count", &self.calls)?;
                map.serialize_entry("accuracy", &self.accuracy)?;
            }
        }
        map.end()
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Metadata(Option<ResultMetadata>);

impl Serialize for Metadata {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.0 {
            Some(metadata) => metadata.serialize(serializer),
            None => serializer.serialize_map(Some(0))?.end(),
        }
    }
}

impl_json_schema!([] Metadata, "Metadata", |_generator| schemars::json_schema!({"type": "object"}));

/// A reward event: a step or the end of the episode.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(rename = "TrustEvent")
)]
#[allow(
    missing_docs,
    reason = "the field names are the protocol, spec trust §11"
)]
pub struct Event {
    #[cfg_attr(feature = "schema", schemars(extend("enum" = ["step", "terminal"])))]
    pub kind: &'static str,
    pub step_count: u8,
    pub action_type: &'static str,
    pub specialist_id: Option<Slot>,
    #[serde(serialize_with = "node_name")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub subtask_id: Option<usize>,
    pub domain: Option<Domain>,
    #[cfg_attr(feature = "schema", schemars(with = "Share"))]
    pub stakes: f64,
    pub reward: f64,
    pub reason: String,
    pub signal_breakdown: Breakdown,
    pub was_adversarial: bool,
    #[cfg_attr(feature = "schema", schemars(with = "Option<Share>"))]
    pub confidence: Option<f64>,
    #[cfg_attr(feature = "schema", schemars(with = "Option<Share>"))]
    pub trust_before: Option<f64>,
    #[cfg_attr(feature = "schema", schemars(with = "Option<Share>"))]
    pub trust_after: Option<f64>,
    #[cfg_attr(feature = "schema", schemars(with = "PerSlot<Share>"))]
    pub trust_snapshot: PerSlot<f64>,
    result_metadata: Metadata,
}

#[allow(clippy::ref_option, reason = "the signature that serde asks for")]
fn node_name<S: Serializer>(node: &Option<usize>, serializer: S) -> Result<S::Ok, S::Error> {
    match node {
        Some(index) => serializer.collect_str(&text::NodeId(*index)),
        None => serializer.serialize_none(),
    }
}

impl Event {
    /// Creates the event of a step that has just been taken.
    #[must_use]
    pub fn from_step(episode: &Episode, step: &Step) -> Self {
        let observation = episode.observation();
        let snapshot = observation.ledger.rounded_trust();
        let slot = step.action.slot();
        Self {
            kind: "step",
            step_count: observation.step_count,
            action_type: step.action.action_type().name(),
            specialist_id: slot,
            subtask_id: Some(step.node),
            domain: Some(step.domain),
            stakes: round_to(step.stakes, 3),
            reward: round_to(step.grades.reward, 4),
            reason: text::explain_reward(step),
            signal_breakdown: Breakdown::from_step(observation.task, &step.grades),
            was_adversarial: step.adversarial,
            confidence: step.confidence.map(|c| round_to(c, 3)),
            trust_before: step.trust_before.map(|t| round_to(t, 3)),
            trust_after: slot.map(|slot| snapshot[slot]),
            trust_snapshot: snapshot,
            result_metadata: Metadata(slot.map(|slot| metadata(episode, step, slot))),
        }
    }

    /// Creates the event of the end, or `None` if `step` did not end the episode.
    #[must_use]
    pub fn from_terminal(episode: &Episode, step: &Step) -> Option<Self> {
        let end = step.terminal.as_ref()?;
        let (observation, tally) = (episode.observation(), episode.tally());
        let counts = (tally.detections, tally.poisonings);
        Some(Self {
            kind: "terminal",
            step_count: observation.step_count,
            action_type: "terminal",
            specialist_id: None,
            subtask_id: None,
            domain: None,
            stakes: 0.0,
            reward: round_to(end.reward, 4),
            reason: text::explain_terminal_reward(end),
            signal_breakdown: Breakdown::from_terminal(observation.task, end, counts, &step.grades),
            was_adversarial: false,
            confidence: None,
            trust_before: None,
            trust_after: None,
            trust_snapshot: observation.ledger.rounded_trust(),
            result_metadata: Metadata(None),
        })
    }
}

fn metadata(episode: &Episode, step: &Step, slot: Slot) -> ResultMetadata {
    let hidden = episode.hidden();
    ResultMetadata {
        behavior: hidden.assignment[slot],
        domain: step.domain,
        stakes: step.stakes,
        threshold: hidden.adversary.threshold,
        calls: step.calls_before + 1,
        accuracy: step.success_chance.unwrap_or(0.0),
        in_domain: step.in_domain.unwrap_or(false),
        triggered: step.adversarial,
        step_cost: step.specialist_cost,
    }
}

/// The formulas of the tasks' rewards, in the reference's words.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(rename = "TrustFormulas")
)]
#[allow(
    missing_docs,
    reason = "the field names are the protocol, spec trust §11"
)]
pub struct Formulas {
    pub task1_step: &'static str,
    pub task2_step: &'static str,
    pub task3_step: &'static str,
    pub task3_terminal: &'static str,
}

/// The formulas of [`grade`](crate::trust::grade) and of the terminal reward, in words.
pub(super) const FORMULAS: Formulas = Formulas {
    task1_step: "0.43 accuracy + 0.30 stakes + 0.12 efficiency + 0.07 confidence + 0.04 domain + 0.04 verify",
    task2_step: "0.55 accuracy + 0.25 efficiency + 0.10 confidence + 0.10 domain",
    task3_step: "0.32 accuracy + 0.33 stakes + 0.10 efficiency + 0.10 confidence + 0.10 verify + 0.05 domain",
    task3_terminal: "0.35 completion + 0.30 detection + 0.25 calibration + 0.10 efficiency",
};

/// The report on an episode so far.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(rename = "TrustRewardReport")
)]
#[allow(
    missing_docs,
    reason = "the field names are the protocol, spec trust §11"
)]
pub struct RewardReport {
    pub episode_id: String,
    pub session_id: String,
    pub task_type: Task,
    pub score: f64,
    pub total_reward: f64,
    pub reward_events: u16,
    pub component_averages: BTreeMap<&'static str, f64>,
    pub events: Vec<Event>,
    pub formula: Formulas,
}

/// Returns the mean of each component over the events that have it, rounded to four decimals.
#[must_use]
pub(super) fn component_averages(events: &[Event]) -> BTreeMap<&'static str, f64> {
    let mut sums: BTreeMap<&'static str, (f64, u32)> = BTreeMap::new();
    for (name, component) in events
        .iter()
        .flat_map(|event| event.signal_breakdown.iter())
    {
        let (sum, count) = sums.entry(name).or_default();
        *sum += component.value();
        *count += 1;
    }
    sums.into_iter()
        .map(|(name, (sum, n))| (name, round_to(sum / f64::from(n), 4)))
        .collect()
}
