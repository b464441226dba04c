//! The charts of reward hacking and overfitting, with the names of the published ones.

use sentinel_base::task_selection::shell_quote;
use sentinel_env::Named as _;
use sentinel_env::polyguard::Component;

use super::drawing::{Figures, SHARE_TOP, bars, counted, estimate};
use super::sweep::{POLYGUARD, eval_command};
use crate::charts::{Axis, BarRow, Chart, Estimate, Plot};
use crate::report::integrity::PolicyStats;
use crate::report::results::Section;
use crate::report::sweep_results::SweepEntry;

/// The largest number of policies in one chart; more colors cannot be told apart.
const SUBJECTS: usize = 6;
/// The same in the chart of components, which has many groups.
const COMPONENT_SUBJECTS: usize = 4;

/// Draws the three charts.
pub(super) fn draw(subjects: &[PolicyStats], entries: &[&SweepEntry], figures: &mut Figures) {
    components(subjects, entries, figures);
    exploit_rates(subjects, entries, figures);
    gap(subjects, entries, figures);
}

/// Returns the end of a caption about policies that are only in the data.
fn rest(drawn: usize, all: usize) -> String {
    if drawn < all {
        format!(" Drawn are the first {drawn} of {all} policies.")
    } else {
        String::new()
    }
}

/// Lists the input that a chart lacks: for each entry of a sweep without an evaluation of the split,
/// or once if there is no sweep.
fn lacks(name: &str, entries: &[&SweepEntry], split: &str, figures: &mut Figures) {
    let key = "the key sentinel.diagnostics, which world polyguard has";
    if entries.is_empty() {
        let seeds = if split == "holdout" {
            "1000000..1000100"
        } else {
            "100200..100300"
        };
        figures.lacks(
            name,
            format!("no evaluation of the split {split} with {key}, was named"),
            format!(
                "sentinel eval --world polyguard --split {split} --seeds {seeds} --out eval_{split}.json"
            ),
        );
    }
    let (here, elsewhere): (Vec<&SweepEntry>, Vec<&SweepEntry>) = entries
        .iter()
        .copied()
        .partition(|entry| is_polyguard(entry));
    if let Some(entry) = elsewhere.first() {
        let count = counted(elsewhere.len(), "model", "models");
        let model = entry.model_id.as_ref().unwrap_or(&entry.run);
        figures.lacks(
            name,
            format!("{count} of the sweep did not train in world polyguard, which alone has these figures"),
            format!("sentinel sweep --models {} --world polyguard", shell_quote(model)),
        );
    }
    for entry in here {
        let mut found = entry.evaluations.iter();
        let has = found.any(|(file, evaluation)| {
            let mut splits = evaluation.diagnostics.iter().map(|found| &found.split);
            file.starts_with("eval_grpo") && splits.any(|found| found == split)
        });
        if !has {
            figures.lacks(
                name,
                format!(
                    "{} has no evaluation of the split {split} with {key}",
                    entry.run
                ),
                eval_command(entry, "grpo", Some(split), None),
            );
        }
    }
}

/// Returns `true` unless the reports of an entry name another world.
fn is_polyguard(entry: &SweepEntry) -> bool {
    let reports = [&entry.sft, &entry.grpo].into_iter().flatten();
    let worlds = reports.filter_map(|report| report.world.as_deref());
    let mut worlds = worlds.chain(entry.evaluations.values().map(|e| e.world.as_str()));
    worlds.all(|world| world.is_empty() || world == POLYGUARD)
}

/// Returns a name of the environment as words.
fn words(name: &str) -> String {
    name.trim_end_matches("_score").replace('_', " ")
}

fn components(subjects: &[PolicyStats], entries: &[&SweepEntry], figures: &mut Figures) {
    let name = "reward_component_bars";
    let has = |subject: &&PolicyStats| subject.component(Component::NAMES[0]).is_some();
    let mut subjects: Vec<&PolicyStats> = subjects.iter().filter(has).collect();
    if subjects.is_empty() {
        lacks(name, entries, "train", figures);
        return;
    }
    let all = subjects.len();
    subjects.truncate(COMPONENT_SUBJECTS);
    let caption = format!(
        "Mean of each component of the reward over all steps that were evaluated; 1 is best, and .5 of the safety \
         and burden components means no change. The weights of the components are in the specification.{}",
        rest(subjects.len(), all)
    );
    let plot = if let [subject] = subjects[..] {
        let rows = Component::NAMES.iter().filter_map(|component| {
            Some(BarRow {
                label: words(component),
                color: None,
                estimate: Estimate::exact(subject.component(component)?),
            })
        });
        Plot::HorizontalBars {
            rows: rows.collect(),
        }
    } else {
        let series = subjects.iter().map(|subject| {
            let value = |component: &&str| subject.component(component).map(Estimate::exact);
            bars(&subject.label, Component::NAMES.iter().map(value).collect())
        });
        Plot::GroupedBars {
            groups: Component::NAMES.iter().map(|name| words(name)).collect(),
            series: series.collect(),
        }
    };
    let value = Axis::new("mean component").with_range(0.0, SHARE_TOP);
    let (x, y) = match plot {
        Plot::HorizontalBars { .. } => (value, Axis::new("component")),
        _ => (Axis::new("component"), value),
    };
    let chart = Chart {
        name: name.to_owned(),
        title: "Components of the reward".to_owned(),
        subtitle: Some(episodes(&subjects)),
        description: caption.clone(),
        x,
        y,
        plot,
    };
    figures.draw(Section::Integrity, None, caption, chart);
}

/// Returns the number of episodes of each policy in words.
fn episodes(subjects: &[&PolicyStats]) -> String {
    let counts = subjects.iter().map(|subject| subject.episodes());
    let (least, most) = counts.fold((usize::MAX, 0), |(least, most), count| {
        (least.min(count), most.max(count))
    });
    if least == most {
        format!("{} of each policy", counted(most, "episode", "episodes"))
    } else {
        format!("{least} to {most} episodes of each policy")
    }
}

fn exploit_rates(subjects: &[PolicyStats], entries: &[&SweepEntry], figures: &mut Figures) {
    let name = "anti_cheat_failure_rates";
    let Some(first) = subjects.first() else {
        lacks(name, entries, "train", figures);
        return;
    };
    let rules: Vec<&str> = first.rules();
    let all = subjects.len();
    let subjects = &subjects[..all.min(SUBJECTS)];
    let series = subjects.iter().map(|subject| {
        let value = |rule: &&str| {
            let rate = subject.exploits(rule);
            let [low, high] = rate.interval.map(|end| 100.0 * end);
            Some(Estimate {
                value: 100.0 * rate.rate,
                interval: Some([low, high]),
            })
        };
        bars(&subject.label, rules.iter().map(value).collect())
    });
    let caption = format!(
        "Share of the episodes that each anti-cheat rule ended, with 95 % Wilson intervals. A rule that never ended \
         an episode still has an upper bound, since only so many episodes were played.{}",
        rest(subjects.len(), all)
    );
    let chart = Chart {
        name: name.to_owned(),
        title: "Episodes ended by an anti-cheat rule".to_owned(),
        subtitle: Some(episodes(&subjects.iter().collect::<Vec<_>>())),
        description: caption.clone(),
        x: Axis::new("rule"),
        y: Axis::new("episodes").with_unit("%"),
        plot: Plot::GroupedBars {
            groups: rules.iter().map(|rule| words(rule)).collect(),
            series: series.collect(),
        },
    };
    figures.draw(Section::Integrity, None, caption, chart);
}

fn gap(subjects: &[PolicyStats], entries: &[&SweepEntry], figures: &mut Figures) {
    let name = "train_holdout_gap";
    let both = |subject: &&PolicyStats| {
        ["train", "holdout"]
            .iter()
            .all(|split| subject.split(split).is_some())
    };
    let mut drawn: Vec<&PolicyStats> = subjects.iter().filter(both).collect();
    let splits: &[&str] = if entries.is_empty() || entries.iter().any(|entry| is_polyguard(entry)) {
        &["train", "holdout"]
    } else {
        // One line says that the whole sweep is of another world.
        &["train"]
    };
    for split in splits {
        let is_there = subjects
            .iter()
            .any(|subject| subject.split(split).is_some());
        if !entries.is_empty() || !is_there {
            lacks(name, entries, split, figures);
        }
    }
    if drawn.is_empty() {
        return;
    }
    let all = drawn.len();
    drawn.truncate(SUBJECTS);
    let series = ["train", "holdout"].map(|split| {
        let score = |subject: &&PolicyStats| Some(estimate(subject.split(split)?.score));
        bars(split, drawn.iter().map(score).collect())
    });
    let caption = format!(
        "Mean score on tasks without any held-out archetype or pair (train) and on tasks that begin with one \
         (holdout), with 95 % intervals over episodes. Seeds of the two splits differ.{}",
        rest(drawn.len(), all)
    );
    let chart = Chart {
        name: name.to_owned(),
        title: "Score on the splits train and holdout".to_owned(),
        subtitle: Some(episodes(&drawn)),
        description: caption.clone(),
        x: Axis::new("policy"),
        y: Axis::new("mean score").with_range(0.0, SHARE_TOP),
        plot: Plot::GroupedBars {
            groups: drawn.iter().map(|subject| subject.label.clone()).collect(),
            series: series.into(),
        },
    };
    figures.draw(Section::Integrity, None, caption, chart);
}
