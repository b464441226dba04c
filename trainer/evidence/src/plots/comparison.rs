//! Charts that compare the policies of an evaluation.

use std::path::Path;

use sentinel_base::interval::mean_and_half_width;

use super::eval_file::{EvalFile, EvalRow};
use super::sourced_chart::{SourcedChart, provenance_of};
use crate::charts::{
    AreaSeries, Axis, BarSeries, BaselineLine, Chart, Estimate, Plot, Point, PointSeries, palette,
};
use crate::input::EvidenceError;

/// The policy that differences are taken from.
const RANDOM: &str = "random";
/// The rule-based policies that a trained one is compared with, by world.
const HEURISTIC: [&str; 3] = ["heuristic", "trust", "greedy_regimen"];
/// The axes of the radar in `trust`, in order.
const TRUST_AXES: [(&str, &str); 4] = [
    ("avg_score", "score"),
    ("avg_completion_rate", "completion"),
    ("avg_detection_rate", "detection"),
    ("avg_trust_calibration", "calibration"),
];

fn sourced(file: &EvalFile, chart: Chart) -> Result<SourcedChart, EvidenceError> {
    Ok(SourcedChart {
        chart,
        provenance: provenance_of([(&*file.path, file.provenance())])?,
    })
}

/// Returns the policies in the order in which they were played, with their colors.
fn colored(file: &EvalFile) -> Vec<(&str, Option<String>)> {
    let policies = file.policies();
    let colors = palette::policy_colors(&policies);
    let colors = colors.into_iter().map(|color| Some(color.to_owned()));
    policies.into_iter().zip(colors).collect()
}

/// Draws the mean score of each policy by task. A policy `trained` of `pre` is drawn beside that of
/// `post`.
pub(super) fn baseline_grouped_bars(
    pre: Option<&Path>,
    post: &Path,
) -> Result<SourcedChart, EvidenceError> {
    let file = EvalFile::load(post)?;
    let pre = pre.map(EvalFile::load).transpose()?;
    let groups = file.task_groups();
    let grouped_by = if groups.len() == file.tasks.len() {
        "task"
    } else {
        "difficulty"
    };
    let bars = |file: &EvalFile, policy: &str, label: String, color: Option<String>| {
        let values = groups.iter().map(|(_, tasks)| file.score(policy, tasks));
        BarSeries {
            label,
            color,
            values: values.collect(),
        }
    };
    let mut series = Vec::new();
    if let Some(pre) = &pre {
        check_same_episodes(pre, &file)?;
        if pre.policies().contains(&"trained") {
            let label = "Before training".to_owned();
            let color = Some(palette::ORANGE.to_owned());
            series.push(bars(pre, "trained", label, color));
        }
    }
    for (policy, color) in colored(&file) {
        series.push(bars(&file, policy, file.label(policy), color));
    }
    let mut sourced = sourced(
        &file,
        Chart {
            name: "baseline_grouped_bars".to_owned(),
            title: format!("Mean score of each policy by {grouped_by}"),
            subtitle: Some(format!(
                "{}; whiskers: 95 % intervals",
                file.describe_episodes()
            )),
            description:
                "Bars of the mean score of each policy, grouped by task or difficulty. Longer is \
                better; the score is between 0 and 1. Whiskers are 95 % intervals of the mean \
                over seeds."
                    .to_owned(),
            x: Axis::new(grouped_by),
            y: Axis::new("mean score").with_range(0.0, 1.0),
            plot: Plot::GroupedBars {
                groups: groups.iter().map(|(name, _)| name.clone()).collect(),
                series,
            },
        },
    )?;
    if let Some(pre) = &pre {
        let more = provenance_of([(&*pre.path, pre.provenance())])?;
        sourced.provenance.inputs.extend(more.inputs);
        sourced.provenance.add_fallbacks(more.fallbacks);
    }
    Ok(sourced)
}

/// Checks that two evaluations played the same tasks, and that policies of both scored alike.
fn check_same_episodes(pre: &EvalFile, post: &EvalFile) -> Result<(), EvidenceError> {
    let unfit = |what: String| {
        EvidenceError::Unfit(format!(
            "{} and {} do not compare: {what}; evaluate both with the same options",
            pre.path.display(),
            post.path.display()
        ))
    };
    if pre.world() != post.world() || pre.tasks != post.tasks {
        return Err(unfit("they are of different worlds or tasks".to_owned()));
    }
    for policy in pre.policies() {
        let rows = |file: &EvalFile| -> Vec<(String, u64, f64)> {
            file.rows(policy, None)
                .map(|row| (row.task_type.clone(), row.seed, row.score))
                .collect()
        };
        let (before, after) = (rows(pre), rows(post));
        let is_trained = policy == "trained";
        let differ = if is_trained {
            before
                .iter()
                .map(|r| (&r.0, r.1))
                .ne(after.iter().map(|r| (&r.0, r.1)))
        } else {
            before != after
        };
        if differ && !after.is_empty() {
            return Err(unfit(format!("policy {policy} played other episodes")));
        }
    }
    Ok(())
}

/// Draws how many attacks each policy detected and fell for, per episode.
pub(super) fn detection_vs_poisoning(post: &Path) -> Result<SourcedChart, EvidenceError> {
    let file = EvalFile::load(post)?;
    let policies = file.policies();
    let series = |label: &str, color: &str, count: fn(&EvalRow) -> Option<f64>| {
        let values = policies.iter().map(|policy| {
            let counts: Option<Vec<f64>> = file.rows(policy, None).map(count).collect();
            let (mean, half_width) = mean_and_half_width(&counts?);
            Some(half_width.map_or(Estimate::exact(mean), |half| {
                Estimate::with_half_width(mean, half)
            }))
        });
        BarSeries {
            label: label.to_owned(),
            color: Some(color.to_owned()),
            values: values.collect(),
        }
    };
    let both = vec![
        series("detected", palette::BLUE, |row| row.adversarial_detections),
        series("poisoned", palette::VERMILLION, |row| {
            row.adversarial_poisonings
        }),
    ];
    if both
        .iter()
        .all(|one| one.values.iter().all(Option::is_none))
    {
        return Err(EvidenceError::Unfit(format!(
            "{} counts no attacks, since world {} has none: evaluate trust or cluster",
            file.path.display(),
            file.world()
        )));
    }
    let chart = Chart {
        name: "detection_vs_poisoning".to_owned(),
        title: "Attacks detected and attacks that poisoned the work".to_owned(),
        subtitle: Some(format!(
            "{}; whiskers: 95 % intervals",
            file.describe_episodes()
        )),
        description: "Two bars for each policy: the mean number of attacks per episode that were \
            detected, where more is better, and of those that poisoned the work, where fewer is \
            better. All tasks count; whiskers are 95 % intervals of the mean over episodes."
            .to_owned(),
        x: Axis::new("policy"),
        y: Axis::new("attacks").with_unit("mean per episode"),
        plot: Plot::GroupedBars {
            groups: policies.iter().map(|policy| file.label(policy)).collect(),
            series: both,
        },
    };
    sourced(&file, chart)
}

/// Draws the profile of each policy: the shares of its summary.
pub(super) fn task_radar(post: &Path) -> Result<SourcedChart, EvidenceError> {
    let file = EvalFile::load(post)?;
    let policies = file.policies();
    let holds = |key: &str| {
        let summaries = policies.iter().map(|policy| file.summary.get(*policy));
        let mut values = summaries.map(|all| all.and_then(|all| all.get(key)));
        values.all(|value| value.is_some_and(|value| (0.0..=1.0).contains(value)))
    };
    let mut axes: Vec<(String, String)> = TRUST_AXES
        .iter()
        .filter(|(key, _)| holds(key))
        .map(|(key, label)| ((*key).to_owned(), (*label).to_owned()))
        .collect();
    if axes.len() < TRUST_AXES.len() {
        let keys = file
            .summary
            .values()
            .next()
            .into_iter()
            .flat_map(|all| all.keys());
        axes = keys
            .filter(|key| !key.ends_with("steps") && *key != "episodes" && holds(key))
            .map(|key| {
                (
                    key.clone(),
                    key.trim_start_matches("avg_").replace('_', " "),
                )
            })
            .collect();
    }
    let series = colored(&file)
        .into_iter()
        .map(|(policy, color)| AreaSeries {
            label: file.label(policy),
            color,
            values: axes
                .iter()
                .filter_map(|(key, _)| file.summary.get(policy)?.get(key).copied())
                .collect(),
        });
    let chart = Chart {
        name: "task_radar".to_owned(),
        title: "Profile of each policy".to_owned(),
        subtitle: Some(format!(
            "{}; means over all tasks",
            file.describe_episodes()
        )),
        description: "A polygon for each policy over axes from 0 in the center to 1 at the rim: \
            the means of the evaluation over all tasks. Further out is better, except for rates \
            of faults."
            .to_owned(),
        x: Axis::default(),
        y: Axis::default(),
        plot: Plot::Radar {
            axes: axes.iter().map(|(_, label)| label.clone()).collect(),
            range: [0.0, 1.0],
            series: series.collect(),
        },
    };
    sourced(&file, chart)
}

/// Draws the differences of mean scores between pairs of policies, by seed.
pub(super) fn baseline_delta_lines(post: &Path) -> Result<SourcedChart, EvidenceError> {
    let file = EvalFile::load(post)?;
    let policies = file.policies();
    let named = |names: &[&str]| policies.iter().copied().find(|name| names.contains(name));
    let mut pairs = Vec::new();
    if policies.contains(&RANDOM) {
        let others = policies.iter().filter(|policy| **policy != RANDOM);
        pairs.extend(others.map(|policy| (*policy, RANDOM)));
    }
    if let (Some(heuristic), true) = (named(&HEURISTIC), policies.contains(&"trained")) {
        pairs.push(("trained", heuristic));
    }
    if pairs.is_empty() {
        return Err(EvidenceError::Unfit(format!(
            "{} has no pair of policies to compare: evaluate random and another policy",
            file.path.display()
        )));
    }
    let colors = colored(&file);
    let series = pairs.iter().map(|(policy, baseline)| {
        let differences = differences(&file, policy, baseline);
        let values: Vec<f64> = differences.iter().map(|point| point.value).collect();
        let (mean, half_width) = mean_and_half_width(&values);
        let width = half_width.map_or(String::new(), |half| format!(" ± {half:.3}"));
        PointSeries {
            label: format!(
                "{} − {}: {mean:+.3}{width}",
                file.label(policy),
                file.label(baseline)
            ),
            color: if *baseline == RANDOM {
                let mut all = colors.iter().filter(|(name, _)| name == policy);
                all.next().and_then(|(_, color)| color.clone())
            } else {
                Some(palette::INK.to_owned())
            },
            dashed: *baseline != RANDOM,
            points: differences,
            gaps: Vec::new(),
        }
    });
    let chart = Chart {
        name: "baseline_delta_lines".to_owned(),
        title: "Difference in score on the same seeds".to_owned(),
        subtitle: Some(format!(
            "{}; mean over tasks; legend: mean difference ± half a 95 % interval",
            file.describe_episodes()
        )),
        description: "A line for each pair of policies: the difference between their scores on \
            the same seed, averaged over tasks. Above zero, the first of the pair is better."
            .to_owned(),
        x: Axis::new("seed").with_integer_ticks(),
        y: Axis::new("difference in score"),
        plot: Plot::Lines {
            series: series.collect(),
            references: vec![BaselineLine {
                label: String::new(),
                value: 0.0,
            }],
        },
    };
    sourced(&file, chart)
}

/// Returns the differences of mean scores by seed, over the seeds that both policies played.
fn differences(file: &EvalFile, policy: &str, baseline: &str) -> Vec<Point> {
    let mut seeds: Vec<u64> = file.rows(policy, None).map(|row| row.seed).collect();
    seeds.sort_unstable();
    seeds.dedup();
    let mean = |policy: &str, seed: u64| {
        let rows = file.rows(policy, None).filter(|row| row.seed == seed);
        let scores: Vec<f64> = rows.map(|row| row.score).collect();
        (!scores.is_empty()).then(|| mean_and_half_width(&scores).0)
    };
    seeds
        .into_iter()
        .filter_map(|seed| {
            let difference = mean(policy, seed)? - mean(baseline, seed)?;
            Some(Point::new(seed as f64, difference))
        })
        .collect()
}
