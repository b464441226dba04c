//! The curves of a training run.

use super::drawing::{Curve, Figures, window_note};
use crate::charts::{Axis, BaselineLine, Chart, Plot, PointSeries};
use crate::report::results::{Section, TrainingRun};

/// Draws the loss and the reward of a run, as far as they were logged.
pub(super) fn draw(run: &TrainingRun, figures: &mut Figures) {
    reward(run, figures);
    loss(run, figures);
}

fn reward(run: &TrainingRun, figures: &mut Figures) {
    let metrics = [
        ("reward", "training, sampled"),
        ("eval_reward", "validation, greedy"),
    ];
    let (mut series, mut windows) = (Vec::<PointSeries>::new(), Vec::new());
    for (metric, label) in metrics {
        if let Some(values) = run.series.get(metric) {
            let curve = Curve::new(values);
            windows.push(curve.window);
            series.push(curve.series(label));
        }
    }
    if series.is_empty() {
        return;
    }
    let baselines = run.test.iter().flat_map(|test| &test.baselines);
    let references = baselines
        .filter(|(name, _)| ["random", "bayes", "planner", "rules_only"].contains(&name.as_str()))
        .map(|(name, score)| BaselineLine {
            label: name.clone(),
            value: *score,
        });
    let references: Vec<BaselineLine> = references.collect();
    let mut caption = String::new();
    if run.series.contains_key("reward") {
        caption.push_str("Mean reward of the training episodes, with sampled actions.");
    }
    if run.series.contains_key("eval_reward") {
        caption.push_str(" Mean score on the validation seeds, with greedy actions.");
    }
    if !references.is_empty() {
        caption.push_str(" The horizontal lines are scripted policies on the test seeds.");
    }
    caption.push_str(&window_note(windows));
    let caption = caption.trim_start().to_owned();
    let chart = Chart {
        name: format!("{}-reward", run.id),
        title: format!("Reward of {}", run.id),
        subtitle: subtitle(run),
        description: caption.clone(),
        x: Axis::new("step").with_integer_ticks(),
        y: Axis::new("mean reward"),
        plot: Plot::Lines { series, references },
    };
    figures.draw(Section::Run, Some(&run.id), caption, chart);
}

fn loss(run: &TrainingRun, figures: &mut Figures) {
    let Some(values) = run.series.get("loss") else {
        return;
    };
    let curve = Curve::new(values);
    let meaning = if run.method == "grpo" {
        "Loss of GRPO with the terms that are added to it, such as entropy. Advantages have mean 0, so the part of \
         the policy is near 0 whatever is learned, and the curve shows faults rather than progress."
    } else {
        "Cross-entropy of the demonstrated actions in nats."
    };
    let caption = format!("{meaning}{}", window_note([curve.window]));
    let chart = Chart {
        name: format!("{}-loss", run.id),
        title: format!("Loss of {}", run.id),
        subtitle: subtitle(run),
        description: caption.clone(),
        x: Axis::new("step").with_integer_ticks(),
        y: Axis::new("loss"),
        plot: Plot::Lines {
            series: vec![curve.series("loss")],
            references: Vec::new(),
        },
    };
    figures.draw(Section::Run, Some(&run.id), caption, chart);
}

fn subtitle(run: &TrainingRun) -> Option<String> {
    let parts: Vec<String> = [
        (!run.method.is_empty()).then(|| run.method.clone()),
        run.world.clone().map(|world| format!("world {world}")),
        run.seed.map(|seed| format!("seed {seed}")),
    ]
    .into_iter()
    .flatten()
    .collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}
