//! The scores of an evaluation as typed data, for runs of their own and for the models of a sweep.

use std::collections::BTreeMap;

use sentinel_base::interval::ConfidenceInterval;
use sentinel_base::provenance::Provenance;
use sentinel_play::eval::Diagnostics;
use serde::{Deserialize, Serialize};

/// A file of `eval --out` or `lm eval --out`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Evaluation {
    /// The name of the evaluation in this report and of its folder in `data/`.
    pub id: String,
    /// The file that was read.
    pub path: String,
    /// The command that wrote the file.
    pub kind: EvaluationKind,
    /// The name of the world.
    pub world: String,
    /// The model that played, by folder or name.
    pub model: Option<String>,
    /// The adapter of the model.
    pub adapter: Option<String>,
    /// The replay that was played.
    pub replay: Option<String>,
    /// The seeds of each task, as `A..B`.
    pub seeds: String,
    /// The mode in which random streams were seeded.
    pub streams: String,
    /// The name of the rules.
    pub rules: String,
    /// The policies in the order of the file.
    pub policies: Vec<PolicyScore>,
    /// The share of completions that are an action, of a language model.
    pub validity: Option<f64>,
    /// Further statistics of a language model's completions.
    pub signals: BTreeMap<String, f64>,
    /// The behavior of each policy by split, in worlds that have such statistics.
    pub diagnostics: Vec<Diagnostics>,
    /// The program, the digests of the files that it read, and the fallbacks.
    pub provenance: Provenance,
}

/// The command that wrote an evaluation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EvaluationKind {
    /// The command `sentinel eval --out`.
    Eval,
    /// `sentinel lm eval --out`.
    LmEval,
}

/// The scores of a policy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PolicyScore {
    /// The name of the policy; `model` for a language model.
    pub policy: String,
    /// The number of episodes.
    pub episodes: usize,
    /// The mean score as the file has it, with its interval.
    pub score: ConfidenceInterval,
    /// The scores by task.
    pub tasks: Vec<TaskScore>,
    /// The other means of the summary by their names in the file.
    pub means: BTreeMap<String, f64>,
}

/// The score of a policy on a task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TaskScore {
    /// The name of the task.
    pub task: String,
    /// The number of episodes, where the file has it.
    pub episodes: Option<usize>,
    /// The mean score with its interval.
    pub score: ConfidenceInterval,
    /// The episodes with the lowest, the middle and the highest score, where the file has rows of
    /// episodes that their seed determines.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub examples: Vec<ScoredEpisode>,
}

/// The score of one episode of an evaluation.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ScoredEpisode {
    /// The seed of the episode.
    pub seed: u64,
    /// The score of the episode, as the file has it.
    pub score: f64,
}
