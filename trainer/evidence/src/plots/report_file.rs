//! Reading reward reports, ours or the reference's, for charts.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use sentinel_base::provenance::Provenance;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::input::{EvidenceError, InputKind, json_files};
use crate::reward_report::{LostReward, ReportOrigin};

/// The kind of file that this module reads.
pub(super) const KIND: InputKind = InputKind {
    what: "a reward report",
    command: "sentinel reward-report --policy NAME --task task3 --seeds 42 --out DIR",
};
/// The largest difference between a sum of the file and the sum of its steps that is rounding.
const ROUNDING: f64 = 2e-3;

/// The content of a reward report's file.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct ReportFile {
    /// The path of the file.
    #[serde(skip)]
    pub(super) path: PathBuf,
    /// The name of the task.
    pub(super) task_type: String,
    /// The score of the episode.
    pub(super) score: f64,
    events: Vec<EventRow>,
    /// The object that the reference's reports lack.
    #[serde(default)]
    pub(super) sentinel: Option<ReportOrigin>,
}

/// An event of a report.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct EventRow {
    #[serde(default)]
    kind: Option<String>,
    #[serde(default)]
    action: Value,
    /// The steps of the budget after the event.
    pub(super) step_count: f64,
    /// The trust in each specialist or worker after the event.
    #[serde(default)]
    pub(super) trust_snapshot: BTreeMap<String, f64>,
    #[serde(default)]
    signal_breakdown: Map<String, Value>,
}

impl EventRow {
    /// Returns `true` if the event is the reward for the end.
    fn is_terminal(&self) -> bool {
        let action = match &self.action {
            Value::Object(action) => action.get("action_type"),
            action => Some(action),
        };
        self.kind.as_deref() == Some("terminal")
            || action.and_then(Value::as_str) == Some("terminal")
    }
}

impl ReportFile {
    /// Reads a report, and checks it.
    pub(super) fn load(path: &Path) -> Result<Self, EvidenceError> {
        let mut file: Self = KIND.read(path)?;
        file.path = path.to_owned();
        if file.steps().next().is_none() {
            return Err(EvidenceError::NoEpisodes {
                path: path.to_owned(),
                command: KIND.command,
            });
        }
        if let Some(origin) = &file.sentinel {
            let rewards = origin
                .steps
                .iter()
                .flat_map(|step| std::iter::once(step.reward).chain(step.terminal_reward));
            let lost: f64 = rewards.map(|reward| 1.0 - reward).sum();
            let stated: f64 = origin.losses.iter().map(|loss| loss.reward_lost).sum();
            if (lost - stated).abs() > ROUNDING {
                let reason = "its causes of lost reward are not those of its steps";
                return Err(KIND.invalid(path, reason));
            }
        }
        Ok(file)
    }

    /// Reads reports; of a folder, all that are named `reward_report_*.json`, by name.
    pub(super) fn load_all(paths: &[&Path]) -> Result<Vec<Self>, EvidenceError> {
        let mut found = Vec::new();
        for path in paths {
            if !path.is_dir() {
                found.push(path.to_path_buf());
                continue;
            }
            let entries = json_files(path, "reward_report_")?;
            if entries.is_empty() {
                return Err(EvidenceError::Missing {
                    path: path.join("reward_report_*.json"),
                    what: KIND.what,
                    command: KIND.command,
                });
            }
            found.extend(entries);
        }
        found.iter().map(|path| Self::load(path)).collect()
    }

    /// Returns the events of steps.
    pub(super) fn steps(&self) -> impl Iterator<Item = &EventRow> {
        self.events.iter().filter(|event| !event.is_terminal())
    }

    /// Returns the causes of lost reward; the reference's reports have none.
    pub(super) fn losses(&self) -> Result<&[LostReward], EvidenceError> {
        match &self.sentinel {
            Some(origin) => Ok(&origin.losses),
            None => Err(KIND.invalid(&self.path, "it has no object `sentinel` with the causes")),
        }
    }

    /// Returns the components of the reward of each step, by step: those of `sentinel`, which are
    /// numbers in every world, or those of the events.
    pub(super) fn components(&self) -> Vec<(f64, Vec<(String, f64)>)> {
        let after = self.steps().map(|event| event.step_count);
        match &self.sentinel {
            Some(origin) => {
                let steps = origin.steps.iter();
                after
                    .zip(steps.map(|step| step.components.clone()))
                    .collect()
            }
            None => {
                let numbers = |event: &EventRow| {
                    let entries = event.signal_breakdown.iter();
                    entries
                        .filter_map(|(name, value)| Some((name.clone(), value.as_f64()?)))
                        .collect()
                };
                after.zip(self.steps().map(numbers)).collect()
            }
        }
    }

    /// Returns the name of the player.
    pub(super) fn player(&self) -> &str {
        self.sentinel
            .as_ref()
            .map_or("the policy", |origin| &origin.policy)
    }

    /// Returns what was played in words, such as `heuristic in trust task3, seed 42, score 0.676`.
    pub(super) fn describe_episode(&self) -> String {
        let score = self.score;
        match &self.sentinel {
            Some(origin) => format!(
                "{} in {} {}, seed {}, score {score:.3}",
                origin.policy, origin.world, origin.task, origin.seed
            ),
            None => format!("{}, score {score:.3}", self.task_type),
        }
    }

    /// Returns the provenance of the file.
    pub(super) fn provenance(&self) -> Option<&Provenance> {
        self.sentinel.as_ref().map(|origin| &origin.provenance)
    }
}
