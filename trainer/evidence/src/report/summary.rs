//! The figures of a sweep in one table: `hf_sweep_summary.json`.

use sentinel_base::interval::ConfidenceInterval;
use sentinel_base::provenance::{Fallback, Provenance};
use serde::{Deserialize, Serialize};

use super::results::{FORMAT, MissingChart, Results};
use super::sweep_results::{Latency, StageReport, SweepEntry};

/// The name of the file.
pub const SWEEP_SUMMARY: &str = "hf_sweep_summary.json";

/// The content of the file `hf_sweep_summary.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SweepSummary {
    /// The version of the format.
    pub format: u32,
    /// One row per model.
    pub models: Vec<ModelSummary>,
    /// The charts that could not be drawn.
    pub missing: Vec<MissingChart>,
    /// The program, its inputs and every fallback.
    pub provenance: Provenance,
}

/// The figures of one model; `null` where a report is missing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModelSummary {
    /// The id of the entry.
    pub run: String,
    /// The model as it was requested.
    pub model_id: Option<String>,
    /// The stage of supervised fine-tuning.
    pub sft: Option<StageSummary>,
    /// The stage of GRPO.
    pub grpo: Option<StageSummary>,
    /// The scores of `eval_base.json`, `eval_sft.json` and `eval_grpo.json`.
    pub scores: StageScores,
    /// Generation from the saved artifacts.
    pub postsave: Option<PostsaveSummary>,
    /// The comparison of SFT and GRPO on paired seeds.
    pub improvement: Option<ImprovementSummary>,
    /// The verdict of the acceptance gate.
    pub accepted: Option<bool>,
    /// Every fallback in the chain.
    pub fallbacks: Vec<Fallback>,
}

/// The figures of a training stage.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StageSummary {
    /// `ok`, `failed` or `interrupted`.
    pub status: String,
    /// The part of the program that trained: `sentinel_burn`, or `fallback`.
    pub backend: String,
    /// The number of optimizer steps.
    pub steps: Option<u64>,
    /// The seconds that the stage took.
    pub seconds: Option<f64>,
    /// The last logged loss.
    pub loss: Option<f64>,
    /// The last logged reward.
    pub reward: Option<f64>,
}

/// The scores of a model by stage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StageScores {
    /// The score before any training.
    pub base: Option<ConfidenceInterval>,
    /// The score after supervised fine-tuning.
    pub sft: Option<ConfidenceInterval>,
    /// The score after GRPO.
    pub grpo: Option<ConfidenceInterval>,
}

/// The figures of a post-save check.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PostsaveSummary {
    /// The artifact that answered.
    pub model_source: String,
    /// The number of samples.
    pub samples: usize,
    /// The share of samples that are an action.
    pub validity: f64,
    /// The mean reward of the samples.
    pub mean_reward: Option<f64>,
    /// The time per completion.
    pub latency_ms: Option<Latency>,
}

/// The figures of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ImprovementSummary {
    /// `true` if the interval lies above 0.
    pub improved: bool,
    /// The mean difference, candidate minus baseline.
    pub difference: f64,
    /// Both ends of its interval.
    pub interval: Option<[f64; 2]>,
    /// The number of pairs of episodes.
    pub pairs: Option<u64>,
}

impl SweepSummary {
    /// Summarizes the sweeps of a report.
    #[must_use]
    pub fn new(results: &Results) -> Self {
        let entries = results.sweeps.iter().flat_map(|sweep| &sweep.entries);
        Self {
            format: FORMAT,
            models: entries.map(ModelSummary::new).collect(),
            missing: results.missing.clone(),
            provenance: results.provenance.clone(),
        }
    }
}

impl ModelSummary {
    fn new(entry: &SweepEntry) -> Self {
        let improvement = entry.improvement.as_ref();
        Self {
            run: entry.run.clone(),
            model_id: entry.model_id.clone(),
            sft: entry.sft.as_ref().map(StageSummary::new),
            grpo: entry.grpo.as_ref().map(StageSummary::new),
            scores: StageScores::new(entry),
            postsave: entry.postsave.as_ref().map(|report| PostsaveSummary {
                model_source: report.model_source.clone(),
                samples: report.samples,
                validity: report.validity,
                mean_reward: report.mean_reward,
                latency_ms: report.latency_ms,
            }),
            improvement: improvement.map(|report| ImprovementSummary {
                improved: report.improved,
                difference: report.difference,
                interval: report.interval,
                pairs: report.pairs,
            }),
            accepted: entry.gate.as_ref().map(|gate| gate.accepted),
            fallbacks: entry.fallbacks.clone(),
        }
    }
}

impl StageSummary {
    fn new(stage: &StageReport) -> Self {
        let metric = |name: &str| stage.metrics.get(name).copied().flatten();
        Self {
            status: stage.status.clone(),
            backend: stage.backend.clone(),
            steps: stage.steps,
            seconds: stage.seconds,
            loss: metric("loss"),
            reward: metric("reward"),
        }
    }
}

impl StageScores {
    /// Returns the scores of an entry's evaluations.
    #[must_use]
    pub fn new(entry: &SweepEntry) -> Self {
        let score = |file: &str| {
            let found = entry.evaluations.get(file)?;
            Some(found.policies.first()?.score)
        };
        Self {
            base: score("eval_base"),
            sft: score("eval_sft"),
            grpo: score("eval_grpo"),
        }
    }
}
