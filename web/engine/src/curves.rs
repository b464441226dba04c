//! The curves of a training run, from its `trainer_state.json`.

use sentinel_env::json::Json;
use sentinel_page_protocol::{Chart, Curves, Line};
use sentinel_policy::insertion_sort::sort;
use serde::Deserialize;

use crate::format::grouped;

/// One entry of the training log.
struct Entry {
    /// Number of optimizer steps taken.
    step: u64,
    /// All keys of the entry with their values.
    values: Json,
}

/// The parts of Hugging Face's `TrainerState` that the curves need.
#[derive(Deserialize)]
struct TrainerState {
    global_step: u64,
    #[serde(default)]
    max_steps: Option<i64>,
    #[serde(default)]
    best_metric: Option<f64>,
    log_history: Vec<Json>,
}

/// A chart with the keys of its lines.
struct Spec {
    id: &'static str,
    title: &'static str,
    unit: &'static str,
    meaning: &'static str,
    /// Keys in the file with the names of their lines.
    keys: &'static [(&'static str, &'static str)],
}

const EVAL: &str = "eval_reward";

const SPECS: [Spec; 9] = [
    Spec {
        id: "evaluation",
        title: "Validation score",
        unit: "mean score per episode",
        meaning: "Episodes on seeds that are not used for training, played greedily. The weights with the best overall score are kept.",
        keys: &[
            (EVAL, "overall"),
            ("eval_rewards/task1/mean", "task 1"),
            ("eval_rewards/task2/mean", "task 2"),
            ("eval_rewards/task3/mean", "task 3"),
        ],
    },
    Spec {
        id: "reward",
        title: "Training reward",
        unit: "mean score per episode",
        meaning: "Episodes that the policy learns from, with sampled actions. Their seeds change, so the curve is noisy.",
        keys: &[("reward", "reward")],
    },
    Spec {
        id: "entropy",
        title: "Entropy",
        unit: "nats per action",
        meaning: "How undecided the policy is: 2.48 when all 12 actions are equally likely, 0 when it is always certain.",
        keys: &[("entropy", "entropy")],
    },
    Spec {
        id: "belief",
        title: "Belief loss",
        unit: "nats per slot",
        meaning: "Cross-entropy between the policy’s belief about a slot and the true behavior: 1.61 without any knowledge, 0 when it is certain and right. The truth is used only for this loss, never as an input.",
        keys: &[("belief_loss", "belief loss")],
    },
    Spec {
        id: "clip",
        title: "Clipped actions",
        unit: "share of actions",
        meaning: "Actions whose probability has already moved as far as one update may move it; they no longer contribute.",
        keys: &[("clip_ratio/region_mean", "clipped")],
    },
    Spec {
        id: "flat",
        title: "Groups without a learning signal",
        unit: "share of groups",
        meaning: "Groups whose episodes all scored the same, so that no action is preferred.",
        keys: &[("frac_reward_zero_std", "groups")],
    },
    Spec {
        id: "gradient",
        title: "Gradient norm",
        unit: "norm before clipping",
        meaning: "Size of the gradient of one batch.",
        keys: &[("grad_norm", "norm")],
    },
    Spec {
        id: "rate",
        title: "Learning rate",
        unit: "step size",
        meaning: "Size of a step along the gradient, set by the schedule.",
        keys: &[("learning_rate", "rate")],
    },
    Spec {
        id: "kl",
        title: "Distance from the reference policy",
        unit: "nats per action (KL)",
        meaning: "KL divergence from the reference policy, which the loss keeps small.",
        keys: &[("kl", "KL")],
    },
];

/// Parses the training log that lies at `address`, and arranges its numbers in charts.
///
/// # Errors
/// Returns a sentence that names the file and says what is missing or wrong.
pub fn read(address: &str, text: &str) -> Result<Curves, String> {
    curves(text).map_err(|reason| format!("{address} is not a trainer state: {reason}"))
}

fn curves(text: &str) -> Result<Curves, String> {
    let mut state: TrainerState = serde_json::from_str(text).map_err(|e| e.to_string())?;
    let entries = std::mem::take(&mut state.log_history)
        .into_iter()
        .enumerate();
    let entries = entries.map(|(index, entry)| read_entry(index + 1, entry));
    let mut entries = entries.collect::<Result<Vec<_>, _>>()?;
    if entries.is_empty() {
        return Err("its log_history is empty, so there is nothing to draw".to_owned());
    }
    sort(&mut entries, |a, b| a.step < b.step);
    let (mut charts, mut missing) = (Vec::new(), Vec::new());
    for spec in &SPECS {
        let line = |(style, (key, name)): (u8, &(&str, &str))| {
            let points = series(&entries, key);
            (!points.is_empty()).then(|| Line {
                name: (*name).to_owned(),
                style,
                x: points.iter().map(|(step, _)| *step as f32).collect(),
                y: points.iter().map(|(_, value)| *value as f32).collect(),
                half_width: Vec::new(),
            })
        };
        let lines: Vec<Line> = (0..).zip(spec.keys).filter_map(line).collect();
        if lines.is_empty() {
            missing.push(spec.title);
            continue;
        }
        let best = (spec.keys[0].0 == EVAL)
            .then_some(state.best_metric)
            .flatten();
        charts.push(chart(spec, lines, best));
    }
    Ok(Curves {
        summary: summary(&state, &entries, &missing),
        charts,
        dropped: String::new(),
    })
}

fn chart(spec: &Spec, lines: Vec<Line>, best: Option<f64>) -> Chart {
    let values = || lines.iter().flat_map(|line| &line.y).copied();
    let low = values().fold(f32::INFINITY, f32::min);
    let high = values().fold(f32::NEG_INFINITY, f32::max);
    let mut subtitle = spec.meaning.to_owned();
    // A best value that no evaluation reached is not mentioned.
    let found = best.and_then(|best| {
        let at = lines[0]
            .y
            .iter()
            .position(|value| (*value - best as f32).abs() < 1e-6)?;
        Some((best, f64::from(lines[0].x[at])))
    });
    if let Some((best, step)) = found {
        subtitle += &format!(" The best was {best:.4} at step {step:.0}.");
    }
    Chart {
        id: spec.id.to_owned(),
        title: spec.title.to_owned(),
        subtitle,
        x_label: "optimizer step".to_owned(),
        y_label: spec.unit.to_owned(),
        range: [low, high],
        lines,
        strips: Vec::new(),
    }
}

/// Returns step and value of one metric. If a resumed run logged a step twice, the last value
/// counts.
fn series(entries: &[Entry], name: &str) -> Vec<(u64, f64)> {
    let mut points: Vec<(u64, f64)> = Vec::new();
    for entry in entries {
        let Some(value) = entry.values.get(name).and_then(Json::as_f64) else {
            continue;
        };
        if points.last().is_some_and(|last| last.0 == entry.step) {
            points.pop();
        }
        points.push((entry.step, value));
    }
    points
}

/// Returns a sentence about the length of the run, as far as the file says, and the charts without
/// data.
fn summary(state: &TrainerState, entries: &[Entry], missing: &[&str]) -> String {
    let count = |n: u64| grouped(usize::try_from(n).unwrap_or(usize::MAX));
    let planned = state.max_steps.and_then(|steps| u64::try_from(steps).ok());
    let planned = planned.filter(|steps| *steps > state.global_step);
    let planned = planned.map_or_else(String::new, |steps| format!(" of {}", count(steps)));
    let mut text = format!("{}{planned} optimizer steps", count(state.global_step));
    if let Some((_, steps)) = series(entries, "num_env_steps")
        .last()
        .filter(|last| last.1 >= 0.0)
    {
        text += &format!(", {} environment steps", count(*steps as u64));
    }
    text += ".";
    if !missing.is_empty() {
        text += &format!(" Not in this file: {}.", missing.join(", "));
    }
    text
}

fn read_entry(number: usize, values: Json) -> Result<Entry, String> {
    let step = values.get("step").and_then(Json::as_u64);
    let step = step.ok_or_else(|| {
        format!("entry {number} of log_history has no `step` that is a whole number")
    })?;
    Ok(Entry { step, values })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn charts_have_the_logged_values_and_missing_ones_are_named() {
        let curves = curves(
            r#"{"global_step": 4, "max_steps": 2000, "best_metric": 0.8, "log_history": [
            {"step": 2, "reward": 0.5, "loss": 1}, {"step": 4, "reward": 0.7}, {"step": 4, "reward": 0.75},
            {"step": 2, "eval_reward": 0.8, "eval_rewards/task2/mean": 0.9, "num_env_steps": 1e6}]}"#,
        )
        .expect("a trainer state");
        let ids: Vec<&str> = curves
            .charts
            .iter()
            .map(|chart| chart.id.as_str())
            .collect();
        assert_eq!(ids, ["evaluation", "reward"]);
        assert!(
            curves.charts[0]
                .subtitle
                .ends_with("The best was 0.8000 at step 2.")
        );
        let names: Vec<&str> = curves.charts[0]
            .lines
            .iter()
            .map(|line| line.name.as_str())
            .collect();
        assert_eq!(names, ["overall", "task 2"]);
        let reward = &curves.charts[1];
        assert_eq!(
            (reward.lines[0].x.as_slice(), reward.lines[0].y.as_slice()),
            (&[2.0, 4.0][..], &[0.5, 0.75][..])
        );
        assert_eq!(reward.range, [0.5, 0.75]);
        let summary = curves.summary.replace('\u{202f}', " ");
        assert!(
            summary.starts_with("4 of 2 000 optimizer steps, 1 000 000 environment steps."),
            "{summary}"
        );
        assert!(summary.contains("Entropy"), "{summary}");
    }

    #[test]
    fn unreadable_file_is_named_with_the_reason() {
        for (text, reason) in [
            ("<!doctype html>", "line 1"),
            (r#"{"global_step": 1, "log_history": []}"#, "is empty"),
            (
                r#"{"global_step": 1, "log_history": [{"loss": 1}]}"#,
                "entry 1",
            ),
        ] {
            let error = read("a.json", text).expect_err("no trainer state");
            assert!(
                error.contains("a.json") && error.contains(reason),
                "{error}"
            );
        }
    }
}
