//! The scores of an evaluation as bars.

use super::drawing::{Figures, SHARE_TOP, bars, estimate};
use crate::charts::palette::{policy_color, policy_label};
use crate::charts::{Axis, BarRow, BarSeries, Chart, Plot};
use crate::report::evaluation::{Evaluation, PolicyScore};
use crate::report::results::Section;

/// The largest number of tasks that are drawn as groups; with more, only the mean is.
const TASKS: usize = 6;

/// Draws the score of each policy, by task where there are several.
pub(super) fn draw(evaluation: &Evaluation, figures: &mut Figures) {
    let mut tasks: Vec<&str> = Vec::new();
    for task in evaluation.policies.iter().flat_map(|policy| &policy.tasks) {
        if !tasks.contains(&task.task.as_str()) {
            tasks.push(&task.task);
        }
    }
    let grouped = tasks.len() > 1 && tasks.len() <= TASKS;
    let plot = if grouped {
        let series = evaluation.policies.iter().map(|p| by_task(p, &tasks));
        Plot::GroupedBars {
            groups: tasks.iter().map(|task| (*task).to_owned()).collect(),
            series: series.collect(),
        }
    } else {
        Plot::HorizontalBars {
            rows: evaluation.policies.iter().map(row).collect(),
        }
    };
    let axis = Axis::new("mean score").with_range(0.0, SHARE_TOP);
    let (x, y) = if grouped {
        (Axis::new("task"), axis)
    } else {
        (axis, Axis::new("policy"))
    };
    let episodes = evaluation.policies.iter().map(|policy| policy.episodes);
    let episodes = episodes.max().unwrap_or_default();
    let caption = format!(
        "Mean score with its 95 % interval over episodes ({episodes} episodes of each policy). Intervals hold \
         for these tasks and say nothing about other training seeds."
    );
    let chart = Chart {
        name: format!("{}-scores", evaluation.id),
        title: format!("Scores of {}", evaluation.id),
        subtitle: Some(format!(
            "world {}, seeds {}, {} streams, {} rules",
            evaluation.world, evaluation.seeds, evaluation.streams, evaluation.rules
        )),
        description: caption.clone(),
        x,
        y,
        plot,
    };
    figures.draw(Section::Evaluation, Some(&evaluation.id), caption, chart);
}

fn by_task(policy: &PolicyScore, tasks: &[&str]) -> BarSeries {
    let value = |task: &&str| {
        let found = policy.tasks.iter().find(|score| score.task == **task)?;
        Some(estimate(found.score))
    };
    BarSeries {
        color: color(&policy.policy),
        ..bars(
            policy_label(&policy.policy),
            tasks.iter().map(value).collect(),
        )
    }
}

fn row(policy: &PolicyScore) -> BarRow {
    BarRow {
        label: policy_label(&policy.policy),
        color: color(&policy.policy),
        estimate: estimate(policy.score),
    }
}

fn color(policy: &str) -> Option<String> {
    policy_color(policy).map(str::to_owned)
}
