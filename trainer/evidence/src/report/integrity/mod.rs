//! Checks against reward hacking and overfitting: exploit rates per anti-cheat rule, the gap
//! between the splits train and holdout, and the diversity of choices, each with a stated
//! threshold.

mod policy_stats;
mod thresholds;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub(super) use policy_stats::{PolicyStats, collect_policy_stats};
use sentinel_base::provenance::Provenance;

use thresholds::{CANDIDATE_SHARE, CHOICES_MIN, EXPLOIT_RATE, GAP, KIND_ENTROPY};
pub use thresholds::{Threshold, thresholds};

/// Half the width of a 95 % interval in standard errors.
const Z95: f64 = 1.96;

/// The name of the report.
pub const OVERFIT_REPORT: &str = "anti_hacking_overfit_report.json";

/// The judgment of a figure by its threshold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Judgment {
    /// The whole interval is on the good side.
    Within,
    /// The interval includes the threshold: more episodes are needed.
    Unclear,
    /// The whole interval is on the bad side.
    Exceeded,
    /// An input is missing.
    NotMeasured,
}

impl Judgment {
    /// Returns the words for the judgment.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Within => "within",
            Self::Unclear => "unclear",
            Self::Exceeded => "exceeded",
            Self::NotMeasured => "not measured",
        }
    }

    /// Judges an interval by the greatest value that is allowed.
    fn at_most([low, high]: [f64; 2], limit: f64) -> Self {
        if high <= limit {
            Self::Within
        } else if low > limit {
            Self::Exceeded
        } else {
            Self::Unclear
        }
    }

    /// Returns the worse of two judgments; a figure that was not measured is not evidence.
    fn worse(self, other: Self) -> Self {
        let rank = |judgment: Self| match judgment {
            Self::Within => 0,
            Self::Unclear => 1,
            Self::NotMeasured => 2,
            Self::Exceeded => 3,
        };
        if rank(other) > rank(self) {
            other
        } else {
            self
        }
    }
}

/// The content of the file `anti_hacking_overfit_report.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OverfitReport {
    /// The version of the format.
    pub format: u32,
    /// The worst judgment of all subjects.
    pub judgment: Judgment,
    /// The thresholds of the judgments, with their reasons.
    pub thresholds: Vec<Threshold>,
    /// The policies that were judged.
    pub subjects: Vec<SubjectReport>,
    /// The program, its inputs and every fallback.
    pub provenance: Provenance,
}

/// The figures of one policy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SubjectReport {
    /// The name of the policy in tables and charts.
    pub label: String,
    /// The ids of the evaluations that were used.
    pub evaluations: Vec<String>,
    /// Episodes that an anti-cheat rule ended.
    pub exploits: Rate,
    /// The judgment of the exploit rate.
    pub exploit_judgment: Judgment,
    /// The same by rule.
    pub rules: BTreeMap<String, Rate>,
    /// The gap between the splits; `null` unless both were played.
    pub gap: Option<Gap>,
    /// The judgment of the gap.
    pub gap_judgment: Judgment,
    /// The diversity of the choices.
    pub diversity: Diversity,
    /// The judgment of the diversity.
    pub diversity_judgment: Judgment,
    /// The worst of the three judgments.
    pub judgment: Judgment,
}

/// A share of episodes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rate {
    /// The number of episodes that count.
    pub count: usize,
    /// The number of all episodes.
    pub episodes: usize,
    /// `count` / `episodes`; 0 without an episode.
    pub rate: f64,
    /// Both ends of its 95 % interval (Wilson).
    pub interval: [f64; 2],
}

/// The difference of the scores on two splits.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Gap {
    /// The mean score on the split `train`.
    pub train: f64,
    /// The mean score on the split `holdout`.
    pub holdout: f64,
    /// The score on `train` less that on `holdout`.
    pub gap: f64,
    /// Half the width of its 95 % interval.
    pub half_width: f64,
}

/// The diversity of a policy's choices.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Diversity {
    /// The number of choices.
    pub choices: usize,
    /// The number of different kinds of action that were chosen.
    pub kinds: usize,
    /// The entropy of the kinds, divided by that of a uniform choice among all 13.
    pub kind_entropy: f64,
    /// The share of the most frequent kind.
    pub largest_kind_share: f64,
    /// The share of the most frequent place in the list of candidates.
    pub largest_candidate_share: f64,
}

impl Rate {
    /// Creates a rate with its interval.
    pub(super) fn new(count: usize, episodes: usize) -> Self {
        Self {
            count,
            episodes,
            rate: count as f64 / episodes.max(1) as f64,
            interval: wilson(count, episodes),
        }
    }
}

/// Returns both ends of the 95 % interval of a share (Wilson's score interval); 0 and 1 without an
/// observation.
pub(super) fn wilson(count: usize, all: usize) -> [f64; 2] {
    if all == 0 {
        return [0.0, 1.0];
    }
    let (n, p) = (all as f64, count as f64 / all as f64);
    let squared = Z95 * Z95;
    let center = (p + squared / (2.0 * n)) / (1.0 + squared / n);
    let half = Z95 / (1.0 + squared / n) * (p * (1.0 - p) / n + squared / (4.0 * n * n)).sqrt();
    // Rounding must not move an end past the share itself.
    [(center - half).clamp(0.0, p), (center + half).clamp(p, 1.0)]
}

/// Judges every policy; `None` without one.
pub(super) fn judge_policies(
    subjects: &[PolicyStats],
    provenance: &Provenance,
) -> Option<OverfitReport> {
    let subjects: Vec<SubjectReport> = subjects.iter().map(judge_subject).collect();
    let worst = subjects.iter().map(|subject| subject.judgment);
    let judgment = worst.reduce(Judgment::worse)?;
    Some(OverfitReport {
        format: super::results::FORMAT,
        judgment,
        thresholds: thresholds(),
        subjects,
        provenance: provenance.clone(),
    })
}

fn judge_subject(subject: &PolicyStats) -> SubjectReport {
    let rules: BTreeMap<String, Rate> = (subject.rules().into_iter())
        .map(|rule| (rule.to_owned(), subject.exploits(rule)))
        .collect();
    let count = rules.values().map(|rate| rate.count).sum();
    let exploits = Rate::new(count, subject.episodes());
    let exploit_judgment = Judgment::at_most(exploits.interval, EXPLOIT_RATE);
    let gap = subject.gap();
    let gap_judgment = gap.map_or(Judgment::NotMeasured, |found| {
        let Gap {
            gap, half_width, ..
        } = found;
        Judgment::at_most([gap - half_width, gap + half_width], GAP)
    });
    let diversity = subject.diversity();
    let diversity_judgment = if diversity.choices < CHOICES_MIN {
        Judgment::NotMeasured
    } else if diversity.largest_candidate_share > CANDIDATE_SHARE
        || diversity.kind_entropy < KIND_ENTROPY
    {
        Judgment::Exceeded
    } else {
        Judgment::Within
    };
    SubjectReport {
        label: subject.label.clone(),
        evaluations: subject.evaluations.clone(),
        exploits,
        exploit_judgment,
        rules,
        gap,
        gap_judgment,
        diversity,
        diversity_judgment,
        judgment: exploit_judgment
            .worse(gap_judgment)
            .worse(diversity_judgment),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sentinel_play::eval::Diagnostics;

    #[test]
    fn wilson_interval_matches_table_and_contains_share() {
        // Newcombe (1998), table I: 81 of 263, Wilson without continuity correction.
        let [low, high] = wilson(81, 263);
        assert!((low - 0.2553).abs() < 1e-4 && (high - 0.3662).abs() < 1e-4);
        assert_eq!(wilson(0, 0), [0.0, 1.0]);
        for (count, all) in [(0, 1), (1, 1), (0, 1000), (1000, 1000)] {
            let [low, high] = wilson(count, all);
            let share = count as f64 / all as f64;
            assert!(low <= share && share <= high, "{count} of {all}");
        }
    }

    #[test]
    fn judgment_depends_on_whole_interval() {
        assert_eq!(Judgment::at_most([0.0, 0.05], 0.05), Judgment::Within);
        assert_eq!(Judgment::at_most([0.0, 0.06], 0.05), Judgment::Unclear);
        assert_eq!(Judgment::at_most([0.06, 0.2], 0.05), Judgment::Exceeded);
        let worst = Judgment::Within.worse(Judgment::NotMeasured);
        assert_eq!(worst, Judgment::NotMeasured);
        assert_eq!(worst.worse(Judgment::Exceeded), Judgment::Exceeded);
    }

    fn split(name: &str, episodes: usize, mean: f64, kinds: &[usize]) -> Diagnostics {
        let counted = |counts: &[usize]| {
            let numbered = counts.iter().enumerate();
            numbered
                .map(|(i, count)| (format!("n{i}"), *count))
                .collect()
        };
        Diagnostics {
            policy: "p".to_owned(),
            split: name.to_owned(),
            episodes,
            steps: kinds.iter().sum(),
            score: sentinel_base::interval::ConfidenceInterval {
                mean,
                half_width: 0.03,
            },
            components: BTreeMap::new(),
            exploits: BTreeMap::from([("loop".to_owned(), 0)]),
            refused: 0,
            kinds: counted(kinds),
            candidates: counted(kinds),
        }
    }

    fn subject(splits: &[Diagnostics]) -> PolicyStats {
        let mut subject = PolicyStats {
            label: "p".to_owned(),
            evaluations: Vec::new(),
            splits: Vec::new(),
        };
        for found in splits {
            subject.add("e", found);
        }
        subject
    }

    #[test]
    fn gap_and_diversity_are_judged() {
        let diverse = [30, 30, 30, 30];
        let good = subject(&[
            split("train", 200, 0.8, &diverse),
            split("holdout", 200, 0.78, &diverse),
        ]);
        let found = judge_subject(&good);
        assert_eq!(found.judgment, Judgment::Within);
        assert!(found.gap.is_some_and(|gap| (gap.gap - 0.02).abs() < 1e-12));
        assert_eq!((found.diversity.kinds, found.exploits.episodes), (4, 400));
        let overfit = subject(&[
            split("train", 200, 0.8, &diverse),
            split("holdout", 200, 0.5, &diverse),
        ]);
        assert_eq!(judge_subject(&overfit).gap_judgment, Judgment::Exceeded);
        let collapsed = judge_subject(&subject(&[split("train", 200, 0.8, &[100])]));
        assert_eq!(collapsed.diversity_judgment, Judgment::Exceeded);
        assert_eq!(collapsed.gap_judgment, Judgment::NotMeasured);
        assert_eq!(collapsed.diversity.kind_entropy.to_bits(), 0);
        let few = judge_subject(&subject(&[split("train", 5, 0.8, &[5])]));
        assert_eq!(few.diversity_judgment, Judgment::NotMeasured);
    }

    #[test]
    fn repeated_splits_count_episodes_once() {
        let both = subject(&[
            split("train", 10, 0.5, &[10]),
            split("train", 20, 0.6, &[20]),
            split("train", 15, 0.7, &[15]),
        ]);
        assert_eq!((both.episodes(), both.splits[0].score.mean), (20, 0.6));
        assert_eq!(both.evaluations.len(), 2);
    }
}
