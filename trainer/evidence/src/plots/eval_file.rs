//! Reading the file of an evaluation, ours or the reference's, for charts.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use sentinel_base::interval::mean_and_half_width;
use sentinel_base::provenance::{Provenance, marked_name};
use serde::Deserialize;

use crate::charts::{Estimate, palette};
use crate::input::{EvidenceError, InputKind};

/// The kind of file that this module reads.
pub(super) const KIND: InputKind = InputKind {
    what: "an evaluation",
    command: "sentinel eval --out FILE",
};
/// The largest difference between a mean of the file and the mean of its rows that is rounding.
const ROUNDING: f64 = 6e-4;

/// The largest number of groups of bars.
const GROUPS: usize = 8;

/// The numbers of a summary by name.
pub(super) type Summary = BTreeMap<String, f64>;

/// The content of an evaluation's file.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct EvalFile {
    /// The path of the file.
    #[serde(skip)]
    pub(super) path: PathBuf,
    #[serde(default)]
    environment: Option<String>,
    /// The tasks in the order in which they were played.
    pub(super) tasks: Vec<String>,
    /// The means of each policy over all tasks.
    pub(super) summary: BTreeMap<String, Summary>,
    /// The means of each policy by task; absent for a single task of the cluster.
    #[serde(default)]
    by_task: Option<BTreeMap<String, BTreeMap<String, Summary>>>,
    /// The rows of all episodes.
    pub(super) episodes: Vec<EvalRow>,
    /// The origin; files of the reference have none.
    #[serde(default)]
    pub(super) sentinel: Option<EvalSource>,
}

/// A row of an episode.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct EvalRow {
    pub(super) policy: String,
    pub(super) task_type: String,
    pub(super) seed: u64,
    pub(super) score: f64,
    #[serde(default, alias = "attack_detections")]
    pub(super) adversarial_detections: Option<f64>,
    #[serde(default, alias = "attack_poisonings")]
    pub(super) adversarial_poisonings: Option<f64>,
}

/// The part of the origin that charts use.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct EvalSource {
    #[serde(default)]
    pub(super) model: Option<String>,
    #[serde(flatten)]
    pub(super) provenance: Provenance,
}

impl EvalFile {
    /// Reads a file, and checks that its means are those of its rows.
    pub(super) fn load(path: &Path) -> Result<Self, EvidenceError> {
        let mut file: Self = KIND.read(path)?;
        file.path = path.to_owned();
        if file.episodes.is_empty() {
            return Err(EvidenceError::NoEpisodes {
                path: path.to_owned(),
                command: KIND.command,
            });
        }
        for policy in file.policies() {
            let scores: Vec<f64> = file.rows(policy, None).map(|row| row.score).collect();
            let (mean, _) = mean_and_half_width(&scores);
            let stated = file
                .summary
                .get(policy)
                .and_then(|all| all.get("avg_score"));
            if stated.is_none_or(|stated| (stated - mean).abs() > ROUNDING) {
                let reason = format!("the summary of policy {policy} is not that of its episodes");
                return Err(KIND.invalid(path, reason));
            }
        }
        Ok(file)
    }

    /// Returns the name of the world.
    pub(super) fn world(&self) -> &str {
        self.environment.as_deref().unwrap_or("trust")
    }

    /// Returns the policies in the order in which they were played.
    pub(super) fn policies(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for row in &self.episodes {
            if !names.contains(&&*row.policy) {
                names.push(&row.policy);
            }
        }
        names
    }

    /// Returns the rows of a policy, of one task or of all.
    pub(super) fn rows<'a>(
        &'a self,
        policy: &'a str,
        task: Option<&'a str>,
    ) -> impl Iterator<Item = &'a EvalRow> {
        let of_task = move |row: &&EvalRow| task.is_none_or(|task| row.task_type == task);
        let rows = self.episodes.iter().filter(move |row| row.policy == policy);
        rows.filter(of_task)
    }

    /// Returns the mean score of a policy on some tasks, with the 95 % interval of its rows; `None`
    /// if the policy did not play them. Of a single task it is the mean that the file states.
    pub(super) fn score(&self, policy: &str, tasks: &[&str]) -> Option<Estimate> {
        let mut scores = Vec::new();
        for task in tasks {
            scores.extend(self.rows(policy, Some(task)).map(|row| row.score));
        }
        if scores.is_empty() {
            return None;
        }
        let (mean, half_width) = mean_and_half_width(&scores);
        let stated = match (tasks, &self.by_task) {
            ([task], Some(by_task)) => by_task.get(*task).and_then(|all| all.get(policy)),
            _ => None,
        };
        let value = stated
            .and_then(|all| all.get("avg_score").copied())
            .unwrap_or(mean);
        Some(half_width.map_or(Estimate::exact(value), |half_width| {
            Estimate::with_half_width(value, half_width)
        }))
    }

    /// Returns the tasks in groups that fit on an axis: each task, or the tasks of each difficulty
    /// (`DDI-hard` is hard), or all.
    pub(super) fn task_groups(&self) -> Vec<(String, Vec<&str>)> {
        let names = || self.tasks.iter().map(String::as_str);
        if self.tasks.len() <= GROUPS {
            return names().map(|task| (task.to_owned(), vec![task])).collect();
        }
        let mut groups: Vec<(String, Vec<&str>)> = Vec::new();
        for task in names() {
            let ending = task
                .rsplit_once('-')
                .map_or("all tasks", |(_, ending)| ending);
            match groups.iter_mut().find(|(name, _)| name == ending) {
                Some((_, tasks)) => tasks.push(task),
                None => groups.push((ending.to_owned(), vec![task])),
            }
        }
        if groups.len() > GROUPS {
            return vec![("all tasks".to_owned(), names().collect())];
        }
        groups
    }

    /// Returns the label of a policy, which marks a fallback.
    pub(super) fn label(&self, policy: &str) -> String {
        let origin = self.sentinel.as_ref();
        let is_fallback = origin.is_some_and(|origin| origin.provenance.is_fallback());
        marked_name(
            &palette::policy_label(policy),
            policy == "trained" && is_fallback,
        )
    }

    /// Returns what was played in words, such as `trust, 30 episodes per task and policy,
    /// seeds 0 to 29`.
    pub(super) fn describe_episodes(&self) -> String {
        let seeds = || self.episodes.iter().map(|row| row.seed);
        let (first, last) = (seeds().min().unwrap_or(0), seeds().max().unwrap_or(0));
        let cells = self.policies().len() * self.tasks.len().max(1);
        let count = self.episodes.len() / cells.max(1);
        let episodes = if count == 1 { "episode" } else { "episodes" };
        format!(
            "{}, {count} {episodes} per task and policy, seeds {first} to {last}",
            self.world()
        )
    }

    /// Returns the provenance of the file.
    pub(super) fn provenance(&self) -> Option<&Provenance> {
        self.sentinel.as_ref().map(|origin| &origin.provenance)
    }
}
