//! The reference's JSON payloads, field for field and in its order (spec trust §11).

use serde::ser::{Serialize, Serializer};

use super::{Domain, Grades, Ledger, Rules, Status, Task, Terminal};
use crate::controller::DifficultyProfile;
use crate::ledger::{Evidence, EvidenceRow};
use crate::num::round_to;
use crate::slot::{PerSlot, Slot};

/// One number of a breakdown.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Component {
    /// Rounded to three decimals.
    Share(f64),
    /// A count.
    Count(u16),
}

impl Component {
    /// As a float, for means.
    #[must_use]
    pub fn value(self) -> f64 {
        match self {
            Self::Share(v) => v,
            Self::Count(n) => f64::from(n),
        }
    }
}

impl Serialize for Component {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Share(v) => serializer.serialize_f64(*v),
            Self::Count(n) => serializer.serialize_u16(*n),
        }
    }
}

/// Named components of a reward in display order; at most six.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct Breakdown {
    entries: [Option<(&'static str, Component)>; 6],
}

impl Breakdown {
    /// The components in order.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, Component)> + '_ {
        self.entries.iter().flatten().copied()
    }

    /// The component called `key`.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<f64> {
        self.iter()
            .find(|(name, _)| *name == key)
            .map(|(_, c)| c.value())
    }

    fn shares(list: &[(&'static str, f64)]) -> Self {
        let mut entries = [None; 6];
        for (entry, (name, value)) in entries.iter_mut().zip(list) {
            *entry = Some((*name, Component::Share(round_to(*value, 3))));
        }
        Self { entries }
    }

    /// Components of a step.
    #[must_use]
    pub fn of_step(task: Task, g: &Grades) -> Self {
        let accuracy = ("task_accuracy", g.task_accuracy);
        let stakes = ("stakes_awareness", g.stakes_awareness);
        let efficiency = ("efficiency", g.efficiency);
        let alignment = ("confidence_alignment", g.confidence_alignment);
        let domain = ("domain_routing", g.domain_routing);
        let verification = ("verification_quality", g.verification_quality);
        match (task, g.skipped) {
            (Task::Task2, true) => Self::shares(&[accuracy, efficiency]),
            (_, true) => Self::shares(&[accuracy, stakes, efficiency]),
            (Task::Task1, _) => Self::shares(&[
                accuracy,
                stakes,
                efficiency,
                alignment,
                domain,
                verification,
            ]),
            (Task::Task2, _) => Self::shares(&[accuracy, efficiency, alignment, domain]),
            (Task::Task3, _) => Self::shares(&[
                accuracy,
                stakes,
                efficiency,
                alignment,
                verification,
                domain,
            ]),
        }
    }

    /// Components of the end; the reference's task1 repeats those of its last step.
    #[must_use]
    pub fn of_terminal(task: Task, t: &Terminal, counts: (u16, u16), last: &Grades) -> Self {
        let completion = ("completion_rate", t.completion);
        let calibration = ("trust_calibration", t.calibration);
        match task {
            Task::Task1 if t.weights.completion > 0.0 => Self::shares(&[completion]),
            Task::Task1 => Self::of_step(task, last),
            Task::Task2 => Self::shares(&[completion, calibration]),
            Task::Task3 => {
                let detection = ("detection_rate", t.detection_rate);
                let efficiency = ("efficiency", t.efficiency);
                let mut all = if t.weights.detection > 0.0 {
                    Self::shares(&[completion, detection, calibration, efficiency])
                } else {
                    Self::shares(&[completion, calibration, efficiency])
                };
                all.entries[4] = Some(("adversarial_detections", Component::Count(counts.0)));
                all.entries[5] = Some(("adversarial_poisonings", Component::Count(counts.1)));
                all
            }
        }
    }
}

impl Serialize for Breakdown {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

/// What the observation shows of one slot's history.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fingerprint(pub Evidence<{ Domain::COUNT }>);

impl Fingerprint {
    /// All slots of a ledger.
    #[must_use]
    pub fn of(ledger: &Ledger) -> PerSlot<Self> {
        PerSlot(Slot::ALL.map(|slot| Self(ledger[slot])))
    }
}

/// Names of the domains, in their order.
const DOMAINS: [&str; Domain::COUNT] = [
    Domain::ALL[0].name(),
    Domain::ALL[1].name(),
    Domain::ALL[2].name(),
    Domain::ALL[3].name(),
    Domain::ALL[4].name(),
];

impl Serialize for Fingerprint {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        EvidenceRow::new(self.0, &DOMAINS).serialize(serializer)
    }
}

/// The observation as JSON.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[allow(
    missing_docs,
    reason = "the field names are the protocol, spec trust §11"
)]
pub struct ObservationPayload {
    pub session_id: String,
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
    pub behavioral_fingerprints: PerSlot<Fingerprint>,
    pub difficulty_profile: DifficultyProfile,
    pub stakes_level: f64,
    pub step_count: u8,
    pub max_steps: u8,
    pub last_action_summary: Option<String>,
    pub last_reward: f64,
    pub episode_status: Status,
    /// Not part of the reference, so left out under its rules.
    #[serde(skip_serializing_if = "is_reference")]
    pub rules: Rules,
}

#[allow(
    clippy::trivially_copy_pass_by_ref,
    reason = "the signature that serde asks for"
)]
fn is_reference(rules: &Rules) -> bool {
    *rules == Rules::REFERENCE
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

/// What is told at the end besides the totals.
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
    pub reward_report: super::RewardReport,
}

/// Totals after a step.
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

/// What reset and step return.
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

/// The whole state for a status page.
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
    pub behavioral_fingerprints: PerSlot<Fingerprint>,
    pub difficulty_profile: DifficultyProfile,
}

/// The short form that a live view polls.
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
    pub behavioral_fingerprints: PerSlot<Fingerprint>,
    pub difficulty_profile: DifficultyProfile,
    pub last_action_summary: Option<String>,
    pub last_reward: f64,
}
