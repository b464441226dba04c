//! The charts that compare the models of a sweep, with the names of the published ones.

use std::collections::BTreeMap;

use sentinel_base::interval::mean_and_half_width;
use sentinel_base::task_selection::shell_quote;

use super::drawing::{Curve, Figures, SHARE_TOP, bars, counted, estimate, window_note};
use crate::charts::{Axis, Chart, Estimate, Plot, Point, PointSeries};
use crate::report::evaluation::Evaluation;
use crate::report::integrity::wilson;
use crate::report::results::Section;
use crate::report::sweep_results::{Postsave, StageReport, SweepEntry};

/// The world that has anti-cheat rules, and splits.
pub(super) const POLYGUARD: &str = "polyguard";
/// The stages in order: name in a chart, and evaluation file.
const STAGES: [(&str, &str); 3] = [
    ("base", "eval_base"),
    ("SFT", "eval_sft"),
    ("GRPO", "eval_grpo"),
];

/// Draws the seven charts of training and inference.
pub(super) fn draw(entries: &[&SweepEntry], figures: &mut Figures) {
    sft_vs_grpo(entries, figures);
    let (sft, grpo) = (
        |entry: &SweepEntry| entry.sft.clone(),
        |entry: &SweepEntry| entry.grpo.clone(),
    );
    curves(
        entries,
        figures,
        &CurveChart {
            name: "sft_loss_curves",
            title: "Supervised fine-tuning: loss",
            stage: "sft",
            metric: "loss",
            y: Axis::new("loss").with_unit("nats per token"),
            caption: "Cross-entropy of the demonstrated completions at each optimizer step, one line per model.",
        },
        &sft,
    );
    curves(
        entries,
        figures,
        &CurveChart {
            name: "grpo_reward_curves",
            title: "GRPO: training reward",
            stage: "grpo",
            metric: "reward",
            y: Axis::new("mean reward"),
            caption: "Mean reward of the sampled completions at each update, one line per model. Completions that \
                      are not actions count.",
        },
        &grpo,
    );
    model_reward(entries, figures);
    validity_reward(entries, figures);
    latency_validity(entries, figures);
}

/// Returns the command of a stage of an entry, as the sweep recorded it.
fn stage_command(entry: &SweepEntry, stage: &str) -> String {
    let recorded = entry.stages.get(stage).map(|record| &record.command);
    match recorded.filter(|command| !command.is_empty()) {
        Some(command) => command.clone(),
        None if stage == "postsave" => format!("sentinel lm postsave --run {}", entry.run),
        None => {
            let model = entry.model_id.as_ref().unwrap_or(&entry.run);
            format!("sentinel sweep --models {}", shell_quote(model))
        }
    }
}

/// Returns the command that evaluates a stage of an entry, on a split or on the episodes of
/// `like`.
pub(super) fn eval_command(
    entry: &SweepEntry,
    stage: &str,
    split: Option<&str>,
    like: Option<&Evaluation>,
) -> String {
    let report = if stage == "grpo" {
        &entry.grpo
    } else {
        &entry.sft
    };
    let report = report.as_ref();
    let artifact = report.map(|report| report.artifact_path.clone());
    let artifact = artifact.filter(|path| !path.is_empty());
    let artifact =
        artifact.unwrap_or_else(|| format!("checkpoints/sweeps/{}/{stage}_adapter", entry.run));
    let base = report.map_or("", |report| report.base_model.as_str());
    let model = if artifact.ends_with("adapter") && !base.is_empty() {
        format!(
            "--model {} --adapter {}",
            shell_quote(base),
            shell_quote(&artifact)
        )
    } else {
        format!("--model {}", shell_quote(&artifact))
    };
    let world = report.and_then(|report| report.world.clone());
    let world = world.or_else(|| like.map(|like| like.world.clone()));
    let world = world.unwrap_or_else(|| POLYGUARD.to_owned());
    let episodes = match (split, like) {
        (Some("holdout"), _) => "--split holdout --seeds 1000000..1000100".to_owned(),
        (Some(split), _) => format!("--split {split} --seeds 100200..100300"),
        (None, Some(like)) => {
            let tasks = like.policies.iter().flat_map(|policy| &policy.tasks);
            let tasks: Vec<&str> = tasks.map(|task| task.task.as_str()).collect();
            format!("--task {} --seeds {}", tasks.join(","), like.seeds)
        }
        (None, None) => "--seeds 1000..1100".to_owned(),
    };
    let suffix = split.map_or_else(String::new, |split| format!("_{split}"));
    format!(
        "sentinel lm eval {model} --world {world} {episodes} --out {}/eval_{stage}{suffix}.json",
        shell_quote(&entry.path)
    )
}

/// Returns the key of the episodes that an evaluation played: equal keys can be compared.
fn episodes_of(evaluation: &Evaluation) -> (String, Vec<&str>, &str, &str) {
    let tasks = evaluation.policies.iter().flat_map(|policy| &policy.tasks);
    (
        format!("{} {}", evaluation.world, evaluation.seeds),
        tasks.map(|task| task.task.as_str()).collect(),
        &evaluation.streams,
        &evaluation.rules,
    )
}

fn sft_vs_grpo(entries: &[&SweepEntry], figures: &mut Figures) {
    let name = "sft_vs_grpo_reward";
    let mut groups = Vec::new();
    let mut values = [Vec::new(), Vec::new(), Vec::new()];
    let mut played: Option<&Evaluation> = None;
    for entry in entries {
        let [sft, grpo] = ["eval_sft", "eval_grpo"].map(|file| entry.evaluations.get(file));
        let (Some(sft), Some(grpo)) = (sft, grpo) else {
            let stage = if sft.is_none() { "sft" } else { "grpo" };
            figures.lacks(
                name,
                format!("{} has no eval_{stage}.json", entry.run),
                eval_command(entry, stage, None, sft.or(grpo)),
            );
            continue;
        };
        if episodes_of(sft) != episodes_of(grpo) {
            figures.lacks(
                name,
                format!(
                    "eval_sft.json and eval_grpo.json of {} played different episodes",
                    entry.run
                ),
                eval_command(entry, "grpo", None, Some(sft)),
            );
            continue;
        }
        played = played.or(Some(grpo));
        groups.push(entry.label.clone());
        for ((_, file), values) in STAGES.iter().zip(&mut values) {
            let found = entry.evaluations.get(*file);
            let same = found.filter(|found| episodes_of(found) == episodes_of(grpo));
            let score = same.and_then(|found| found.policies.first());
            values.push(score.map(|policy| estimate(policy.score)));
        }
    }
    let Some(played) = played else {
        return;
    };
    let series = STAGES.iter().zip(values);
    let series = series.filter(|(_, values)| values.iter().any(Option::is_some));
    let caption = "Mean score of the model before training, after SFT and after GRPO, on the same episodes, with \
                   95 % intervals over episodes. A missing bar was not evaluated on these episodes.";
    let chart = Chart {
        name: name.to_owned(),
        title: "Score before training, after SFT and after GRPO".to_owned(),
        subtitle: Some(described(played)),
        description: caption.to_owned(),
        x: Axis::new("model"),
        y: Axis::new("mean score").with_range(0.0, SHARE_TOP),
        plot: Plot::GroupedBars {
            groups,
            series: series
                .map(|((label, _), values)| bars(*label, values))
                .collect(),
        },
    };
    figures.draw(Section::Sweep, None, caption.to_owned(), chart);
}

/// Returns the episodes of an evaluation in words.
fn described(evaluation: &Evaluation) -> String {
    let tasks = evaluation.policies.first().map_or(0, |p| p.tasks.len());
    format!(
        "world {}, {}, seeds {} of each",
        evaluation.world,
        counted(tasks, "task", "tasks"),
        evaluation.seeds
    )
}

/// A chart with one curve per model.
struct CurveChart {
    name: &'static str,
    title: &'static str,
    stage: &'static str,
    metric: &'static str,
    y: Axis,
    caption: &'static str,
}

fn curves(
    entries: &[&SweepEntry],
    figures: &mut Figures,
    chart: &CurveChart,
    stage: &dyn Fn(&SweepEntry) -> Option<StageReport>,
) {
    let (mut series, mut windows) = (Vec::<PointSeries>::new(), Vec::new());
    for entry in entries {
        let report = stage(entry);
        let values = report.as_ref().and_then(|r| r.series.get(chart.metric));
        let Some(values) = values else {
            let reason = missing_log(entry, report.as_ref(), chart);
            figures.lacks(chart.name, reason, stage_command(entry, chart.stage));
            continue;
        };
        let curve = Curve::new(values);
        windows.push(curve.window);
        series.push(curve.series(&entry.label));
    }
    if series.is_empty() {
        return;
    }
    let caption = format!("{}{}", chart.caption, window_note(windows));
    let drawn = Chart {
        name: chart.name.to_owned(),
        title: chart.title.to_owned(),
        subtitle: None,
        description: caption.clone(),
        x: Axis::new("step").with_integer_ticks(),
        y: chart.y.clone(),
        plot: Plot::Lines {
            series,
            references: Vec::new(),
        },
    };
    figures.draw(Section::Sweep, None, caption, drawn);
}

fn missing_log(entry: &SweepEntry, report: Option<&StageReport>, chart: &CurveChart) -> String {
    let (run, stage) = (&entry.run, chart.stage);
    match report {
        None => format!("{run} has no {stage}_trl_run.json"),
        Some(report) if report.status != "ok" => {
            let error = report.error.as_deref().unwrap_or("no reason is given");
            format!(
                "the {stage} stage of {run} has status {}: {error}",
                report.status
            )
        }
        Some(report) => match &report.log_history {
            Some(log) if report.series.is_empty() => {
                format!("the log of {run} is not at {}", log.path)
            }
            _ => format!("the {stage} log of {run} has no {}", chart.metric),
        },
    }
}

fn model_reward(entries: &[&SweepEntry], figures: &mut Figures) {
    let name = "qwen_model_grpo_reward";
    let (mut groups, mut first, mut last) = (Vec::new(), Vec::new(), Vec::new());
    for entry in entries {
        let series = entry.grpo.as_ref().and_then(|s| s.series.get("reward"));
        let Some(series) = series.filter(|series| !series.is_empty()) else {
            let reason = format!("the log of the grpo stage of {} has no reward", entry.run);
            figures.lacks(name, reason, stage_command(entry, "grpo"));
            continue;
        };
        let tenth = series.len().div_ceil(10);
        groups.push(entry.label.clone());
        first.push(Some(mean_of_updates(&series[..tenth])));
        last.push(Some(mean_of_updates(&series[series.len() - tenth..])));
    }
    if groups.is_empty() {
        return;
    }
    let caption = "Mean training reward of GRPO over the first and over the last tenth of the updates, with 95 % \
                   intervals over those updates where there are several. Sampled completions on training seeds: a \
                   claim about the model needs the evaluation above.";
    let chart = Chart {
        name: name.to_owned(),
        title: "GRPO: training reward by model".to_owned(),
        subtitle: None,
        description: caption.to_owned(),
        x: Axis::new("model"),
        y: Axis::new("mean reward"),
        plot: Plot::GroupedBars {
            groups,
            series: vec![bars("first updates", first), bars("last updates", last)],
        },
    };
    figures.draw(Section::Sweep, None, caption.to_owned(), chart);
}

/// Returns the mean of logged values with its interval, which needs two of them.
fn mean_of_updates(values: &[[f64; 2]]) -> Estimate {
    let values: Vec<f64> = values.iter().map(|[_, value]| *value).collect();
    mean_estimate(&values)
}

fn mean_estimate(values: &[f64]) -> Estimate {
    match mean_and_half_width(values) {
        (mean, None) => Estimate::exact(mean),
        (mean, Some(half_width)) => Estimate::with_half_width(mean, half_width),
    }
}

/// Returns the entries with a post-save check; the others are listed as missing.
fn with_postsave<'a>(
    name: &str,
    entries: &[&'a SweepEntry],
    figures: &mut Figures,
) -> Vec<(&'a SweepEntry, &'a Postsave)> {
    let mut found = Vec::new();
    for entry in entries {
        match &entry.postsave {
            Some(report) if report.samples > 0 => found.push((*entry, report)),
            _ => figures.lacks(
                name,
                format!("{} has no sample in postsave_inference.json", entry.run),
                stage_command(entry, "postsave"),
            ),
        }
    }
    found
}

/// Returns the share of valid samples with its interval.
fn validity(report: &Postsave) -> Estimate {
    Estimate {
        value: report.validity,
        interval: Some(wilson(report.valid, report.samples)),
    }
}

fn validity_reward(entries: &[&SweepEntry], figures: &mut Figures) {
    let name = "inference_validity_reward";
    let found = with_postsave(name, entries, figures);
    if found.is_empty() {
        return;
    }
    let reward = |report: &Postsave| {
        let rewards: Vec<f64> = report.rows.iter().filter_map(|row| row.reward).collect();
        let mean = report.mean_reward?;
        let interval = (rewards.len() > 1)
            .then(|| mean_estimate(&rewards))
            .and_then(|e| e.interval);
        Some(Estimate {
            value: mean,
            interval,
        })
    };
    let caption = "Generation from the saved artifacts in a new process: share of completions that are an action \
                   (95 % Wilson intervals) and mean reward (95 % intervals over samples). An invalid completion counts \
                   as invalid.";
    let chart = Chart {
        name: name.to_owned(),
        title: "Saved models: validity and reward".to_owned(),
        subtitle: Some(sources(&found)),
        description: caption.to_owned(),
        x: Axis::new("model"),
        y: Axis::new("share, reward").with_range(0.0, SHARE_TOP),
        plot: Plot::GroupedBars {
            groups: found.iter().map(|(entry, _)| entry.label.clone()).collect(),
            series: vec![
                bars(
                    "validity",
                    found.iter().map(|(_, r)| Some(validity(r))).collect(),
                ),
                bars(
                    "mean reward",
                    found.iter().map(|(_, r)| reward(r)).collect(),
                ),
            ],
        },
    };
    figures.draw(Section::Sweep, None, caption.to_owned(), chart);
}

/// Returns the artifacts that answered, in words.
fn sources(found: &[(&SweepEntry, &Postsave)]) -> String {
    let mut by_source = BTreeMap::<&str, usize>::new();
    for (_, report) in found {
        *by_source.entry(&report.model_source).or_default() += 1;
    }
    let parts: Vec<String> = by_source
        .into_iter()
        .map(|(source, count)| format!("{source} ({})", counted(count, "model", "models")))
        .collect();
    format!("answered by {}", parts.join(", "))
}

fn latency_validity(entries: &[&SweepEntry], figures: &mut Figures) {
    let name = "inference_latency_validity";
    let found = with_postsave(name, entries, figures);
    let series = found.iter().filter_map(|(entry, report)| {
        let validity = validity(report);
        Some(PointSeries {
            label: entry.label.clone(),
            points: vec![Point {
                x: report.latency_ms?.p50,
                value: validity.value,
                interval: validity.interval,
            }],
            ..PointSeries::default()
        })
    });
    let series: Vec<PointSeries> = series.collect();
    if series.is_empty() {
        return;
    }
    let caption = "Generation from the saved artifacts: median time per completion, and share of completions that \
                   are an action with its 95 % Wilson interval. Times depend on the machine and its load.";
    let chart = Chart {
        name: name.to_owned(),
        title: "Saved models: latency and validity".to_owned(),
        subtitle: None,
        description: caption.to_owned(),
        x: Axis::new("median latency").with_unit("ms"),
        y: Axis::new("validity").with_range(0.0, SHARE_TOP),
        plot: Plot::Points {
            series,
            references: Vec::new(),
        },
    };
    figures.draw(Section::Sweep, None, caption.to_owned(), chart);
}
