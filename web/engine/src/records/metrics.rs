//! The logged metrics that the page draws, with their explanations.

use sentinel_page_protocol::{Chart, Line, Note};

use super::thinning::thin;
use super::training_log::TrainingLog;
use crate::format::grouped;

/// A metric with the texts of its chart.
struct Metric {
    id: &'static str,
    /// Name of the metric in the log, which is TRL's where TRL has it.
    key: &'static str,
    title: &'static str,
    unit: &'static str,
    help: &'static str,
}

const EVAL: &str = "eval_reward";

/// Parts of the validation score, which are drawn for a single run.
const EVAL_PARTS: [(&str, &str); 3] = [
    ("eval_rewards/task1/mean", "Task 1"),
    ("eval_rewards/task2/mean", "Task 2"),
    ("eval_rewards/task3/mean", "Task 3"),
];

const METRICS: [Metric; 15] = [
    Metric {
        id: "evaluation",
        key: EVAL,
        title: "Validation score",
        unit: "mean score per episode",
        help: "Mean score of episodes on seeds that are not used for training, played greedily; the weights with the best overall score are kept.",
    },
    Metric {
        id: "reward",
        key: "reward",
        title: "Training reward",
        unit: "mean reward",
        help: "Mean reward of what the policy learns from, with sampled actions: the score of an episode for compact policies, the reward of a completion for language models. The seeds change, so the curve is noisy.",
    },
    Metric {
        id: "score",
        key: "rollout/score",
        title: "Score of sampled episodes",
        unit: "mean score per episode",
        help: "Mean score of the episodes that a language model plays for training; an episode that ends with an invalid completion keeps what it earned.",
    },
    Metric {
        id: "loss",
        key: "loss",
        title: "Loss",
        unit: "value of the loss",
        help: "Value that the optimizer makes smaller: the cross-entropy per token in supervised fine-tuning; in GRPO it stays near 0 and says little about progress.",
    },
    Metric {
        id: "accuracy",
        key: "mean_token_accuracy",
        title: "Token accuracy",
        unit: "share of tokens",
        help: "Share of the demonstrated tokens that the model would have chosen itself.",
    },
    Metric {
        id: "spread",
        key: "reward_std",
        title: "Spread of the reward",
        unit: "standard deviation",
        help: "Standard deviation of the reward inside a group of samples for the same state; without a difference there is nothing to learn from.",
    },
    Metric {
        id: "entropy",
        key: "entropy",
        title: "Entropy",
        unit: "nats",
        help: "How undecided the policy is, per action for compact policies and per token for language models: 0 when it is always certain, and 2.48 when all 12 actions of the trust world are equally likely.",
    },
    Metric {
        id: "belief",
        key: "belief_loss",
        title: "Belief loss",
        unit: "nats",
        help: "Cross-entropy between the policy’s belief about hidden state and the truth: 1.61 without any knowledge in the trust world, 0 when it is certain and right. The truth is used only for this loss, never as an input.",
    },
    Metric {
        id: "invalid",
        key: "completions/invalid_rate",
        title: "Invalid completions",
        unit: "share of completions",
        help: "Share of a language model’s completions that are not actions.",
    },
    Metric {
        id: "length",
        key: "completions/mean_length",
        title: "Length",
        unit: "tokens or actions",
        help: "Mean length of a sample: tokens of a language model’s completion, actions of a compact policy’s episode.",
    },
    Metric {
        id: "clip",
        key: "clip_ratio/region_mean",
        title: "Clipped actions",
        unit: "share of actions",
        help: "Share of actions or tokens whose probability has already moved as far as one update may move it; they no longer contribute.",
    },
    Metric {
        id: "flat",
        key: "frac_reward_zero_std",
        title: "Groups without a learning signal",
        unit: "share of groups",
        help: "Share of groups whose samples all earned the same, so that no action is preferred.",
    },
    Metric {
        id: "gradient",
        key: "grad_norm",
        title: "Gradient norm",
        unit: "norm before clipping",
        help: "Size of the gradient of one batch.",
    },
    Metric {
        id: "rate",
        key: "learning_rate",
        title: "Learning rate",
        unit: "step size",
        help: "Size of a step along the gradient, set by the schedule.",
    },
    Metric {
        id: "kl",
        key: "kl",
        title: "Distance from the reference policy",
        unit: "nats (KL)",
        help: "KL divergence from the reference policy, which the loss keeps small.",
    },
];

/// A run with its place among those that are shown.
pub(super) struct ShownLog<'a> {
    /// The log of the run.
    pub log: &'a TrainingLog,
    /// Name of its lines.
    pub name: &'a str,
    /// Index of color and dash pattern.
    pub style: u8,
}

/// Returns a chart for each metric that one of the runs has logged, with a line for each run, and the
/// explanation of the metric. A single run shows the parts of its validation score too.
pub(super) fn charts(runs: &[ShownLog<'_>], smooth: bool) -> Vec<(Chart, Note)> {
    METRICS
        .iter()
        .filter_map(|metric| chart(metric, runs, smooth))
        .collect()
}

fn chart(metric: &Metric, runs: &[ShownLog<'_>], smooth: bool) -> Option<(Chart, Note)> {
    let (mut lines, mut without, mut never_finite) = (Vec::new(), Vec::new(), Vec::new());
    for run in runs {
        match line(run.log, metric.key, run.name, run.style, smooth) {
            Some(line) => {
                if !line.y.iter().any(|value| value.is_finite()) {
                    never_finite.push(run.name);
                }
                lines.push(line);
            }
            None => without.push(run.name),
        }
    }
    if lines.is_empty() {
        return None;
    }
    if let ([run], EVAL) = (runs, metric.key) {
        lines[0].name = "overall".to_owned();
        let parts = (1..).zip(EVAL_PARTS);
        lines.extend(
            parts.filter_map(|(style, (key, name))| line(run.log, key, name, style, smooth)),
        );
    }
    let values = || {
        let values = lines.iter().flat_map(|line| &line.y).copied();
        values.filter(|value| value.is_finite())
    };
    let low = values().fold(f32::INFINITY, f32::min);
    let high = values().fold(f32::NEG_INFINITY, f32::max);
    // A share that never changes has no range of its own.
    let is_share = metric.unit.starts_with("share of");
    let [low, high] = match is_share && (metric.id == "flat" || low >= high) {
        true => [0.0, 1.0],
        false => [low, high],
    };
    let notes = [
        ("not logged by", without),
        ("no finite value logged by", never_finite),
    ];
    let notes = notes.into_iter().filter(|(_, names)| !names.is_empty());
    let notes = notes.map(|(words, names)| format!("{words} {}", names.join(", ")));
    let thinned = thin(&mut lines).map(|points| {
        format!(
            "thinned: of up to {} points per line, those with the lowest and the highest value of each stretch",
            grouped(points)
        )
    });
    let notes: Vec<String> = notes.chain(thinned).collect();
    let chart = Chart {
        id: metric.id.to_owned(),
        title: metric.title.to_owned(),
        subtitle: notes.join("; "),
        x_label: "optimizer step".to_owned(),
        y_label: metric.unit.to_owned(),
        range: [low, high],
        lines,
        strips: Vec::new(),
    };
    let name = Note {
        text: metric.key.to_owned(),
        help: metric.help.to_owned(),
        ..Note::default()
    };
    Some((chart, name))
}

fn line(log: &TrainingLog, key: &str, name: &str, style: u8, smooth: bool) -> Option<Line> {
    let points = log.series(key);
    let y: Vec<f32> = points.iter().map(|(_, value)| *value as f32).collect();
    (!points.is_empty()).then(|| Line {
        name: name.to_owned(),
        style,
        x: points.iter().map(|(step, _)| *step as f32).collect(),
        y: if smooth { smoothed(&y) } else { y },
        half_width: Vec::new(),
    })
}

/// Replaces each value by the mean of those at most a fortieth of the curve away on each side, and
/// at least one; the window shrinks at the ends, where it stays symmetric. Values that are not finite
/// stay, and do not count in the means of others.
fn smoothed(values: &[f32]) -> Vec<f32> {
    // Sums and counts of the finite values before each index, so that a long curve takes linear time.
    let mut before = vec![(0.0, 0.0)];
    let (mut sum, mut count) = (0.0, 0.0);
    for value in values {
        if value.is_finite() {
            sum += f64::from(*value);
            count += 1.0;
        }
        before.push((sum, count));
    }
    let reach = (values.len() / 40).max(1);
    let mean = |index: usize| {
        if !values[index].is_finite() {
            return values[index];
        }
        let reach = reach.min(index).min(values.len() - 1 - index);
        let (from, to) = (before[index - reach], before[index + reach + 1]);
        ((to.0 - from.0) / (to.1 - from.1)) as f32
    };
    (0..values.len()).map(mean).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(text: &str) -> TrainingLog {
        TrainingLog::parse("a.json", text).expect("a trainer state")
    }

    fn shown<'a>(log: &'a TrainingLog, name: &'a str, style: u8) -> ShownLog<'a> {
        ShownLog { log, name, style }
    }

    #[test]
    fn a_single_run_shows_the_parts_of_its_validation_score() {
        let log = log(
            r#"{"global_step": 4, "log_history": [{"step": 2, "reward": 0.5},
            {"step": 4, "reward": 0.7}, {"step": 4, "reward": 0.75},
            {"step": 2, "eval_reward": 0.8, "eval_rewards/task2/mean": 0.9}]}"#,
        );
        let charts = charts(&[shown(&log, "", 0)], false);
        let ids: Vec<&str> = charts.iter().map(|(chart, _)| chart.id.as_str()).collect();
        assert_eq!(ids, ["evaluation", "reward"]);
        let lines = &charts[0].0.lines;
        let names: Vec<&str> = lines.iter().map(|line| line.name.as_str()).collect();
        assert_eq!(names, ["overall", "Task 2"]);
        let reward = &charts[1].0;
        assert_eq!(
            (reward.lines[0].x.as_slice(), reward.lines[0].y.as_slice()),
            (&[2.0, 4.0][..], &[0.5, 0.75][..])
        );
        assert_eq!(reward.range, [0.5, 0.75]);
    }

    #[test]
    fn several_runs_have_a_line_each_and_those_without_the_metric_are_named() {
        let (a, b) = (
            log(
                r#"{"global_step": 1, "log_history": [{"step": 1, "eval_reward": 0.5, "kl": 1.0}]}"#,
            ),
            log(r#"{"global_step": 2, "log_history": [{"step": 2, "eval_reward": 0.7}]}"#),
        );
        let charts = charts(&[shown(&a, "A", 0), shown(&b, "B", 3)], false);
        let (scores, kl) = (&charts[0].0, &charts[1].0);
        let styles: Vec<u8> = scores.lines.iter().map(|line| line.style).collect();
        assert_eq!((styles, scores.range), (vec![0, 3], [0.5, 0.7]));
        assert_eq!(
            (kl.lines.len(), kl.subtitle.as_str()),
            (1, "not logged by B")
        );
    }

    #[test]
    fn a_value_that_is_not_finite_is_a_gap() {
        let log = log(
            r#"{"global_step": 3, "log_history": [{"step": 1, "reward": 0.5, "grad_norm": NaN},
            {"step": 2, "reward": NaN, "grad_norm": NaN}, {"step": 3, "reward": 0.75, "grad_norm": Infinity}]}"#,
        );
        let all = charts(&[shown(&log, "A", 0)], false);
        let (reward, norm) = (&all[0].0, &all[1].0);
        assert_eq!(
            (reward.id.as_str(), norm.id.as_str()),
            ("reward", "gradient")
        );
        assert_eq!((reward.range, reward.subtitle.as_str()), ([0.5, 0.75], ""));
        let line = &reward.lines[0];
        assert_eq!(line.x, [1.0, 2.0, 3.0]);
        assert_eq!((line.y[0], line.y[2]), (0.5, 0.75));
        assert!(line.y[1].is_nan());
        assert_eq!(norm.lines[0].x.len(), 3);
        assert_eq!(norm.subtitle, "no finite value logged by A");
        let smooth = smoothed(&[0.0, 1.0, f32::NAN, 3.0, 2.0]);
        assert_eq!(
            (&smooth[..2], &smooth[3..]),
            (&[0.0, 0.5][..], &[2.5, 2.0][..])
        );
        assert!(smooth[2].is_nan());
    }

    /// Eight runs of 20 000 entries each, in no order.
    #[test]
    fn long_logs_are_thinned() {
        let entries = 20_000;
        let logs: Vec<TrainingLog> = (0..8_u64)
            .map(|run| {
                // 7 919 has no common factor with the number of entries.
                let steps = (0..entries).map(|i| (i * 7_919 + run) % entries + 1);
                let entry = |step: u64| {
                    let reward = (step * (run + 3)) % 101;
                    format!(r#"{{"step": {step}, "reward": {reward}}}"#)
                };
                let rows: Vec<String> = steps.map(entry).collect();
                let rows = rows.join(",");
                log(&format!(
                    r#"{{"global_step": {entries}, "log_history": [{rows}]}}"#
                ))
            })
            .collect();
        let runs: Vec<ShownLog<'_>> = (0..).zip(&logs).map(|(i, l)| shown(l, "R", i)).collect();
        for smooth in [false, true] {
            let all = charts(&runs, smooth);
            let [(chart, _)] = &all[..] else {
                panic!("{} charts", all.len());
            };
            assert!(
                chart
                    .subtitle
                    .starts_with("thinned: of up to 20\u{202f}000"),
                "{}",
                chart.subtitle
            );
            assert_eq!(chart.lines.len(), 8);
            for line in &chart.lines {
                assert!(line.x.len() <= 1_000, "{}", line.x.len());
                assert!(line.x.is_sorted());
                assert_eq!((line.x[0], line.x.last()), (1.0, Some(&20_000.0)));
            }
            let [first, others @ ..] = &chart.lines[..] else {
                panic!("no line");
            };
            let shared = |x: &&f32| others.iter().all(|line| line.x.contains(x));
            assert!(first.x.iter().filter(shared).count() >= 300);
        }
    }

    #[test]
    fn smoothing_keeps_ends_and_straight_lines() {
        assert_eq!(smoothed(&[0.0, 1.0, 2.0, 3.0]), [0.0, 1.0, 2.0, 3.0]);
        assert_eq!(smoothed(&[0.0, 3.0, 0.0]), [0.0, 1.0, 0.0]);
        assert_eq!(smoothed(&[5.0]), [5.0]);
    }
}
