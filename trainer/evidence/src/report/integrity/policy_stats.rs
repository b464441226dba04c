//! The policies that are judged, with their statistics from all evaluations.

use std::collections::BTreeMap;

use sentinel_base::provenance::marked_name;
use sentinel_play::eval::Diagnostics;

use super::{Diversity, Gap, Rate};
use crate::report::evaluation::{Evaluation, EvaluationKind};
use crate::report::sweep_results::{Sweep, SweepEntry};

/// The number of kinds of action.
const KINDS: usize = sentinel_env::polyguard::ActKind::COUNT;

/// A policy with its statistics by split.
#[derive(Clone, Debug, PartialEq)]
pub(in super::super) struct PolicyStats {
    /// The name in tables and charts.
    pub(in super::super) label: String,
    /// The ids of the evaluations.
    pub(super) evaluations: Vec<String>,
    /// The statistics, one for each split.
    pub(in super::super) splits: Vec<Diagnostics>,
}

impl PolicyStats {
    /// Returns the statistics of a split.
    pub(in super::super) fn split(&self, name: &str) -> Option<&Diagnostics> {
        self.splits.iter().find(|found| found.split == name)
    }

    /// Adds statistics. Of two of the same split, those of more episodes are kept, so that no
    /// episode counts twice.
    pub(super) fn add(&mut self, id: &str, found: &Diagnostics) {
        match (self.splits.iter_mut()).find(|known| known.split == found.split) {
            Some(known) if known.episodes >= found.episodes => return,
            Some(known) => *known = found.clone(),
            None => self.splits.push(found.clone()),
        }
        self.evaluations.push(id.to_owned());
    }

    /// Returns the number of episodes of all splits.
    pub(in super::super) fn episodes(&self) -> usize {
        self.splits.iter().map(|split| split.episodes).sum()
    }

    /// Returns the episodes that a rule ended.
    pub(in super::super) fn exploits(&self, rule: &str) -> Rate {
        let count = |split: &Diagnostics| split.exploits.get(rule).copied().unwrap_or_default();
        Rate::new(self.splits.iter().map(count).sum(), self.episodes())
    }

    /// Returns the names of all rules.
    pub(in super::super) fn rules(&self) -> Vec<&str> {
        let first = self.splits.first();
        first.map_or_else(Vec::new, |split| {
            split.exploits.keys().map(String::as_str).collect()
        })
    }

    /// Returns the mean of a component of the reward over the steps of all splits.
    pub(in super::super) fn component(&self, name: &str) -> Option<f64> {
        let (mut sum, mut steps) = (0.0, 0.0);
        for split in &self.splits {
            sum += split.components.get(name)? * split.steps as f64;
            steps += split.steps as f64;
        }
        (steps > 0.0).then(|| sum / steps)
    }

    pub(super) fn diversity(&self) -> Diversity {
        let merged = |of: fn(&Diagnostics) -> &BTreeMap<String, usize>| {
            let mut all = BTreeMap::<&str, usize>::new();
            for (name, count) in self.splits.iter().flat_map(of) {
                *all.entry(name).or_default() += count;
            }
            all.into_values().collect::<Vec<usize>>()
        };
        let (kinds, candidates) = (merged(|d| &d.kinds), merged(|d| &d.candidates));
        let share = |counts: &[usize]| {
            let most = counts.iter().max().copied().unwrap_or_default();
            most as f64 / counts.iter().sum::<usize>().max(1) as f64
        };
        let all = kinds.iter().sum::<usize>().max(1) as f64;
        let entropy = -kinds
            .iter()
            .map(|count| *count as f64 / all)
            .map(|p| p * p.ln())
            .sum::<f64>();
        Diversity {
            choices: candidates.iter().sum(),
            kinds: kinds.len(),
            // Adding 0 turns -0, the entropy of a single kind, into 0.
            kind_entropy: entropy / (KINDS as f64).ln() + 0.0,
            largest_kind_share: share(&kinds),
            largest_candidate_share: share(&candidates),
        }
    }

    pub(super) fn gap(&self) -> Option<Gap> {
        let [train, holdout] = ["train", "holdout"].map(|name| Some(self.split(name)?.score));
        let (train, holdout) = (train?, holdout?);
        Some(Gap {
            train: train.mean,
            holdout: holdout.mean,
            gap: train.mean - holdout.mean,
            half_width: train.half_width.hypot(holdout.half_width),
        })
    }
}

/// Returns the policies that have statistics: the GRPO stage of each entry of a sweep, all stages
/// if there is a single entry, and every policy of the other evaluations.
pub(in super::super) fn collect_policy_stats(
    sweeps: &[Sweep],
    evaluations: &[Evaluation],
) -> Vec<PolicyStats> {
    let entries: Vec<&SweepEntry> = sweeps.iter().flat_map(|sweep| &sweep.entries).collect();
    let stages: &[&str] = if entries.len() == 1 {
        &["base", "sft", "grpo"]
    } else {
        &["grpo"]
    };
    let mut all: Vec<PolicyStats> = Vec::new();
    let mut add = |label: String, id: &str, found: &Diagnostics| {
        let index = all.iter().position(|known| known.label == label);
        let index = index.unwrap_or_else(|| {
            all.push(PolicyStats {
                label,
                evaluations: Vec::new(),
                splits: Vec::new(),
            });
            all.len() - 1
        });
        all[index].add(id, found);
    };
    for entry in entries {
        for stage in stages {
            let file = format!("eval_{stage}");
            let of_stage = entry.evaluations.iter().filter(|(name, _)| {
                let rest = name.strip_prefix(&file);
                rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('_'))
            });
            let label = match stages {
                [_] => entry.label.clone(),
                _ => format!("{}, {stage}", entry.label),
            };
            for (_, evaluation) in of_stage {
                for found in &evaluation.diagnostics {
                    add(label.clone(), &evaluation.id, found);
                }
            }
        }
    }
    for evaluation in evaluations {
        for found in &evaluation.diagnostics {
            add(label_of(evaluation, found), &evaluation.id, found);
        }
    }
    all
}

/// Returns the name of a policy of an evaluation: the model's where a model played.
fn label_of(evaluation: &Evaluation, found: &Diagnostics) -> String {
    let is_model = evaluation.kind == EvaluationKind::LmEval || found.policy == "trained";
    let played = evaluation.adapter.as_ref().or(evaluation.model.as_ref());
    let name = match played.filter(|_| is_model) {
        Some(path) => path.trim_end_matches('/').to_owned(),
        None => found.policy.clone(),
    };
    marked_name(&name, is_model && evaluation.provenance.is_fallback())
}
