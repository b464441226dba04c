//! The report of inference with saved artifacts: `postsave_inference.json`.
//!
//! A completion that is not an action counts as invalid; the reference counts it as valid.

use std::collections::BTreeMap;
use std::path::PathBuf;

use sentinel_base::Error;
use sentinel_base::precision::Precision;
use sentinel_base::provenance::Provenance;
use serde::{Deserialize, Serialize};

use super::artifact::ArtifactKind;
use super::json_file;
use super::run_paths::RunPaths;
use super::run_report::{Backend, MAKE, ReportStatus};

/// The name of the report.
pub const POSTSAVE_REPORT: &str = "postsave_inference.json";

sentinel_env::named_enum! {
    /// The source of the completions.
    pub enum ModelSource {
        /// The GRPO adapter on its base model.
        GrpoAdapter = "grpo_adapter",
        /// The base model with the SFT adapter added to its weights.
        MergedSft = "merged_sft",
        /// The SFT adapter on its base model.
        SftAdapter = "sft_adapter",
        /// A scripted policy of the world, because no artifact could be loaded.
        FallbackPolicy = "fallback_policy",
    }
}

impl From<ArtifactKind> for ModelSource {
    fn from(kind: ArtifactKind) -> Self {
        match kind {
            ArtifactKind::GrpoAdapter => Self::GrpoAdapter,
            ArtifactKind::Merged => Self::MergedSft,
            ArtifactKind::SftAdapter => Self::SftAdapter,
        }
    }
}

/// An artifact that comes earlier in the order of loading and could not be loaded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attempt {
    /// The kind of the artifact.
    pub artifact: ArtifactKind,
    /// The reason why it could not be loaded.
    pub error: String,
}

/// The times that completions took, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Latency {
    /// The mean over all samples.
    pub mean: f64,
    /// The median over all samples.
    pub p50: f64,
    /// The 95th percentile, by the nearest rank.
    pub p95: f64,
    /// The largest value of a sample.
    pub max: f64,
}

impl Latency {
    /// Summarizes the times of samples; `None` without any.
    #[must_use]
    pub fn from_times(times: &[f64]) -> Option<Self> {
        let mut sorted = times.to_vec();
        sorted.sort_by(f64::total_cmp);
        let rank = |share: f64| {
            let at = (share * sorted.len() as f64).ceil() as usize;
            sorted.get(at.max(1) - 1).copied()
        };
        Some(Self {
            mean: sorted.iter().sum::<f64>() / sorted.len() as f64,
            p50: rank(0.5)?,
            p95: rank(0.95)?,
            max: sorted.last().copied()?,
        })
    }
}

sentinel_env::named_enum! {
    /// The log-probabilities that those of the loaded artifact are compared with.
    pub enum Compared {
        /// Those that training logged for its last completions, with the weights that it saved.
        Training = "training",
        /// Those of base model and adapter, for the same completions as the merged model, or the
        /// other way round.
        MergedAndAdapter = "merged_and_adapter",
    }
}

/// The absolute differences of log-probabilities between two computations, in nats.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LogProbDifference {
    /// The computation that the artifact is compared with.
    pub compared_with: Compared,
    /// The largest difference of a token.
    pub max: f64,
    /// The mean difference of a token.
    pub mean: f64,
    /// The number of tokens that were compared.
    pub tokens: usize,
    /// The largest difference that rounding explains.
    pub tolerance: f64,
}

/// Returns the largest difference that rounding explains between two computations with `precision`.
///
/// In bf16, logits from 16 to 32 are multiples of 1/8. Two computations that sum in another order can
/// differ by one such step in the logit of the token, and by another in those of the other tokens.
#[must_use]
pub const fn logprob_tolerance(precision: Precision) -> f64 {
    match precision {
        Precision::F32 => 1e-3,
        Precision::Bf16Weights | Precision::Bf16 => 0.25,
    }
}

impl LogProbDifference {
    /// Compares the log-probabilities of the same tokens; `None` without any. A value that is not
    /// finite is infinitely far from every other one.
    #[must_use]
    pub fn from_pairs<'a>(
        compared_with: Compared,
        tolerance: f64,
        pairs: impl Iterator<Item = (&'a f64, &'a f64)>,
    ) -> Option<Self> {
        let (mut max, mut sum, mut tokens) = (0.0_f64, 0.0, 0);
        for (a, b) in pairs {
            let apart = (a - b).abs();
            // The largest number stands for infinity, which JSON does not have.
            let apart = if apart.is_finite() { apart } else { f64::MAX };
            max = max.max(apart);
            sum += apart;
            tokens += 1;
        }
        let mean = (sum / f64::from(tokens)).min(f64::MAX);
        (tokens > 0).then_some(Self {
            compared_with,
            max,
            mean,
            tokens: tokens as usize,
            tolerance,
        })
    }

    /// Returns `true` if rounding explains all differences.
    #[must_use]
    pub fn is_within_tolerance(&self) -> bool {
        self.max <= self.tolerance
    }
}

/// A prompt with its completion.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SampleRow {
    /// The name of the world.
    pub world: String,
    /// The name of the task.
    pub task: String,
    /// The seed of the episode.
    pub seed: u64,
    /// The observation's step count before the completion.
    pub step: u32,
    /// The prompt, without the chat template.
    pub prompt: String,
    /// The text of the completion.
    pub completion: String,
    /// `true` if the completion is an action.
    pub valid: bool,
    /// The action that was taken; `null` if the completion ended the episode.
    pub action: Option<String>,
    /// The reward of the step.
    pub reward: f64,
    /// The time that the completion took, in milliseconds.
    pub latency_ms: f64,
}

/// The report of inference with saved artifacts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PostSaveReport {
    /// `ok` if a saved artifact answered, `failed` if a stand-in did.
    pub status: ReportStatus,
    /// The program part that answered.
    pub backend: Backend,
    /// The source of the completions.
    pub model_source: ModelSource,
    /// The folder of the artifact that answered; empty for none.
    pub artifact_path: PathBuf,
    /// The digests of the artifact's files, and of its base's under `base/`.
    #[serde(default)]
    pub artifact: BTreeMap<String, String>,
    /// The artifacts that come earlier in the order of loading and could not be loaded.
    #[serde(default)]
    pub attempts: Vec<Attempt>,
    /// The number of completions.
    pub samples: usize,
    /// The number of completions that are an action.
    pub valid: usize,
    /// The number of completions that are not an action.
    pub invalid: usize,
    /// Share of completions that are an action, in `[0, 1]`.
    pub validity: f64,
    /// The mean reward of the steps.
    pub mean_reward: f64,
    /// The times that completions took; `null` if a script answered.
    pub latency_ms: Option<Latency>,
    /// The comparison of log-probabilities; `null` if there was nothing to compare.
    pub logprob_difference: Option<LogProbDifference>,
    /// The samples in order.
    pub rows: Vec<SampleRow>,
    /// The program, its inputs and every fallback on the way.
    pub provenance: Provenance,
}

impl PostSaveReport {
    /// Creates a report with the counts and means of `rows`.
    #[must_use]
    pub fn new(model_source: ModelSource, rows: Vec<SampleRow>, provenance: Provenance) -> Self {
        let samples = rows.len();
        let valid = rows.iter().filter(|row| row.valid).count();
        let count = samples.max(1) as f64;
        let times: Vec<f64> = rows.iter().map(|row| row.latency_ms).collect();
        let stands_in = model_source == ModelSource::FallbackPolicy;
        Self {
            status: if stands_in {
                ReportStatus::Failed
            } else {
                ReportStatus::Ok
            },
            backend: Backend::from_provenance(&provenance),
            model_source,
            artifact_path: PathBuf::new(),
            artifact: BTreeMap::new(),
            attempts: Vec::new(),
            samples,
            valid,
            invalid: samples - valid,
            validity: valid as f64 / count,
            mean_reward: rows.iter().map(|row| row.reward).sum::<f64>() / count,
            latency_ms: Latency::from_times(&times).filter(|_| !stands_in),
            logprob_difference: None,
            rows,
            provenance,
        }
    }

    /// Describes a count that does not follow from the rows, as in a file that was edited.
    #[must_use]
    pub fn inconsistency(&self) -> Option<String> {
        let valid = self.rows.iter().filter(|row| row.valid).count();
        let counts = [
            ("samples", self.samples, self.rows.len()),
            ("valid", self.valid, valid),
            ("invalid", self.invalid, self.rows.len() - valid),
        ];
        let other = counts.into_iter().find(|(_, said, found)| said != found);
        other.map(|(name, said, found)| format!("{name} is {said}, but the rows give {found}"))
    }

    /// Reads the report of a run.
    ///
    /// # Errors
    /// Returns an error if it is missing, cut off or not such a report.
    pub fn load(paths: &RunPaths) -> Result<Self, Error> {
        json_file::read_json(&paths.report(POSTSAVE_REPORT), MAKE)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Returns a sample without text.
    pub(crate) fn row(valid: bool, latency_ms: f64) -> SampleRow {
        SampleRow {
            world: "trust".to_owned(),
            task: "task1".to_owned(),
            seed: 5000,
            step: 0,
            prompt: String::new(),
            completion: String::new(),
            valid,
            action: None,
            reward: if valid { 0.8 } else { 0.0 },
            latency_ms,
        }
    }

    #[test]
    fn report_counts_invalid_samples_and_detects_edits() {
        let rows = vec![row(true, 1.0), row(false, 3.0), row(true, 2.0)];
        let mut found = PostSaveReport::new(ModelSource::MergedSft, rows, Provenance::new());
        assert_eq!((found.samples, found.valid, found.invalid), (3, 2, 1));
        assert!((found.validity - 2.0 / 3.0).abs() < 1e-12);
        assert!((found.mean_reward - 1.6 / 3.0).abs() < 1e-12);
        let latency = found.latency_ms.expect("times");
        assert_eq!((latency.mean, latency.p50, latency.max), (2.0, 2.0, 3.0));
        assert_eq!(found.inconsistency(), None);
        found.valid = 3;
        assert!(
            found
                .inconsistency()
                .is_some_and(|message| message.starts_with("valid is 3"))
        );
    }

    #[test]
    fn scripted_fallback_has_failed_status() {
        let mut provenance = Provenance::new();
        provenance.add_fallback("postsave", "a script");
        let found = PostSaveReport::new(ModelSource::FallbackPolicy, vec![], provenance);
        assert_eq!(
            (found.status, found.backend),
            (ReportStatus::Failed, Backend::Fallback)
        );
        assert_eq!((found.latency_ms, found.validity), (None, 0.0));
    }

    #[test]
    fn nan_logprob_difference_is_outside_tolerance() {
        let of = |a: &[f64], b: &[f64]| {
            let tolerance = logprob_tolerance(Precision::F32);
            LogProbDifference::from_pairs(Compared::Training, tolerance, a.iter().zip(b))
        };
        let near = of(&[-1.0, -2.0], &[-1.0, -2.0005]).expect("tokens");
        assert!(near.is_within_tolerance() && near.tokens == 2);
        assert!(!of(&[-1.0], &[-1.1]).expect("tokens").is_within_tolerance());
        let nan = of(&[f64::NAN], &[-1.0]).expect("tokens");
        assert!(!nan.is_within_tolerance() && nan.max.is_finite() && nan.mean.is_finite());
        assert_eq!(of(&[], &[]), None);
    }
}
