//! The reports of a sweep as typed data: one entry per model, one report per stage.

use std::collections::BTreeMap;

use sentinel_base::provenance::{Fallback, Provenance};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::evaluation::Evaluation;

/// The reports of a sweep.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sweep {
    /// The name of the sweep in this report and of its folder in `data/`.
    pub id: String,
    /// The folder that was read.
    pub path: String,
    /// The entries, in the order of the manifest or else of their names.
    pub entries: Vec<SweepEntry>,
    /// The verdict of the acceptance gate, if the folder holds one.
    pub gate: Option<Gate>,
}

/// The reports of one model of a sweep. A report that does not exist is `null`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SweepEntry {
    /// The id of the entry, which names its folders.
    pub run: String,
    /// The folder of its reports.
    pub path: String,
    /// The name of the model in tables and charts, with a mark if the chain holds a fallback.
    pub label: String,
    /// The model as it was requested.
    pub model_id: Option<String>,
    /// The report of supervised fine-tuning.
    pub sft: Option<StageReport>,
    /// The report of GRPO.
    pub grpo: Option<StageReport>,
    /// Generation from the saved artifacts.
    pub postsave: Option<Postsave>,
    /// The comparison of SFT and GRPO on paired seeds.
    pub improvement: Option<Improvement>,
    /// The verdict of the acceptance gate on this entry.
    pub gate: Option<Gate>,
    /// The evaluations by name of their file: `eval_base`, `eval_sft`, `eval_grpo` and others.
    pub evaluations: BTreeMap<String, Evaluation>,
    /// The records of the stages by name, if the sweep has some.
    #[serde(default)]
    pub stages: BTreeMap<String, StageRecord>,
    /// Every fallback that a report of the entry depends on.
    pub fallbacks: Vec<Fallback>,
}

/// The record of a stage in `stages.json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StageRecord {
    /// `running`, `ok`, `failed` or `interrupted`.
    pub status: String,
    /// The command line that does the work of the stage.
    #[serde(default)]
    pub command: String,
    /// The reason why it stopped.
    #[serde(default)]
    pub error: Option<String>,
}

/// The report of a training stage: `sft_trl_run.json` or `grpo_trl_run.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StageReport {
    /// `ok`, `failed` or `interrupted`.
    pub status: String,
    /// The part of the program that trained: `sentinel_burn`, or `fallback`.
    pub backend: String,
    /// The model as it was requested.
    pub model_id: String,
    /// The folder or name of the model that training began with.
    #[serde(default)]
    pub base_model: String,
    /// The folder of the result; empty if there is none.
    #[serde(default)]
    pub artifact_path: String,
    /// The name of the world.
    #[serde(default)]
    pub world: Option<String>,
    /// The tasks, separated by commas, or `all`.
    #[serde(default)]
    pub task: Option<String>,
    /// The name of the rules.
    #[serde(default)]
    pub rules: Option<String>,
    /// The number of optimizer steps.
    #[serde(default)]
    pub steps: Option<u64>,
    /// The seconds that the stage took.
    #[serde(default)]
    pub seconds: Option<f64>,
    /// The seed of the stage.
    #[serde(default)]
    pub seed: Option<u64>,
    /// The last logged values.
    #[serde(default)]
    pub metrics: BTreeMap<String, Option<f64>>,
    /// The log of the run that the report was made from.
    #[serde(default)]
    pub log_history: Option<LogHistory>,
    /// The reason of a failure.
    #[serde(default)]
    pub error: Option<String>,
    /// The program, inputs and fallbacks of the stage.
    pub provenance: Provenance,
    /// The logged values of each drawn metric, as pairs of step and value, read from
    /// `log_history`.
    #[serde(default)]
    pub series: BTreeMap<String, Vec<[f64; 2]>>,
}

/// The file that holds the log of a stage.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogHistory {
    /// The path of `trainer_state.json`.
    pub path: String,
    /// The SHA-256 of its content.
    pub sha256: String,
}

/// The report of generation from saved artifacts: `postsave_inference.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Postsave {
    /// The outcome: `ok` or `failed`.
    pub status: String,
    /// The backend that generated.
    pub backend: String,
    /// The artifact that answered: `grpo_adapter`, `merged_sft`, `sft_adapter` or
    /// `fallback_policy`.
    pub model_source: String,
    /// The folder of the artifact.
    #[serde(default)]
    pub artifact_path: String,
    /// The number of samples.
    pub samples: usize,
    /// The number of samples that are an action.
    pub valid: usize,
    /// The number of samples that are none.
    #[serde(default)]
    pub invalid: usize,
    /// The share of samples that are an action.
    pub validity: f64,
    /// The mean reward of the samples.
    #[serde(default)]
    pub mean_reward: Option<f64>,
    /// The time from prompt to completion.
    #[serde(default)]
    pub latency_ms: Option<Latency>,
    /// The difference from the log-probabilities of training.
    #[serde(default)]
    pub logprob_difference: Option<LogprobDifference>,
    /// The samples in the order in which they were generated.
    #[serde(default)]
    pub rows: Vec<PostSaveSample>,
    /// The program, inputs and fallbacks of the check.
    pub provenance: Provenance,
}

/// One sample of a post-save check. Prompt and completion stay in the raw file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PostSaveSample {
    /// `true` if the completion is an action.
    pub valid: bool,
    /// The reward of its step.
    #[serde(default)]
    pub reward: Option<f64>,
    /// The milliseconds from prompt to completion.
    #[serde(default)]
    pub latency_ms: Option<f64>,
}

/// The distribution of latencies in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Latency {
    /// The mean over the samples.
    pub mean: f64,
    /// The median over the samples.
    pub p50: f64,
    /// The 95th percentile of the samples.
    pub p95: f64,
    /// The maximum over the samples.
    pub max: f64,
}

/// The difference of log-probabilities between the saved model and training.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LogprobDifference {
    /// The maximum of the absolute difference.
    pub max: f64,
    /// The mean of the absolute difference.
    pub mean: f64,
    /// The number of tokens that were compared.
    pub tokens: u64,
}

/// The comparison of two stages on paired seeds: `improvement_report.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Improvement {
    /// `true` if the interval of the difference lies above 0.
    pub improved: bool,
    /// The stage that is compared with.
    pub baseline: String,
    /// The stage that is judged.
    pub candidate: String,
    /// The way in which both played.
    #[serde(default)]
    pub decoding: Option<String>,
    /// The seeds that both played.
    #[serde(default)]
    pub seeds: Option<String>,
    /// The number of pairs of episodes.
    #[serde(default)]
    pub pairs: Option<u64>,
    /// The mean score of the baseline.
    pub baseline_mean: f64,
    /// The mean score of the candidate.
    pub candidate_mean: f64,
    /// The mean difference, candidate minus baseline.
    pub difference: f64,
    /// Both ends of its interval; `null` for too few pairs.
    #[serde(default)]
    pub interval: Option<[f64; 2]>,
    /// The confidence of the interval.
    #[serde(default)]
    pub confidence: Option<f64>,
    /// The same by task.
    #[serde(default)]
    pub by_task: Map<String, Value>,
    /// The program, inputs and fallbacks of the comparison.
    pub provenance: Provenance,
}

/// The verdict of the acceptance gate: `acceptance_gate.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Gate {
    /// `true` if all conditions hold.
    pub accepted: bool,
    /// `true` if the strict conditions were checked.
    #[serde(default)]
    pub strict: bool,
    /// The conditions in the order in which they were checked.
    pub conditions: Vec<GateCondition>,
    /// The program, inputs and fallbacks of the verdict.
    pub provenance: Provenance,
}

/// A condition of the acceptance gate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GateCondition {
    /// The name of the condition.
    pub name: String,
    /// `true` if it holds.
    pub passed: bool,
    /// The values that were read.
    #[serde(default)]
    pub evidence: String,
    /// The file that was read.
    #[serde(default)]
    pub file: Option<String>,
}
