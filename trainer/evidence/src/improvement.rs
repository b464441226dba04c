//! The paired comparison of two models that play greedily on the same seeds:
//! `improvement_report.json`.

use std::collections::BTreeMap;

use sentinel_base::interval::PairedInterval;
use sentinel_base::provenance::Provenance;
use sentinel_base::seeds::{TRAINING, VALIDATION};
use sentinel_base::{Error, SeedRange};
use serde::{Deserialize, Serialize};

use super::json_file;
use super::run_paths::RunPaths;
use super::run_report::MAKE;

/// The name of the report.
pub const IMPROVEMENT_REPORT: &str = "improvement_report.json";
/// The seeds of the comparison by default: validation seeds that evaluations during training, which
/// begin with the first one, do not reach.
pub const SEEDS: SeedRange = SeedRange::new(5_500, 5_700);

/// The scores of both models on the same seeds of one task.
#[derive(Clone, Debug, PartialEq)]
pub struct TaskScores {
    /// The name of the task.
    pub task: String,
    /// The scores of the baseline, by seed.
    pub baseline: Vec<f64>,
    /// The scores of the candidate, on the same seeds.
    pub candidate: Vec<f64>,
}

/// The comparison on one task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TaskImprovement {
    /// The number of seeds.
    pub pairs: usize,
    /// The mean score of the baseline.
    pub baseline_mean: f64,
    /// The mean score of the candidate.
    pub candidate_mean: f64,
    /// The mean difference, candidate minus baseline.
    pub difference: f64,
    /// The confidence interval of the difference; `null` for fewer than two pairs.
    pub interval: Option<[f64; 2]>,
}

/// The report of the comparison.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ImprovementReport {
    /// `true` if the whole interval is above 0.
    pub improved: bool,
    /// The name of the baseline: `sft`.
    pub baseline: String,
    /// The name of the candidate: `grpo`.
    pub candidate: String,
    /// The method of decoding: `greedy`.
    pub decoding: String,
    /// The name of the world.
    pub world: String,
    /// The name of the rules.
    pub rules: String,
    /// The seeds of each task.
    pub seeds: SeedRange,
    /// The number of pairs: tasks times seeds.
    pub pairs: usize,
    /// The mean score of the baseline; every task has the same weight.
    pub baseline_mean: f64,
    /// The mean score of the candidate.
    pub candidate_mean: f64,
    /// The mean difference, candidate minus baseline.
    pub difference: f64,
    /// The confidence interval of the difference; `null` for fewer than two pairs in a task.
    pub interval: Option<[f64; 2]>,
    /// The confidence of the intervals.
    pub confidence: f64,
    /// The comparison by task.
    pub by_task: BTreeMap<String, TaskImprovement>,
    /// The digests of the baseline's files, and of its base's under `base/`.
    #[serde(default)]
    pub baseline_artifact: BTreeMap<String, String>,
    /// The digests of the candidate's files, and of its base's under `base/`.
    #[serde(default)]
    pub candidate_artifact: BTreeMap<String, String>,
    /// The program, its inputs and every fallback on the way.
    pub provenance: Provenance,
}

impl ImprovementReport {
    /// Compares the scores of SFT and GRPO. World, rules, seeds and artifacts are left empty.
    #[must_use]
    pub fn new(tasks: &[TaskScores], seeds: SeedRange, provenance: Provenance) -> Self {
        let differences: Vec<Vec<f64>> = (tasks.iter())
            .map(|task| {
                (task.candidate.iter().zip(&task.baseline))
                    .map(|(c, b)| c - b)
                    .collect()
            })
            .collect();
        let whole = PairedInterval::from_cells(&differences);
        let mean = |of: fn(&TaskScores) -> &Vec<f64>| {
            let means = tasks.iter().map(|task| mean(of(task)));
            means.sum::<f64>() / tasks.len().max(1) as f64
        };
        let by_task = tasks.iter().zip(&differences).map(|(task, differences)| {
            let found = PairedInterval::from_cells(std::slice::from_ref(differences));
            let row = TaskImprovement {
                pairs: differences.len(),
                baseline_mean: self::mean(&task.baseline),
                candidate_mean: self::mean(&task.candidate),
                difference: found.mean,
                interval: found.bounds(),
            };
            (task.task.clone(), row)
        });
        Self {
            improved: whole.bounds().is_some_and(|[low, _]| low > 0.0),
            baseline: "sft".to_owned(),
            candidate: "grpo".to_owned(),
            decoding: "greedy".to_owned(),
            world: String::new(),
            rules: String::new(),
            seeds,
            pairs: differences.iter().map(Vec::len).sum(),
            baseline_mean: mean(|task| &task.baseline),
            candidate_mean: mean(|task| &task.candidate),
            difference: whole.mean,
            interval: whole.bounds(),
            confidence: PairedInterval::CONFIDENCE,
            by_task: by_task.collect(),
            baseline_artifact: BTreeMap::new(),
            candidate_artifact: BTreeMap::new(),
            provenance,
        }
    }

    /// Reads the report of a run.
    ///
    /// # Errors
    /// Returns an error if it is missing, cut off or not such a report.
    pub fn load(paths: &RunPaths) -> Result<Self, Error> {
        json_file::read_json(&paths.report(IMPROVEMENT_REPORT), MAKE)
    }

    /// Describes a value that does not follow from the others, as in a file that was edited.
    #[must_use]
    pub fn inconsistency(&self) -> Option<String> {
        let above = self.interval.is_some_and(|[low, _]| low > 0.0);
        let pairs: usize = self.by_task.values().map(|task| task.pairs).sum();
        if self.decoding != "greedy" {
            return Some(format!("decoding is {}, not greedy", self.decoding));
        }
        if self.improved != above {
            let (said, interval) = (self.improved, self.interval);
            return Some(format!(
                "improved is {said}, but the interval is {interval:?}"
            ));
        }
        if pairs != self.pairs {
            return Some(format!(
                "pairs is {}, but the tasks give {pairs}",
                self.pairs
            ));
        }
        check_seeds(self.seeds, &[])
            .err()
            .map(|error| error.to_string())
    }
}

/// Checks that seeds may serve for a comparison: they are validation seeds, or training seeds, and
/// none of those in `used`.
///
/// # Errors
/// Returns an error if one is a test seed or was used in training.
pub fn check_seeds(seeds: SeedRange, used: &[SeedRange]) -> Result<(), Error> {
    let refused = |reason: String| Err(Error::argument("--seeds", reason));
    if !VALIDATION.contains(seeds) && !TRAINING.contains(seeds) {
        return refused(format!(
            "{seeds} are not all among the validation seeds {VALIDATION}, nor among the training seeds {TRAINING}: \
             others are kept for tests"
        ));
    }
    match used.iter().find(|used| used.overlaps(seeds)) {
        Some(used) => refused(format!(
            "{seeds} overlap {used}, on which the models were trained or chosen: name others"
        )),
        None => Ok(()),
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Returns the comparison of two lists of scores on one task.
    pub(crate) fn compared(baseline: &[f64], candidate: &[f64]) -> ImprovementReport {
        let task = TaskScores {
            task: "task1".to_owned(),
            baseline: baseline.to_vec(),
            candidate: candidate.to_vec(),
        };
        ImprovementReport::new(&[task], SEEDS, Provenance::new())
    }

    #[test]
    fn improvement_requires_interval_above_zero() {
        let clear = compared(&[0.5, 0.6, 0.7, 0.8], &[0.61, 0.69, 0.8, 0.9]);
        assert!(
            clear.improved && clear.inconsistency().is_none(),
            "{clear:?}"
        );
        let noisy = compared(&[0.5, 0.6, 0.7, 0.8], &[0.9, 0.2, 0.9, 0.8]);
        assert!(!noisy.improved && noisy.difference > 0.0, "{noisy:?}");
        let worse = compared(&[0.5, 0.6], &[0.4, 0.5]);
        assert!(!worse.improved && worse.difference < 0.0);
    }

    /// A single pair has no spread, which is not certainty.
    #[test]
    fn single_pair_is_not_an_improvement() {
        let one = compared(&[0.5], &[0.9]);
        assert_eq!((one.improved, one.interval, one.pairs), (false, None, 1));
        assert!(!compared(&[], &[]).improved);
    }

    #[test]
    fn tasks_have_equal_weight() {
        let task = |name: &str, apart: f64, pairs: usize| TaskScores {
            task: name.to_owned(),
            baseline: vec![0.5; pairs],
            candidate: vec![0.5 + apart; pairs],
        };
        let tasks = [task("a", 0.1, 2), task("b", 0.3, 8)];
        let found = ImprovementReport::new(&tasks, SEEDS, Provenance::new());
        assert!((found.difference - 0.2).abs() < 1e-9 && found.pairs == 10);
        assert!((found.candidate_mean - 0.7).abs() < 1e-9);
        assert_eq!(found.by_task["b"].pairs, 8);
    }

    #[test]
    fn edited_improvement_report_is_inconsistent() {
        let mut found = compared(&[0.5, 0.6], &[0.5, 0.6]);
        found.improved = true;
        assert!(found.inconsistency().is_some());
        let mut found = compared(&[0.5, 0.6], &[0.5, 0.6]);
        found.seeds = SeedRange::new(0, 30);
        assert!(
            found
                .inconsistency()
                .is_some_and(|message| message.contains("kept for tests"))
        );
    }

    #[test]
    fn test_and_used_seeds_are_refused() {
        assert!(check_seeds(SEEDS, &[]).is_ok());
        assert!(check_seeds(SeedRange::new(200_000, 200_100), &[]).is_ok());
        assert!(check_seeds(SeedRange::new(1_000, 1_030), &[]).is_err());
        assert!(check_seeds(SeedRange::new(5_990, 6_010), &[]).is_err());
        let used = [SeedRange::new(5_000, 5_501)];
        assert!(check_seeds(SEEDS, &used).is_err_and(|e| e.to_string().contains("5000..5501")));
    }
}
