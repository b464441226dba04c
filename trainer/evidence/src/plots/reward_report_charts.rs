//! Charts of reward reports: trust, components of the reward, and causes of lost reward.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

use super::report_file::{EventRow, ReportFile};
use super::sourced_chart::{SourcedChart, provenance_of};
use crate::charts::{AreaSeries, Axis, Chart, FishboneItem, Plot, Point, PointSeries, palette};
use crate::input::EvidenceError;

/// The largest number of areas and of bones; what is left is summed.
const AREAS: usize = 8;
const BONES: usize = 8;

fn sourced(file: &ReportFile, chart: Chart) -> Result<SourcedChart, EvidenceError> {
    Ok(SourcedChart {
        chart,
        provenance: provenance_of([(&*file.path, file.provenance())])?,
    })
}

/// Returns the events that show trust.
fn trusting(file: &ReportFile) -> Result<Vec<&EventRow>, EvidenceError> {
    let events: Vec<&EventRow> = file
        .steps()
        .filter(|event| !event.trust_snapshot.is_empty())
        .collect();
    if events.is_empty() {
        return Err(EvidenceError::Unfit(format!(
            "{} shows no trust, since its world has none: report an episode of trust or cluster",
            file.path.display()
        )));
    }
    Ok(events)
}

/// Returns the hidden behavior of a specialist or worker, if the report holds it.
fn behavior<'a>(file: &'a ReportFile, slot: &str) -> Option<&'a str> {
    let hidden = &file.sentinel.as_ref()?.hidden_truth;
    let slots = hidden
        .get("specialists")
        .or_else(|| hidden.get("workers"))?;
    slots.get(slot).and_then(Value::as_str)
}

/// Draws the trust in each specialist after each step.
pub(super) fn trust_evolution(path: &Path) -> Result<SourcedChart, EvidenceError> {
    let file = ReportFile::load(path)?;
    let events = trusting(&file)?;
    let slots: Vec<&String> = events[0].trust_snapshot.keys().collect();
    let series = slots.iter().map(|slot| PointSeries {
        label: match behavior(&file, slot) {
            Some(behavior) => format!("{slot} ({})", behavior.replace('_', " ")),
            None => (*slot).clone(),
        },
        points: events
            .iter()
            .filter_map(|event| {
                let trust = event.trust_snapshot.get(*slot)?;
                Some(Point::new(event.step_count, *trust))
            })
            .collect(),
        ..PointSeries::default()
    });
    let chart = Chart {
        name: "trust_evolution".to_owned(),
        title: "Trust in each slot over an episode".to_owned(),
        subtitle: Some(format!(
            "{}; in parentheses: hidden behavior",
            file.describe_episode()
        )),
        description: "A line for each slot: the trust after each step, between 0 and 1, as the \
            observation shows it. The legend names the hidden behavior, which the policy does not \
            see."
            .to_owned(),
        x: Axis::new("step").with_integer_ticks(),
        y: Axis::new("trust").with_range(0.0, 1.0),
        plot: Plot::Lines {
            series: series.collect(),
            references: Vec::new(),
        },
    };
    sourced(&file, chart)
}

/// Draws the highest and the lowest trust after each step, and their difference.
pub(super) fn trust_gap_over_time(path: &Path) -> Result<SourcedChart, EvidenceError> {
    let file = ReportFile::load(path)?;
    let events = trusting(&file)?;
    let extremes = |event: &EventRow| {
        let values = || event.trust_snapshot.values().copied();
        let high = values().fold(f64::NEG_INFINITY, f64::max);
        (values().fold(f64::INFINITY, f64::min), high)
    };
    let line = |label: &str, color: &str, dashed: bool, point: fn((f64, f64)) -> Point| {
        let points = events.iter().map(|event| Point {
            x: event.step_count,
            ..point(extremes(event))
        });
        PointSeries {
            label: label.to_owned(),
            color: Some(color.to_owned()),
            dashed,
            points: points.collect(),
            gaps: Vec::new(),
        }
    };
    let series = vec![
        line("highest trust", palette::BLUE, false, |(low, high)| Point {
            interval: Some([low, high]),
            ..Point::new(0.0, high)
        }),
        line("lowest trust", palette::VERMILLION, false, |(low, _)| {
            Point::new(0.0, low)
        }),
        line("difference", "#444444", true, |(low, high)| {
            Point::new(0.0, high - low)
        }),
    ];
    let chart = Chart {
        name: "trust_gap_over_time".to_owned(),
        title: "Gap between the most and the least trusted slot".to_owned(),
        subtitle: Some(file.describe_episode()),
        description: "Two lines, the highest and the lowest trust after each step, with the gap \
            between them shaded, and a dashed line of their difference. A wide gap means that the \
            policy has told the slots apart."
            .to_owned(),
        x: Axis::new("step").with_integer_ticks(),
        y: Axis::new("trust").with_range(0.0, 1.0),
        plot: Plot::Lines {
            series,
            references: Vec::new(),
        },
    };
    sourced(&file, chart)
}

/// Draws the components of the reward of each step, stacked.
pub(super) fn reward_component_stacked_area(path: &Path) -> Result<SourcedChart, EvidenceError> {
    let file = ReportFile::load(path)?;
    let steps = file.components();
    let mut names: Vec<&String> = Vec::new();
    for (name, value) in steps.iter().flat_map(|(_, components)| components) {
        if *value != 0.0 && !names.contains(&name) {
            names.push(name);
        }
    }
    let value = |components: &[(String, f64)], name: &String| {
        let found = components.iter().find(|(other, _)| other == name);
        found.map_or(0.0, |(_, value)| *value)
    };
    let mut series: Vec<AreaSeries> = names
        .iter()
        .map(|name| AreaSeries {
            label: name.trim_end_matches("_score").replace('_', " "),
            color: None,
            values: steps
                .iter()
                .map(|(_, components)| value(components, name))
                .collect(),
        })
        .collect();
    if series.len() > AREAS {
        let size = |one: &AreaSeries| one.values.iter().map(|value| value.abs()).sum::<f64>();
        series.sort_by(|a, b| size(b).total_cmp(&size(a)));
        let rest = series.split_off(AREAS - 1);
        let sums = (0..steps.len()).map(|i| rest.iter().map(|one| one.values[i]).sum());
        series.push(AreaSeries {
            label: format!("{} others", rest.len()),
            color: None,
            values: sums.collect(),
        });
    }
    let chart = Chart {
        name: "reward_component_stacked_area".to_owned(),
        title: "Components of the reward of each step".to_owned(),
        subtitle: Some(file.describe_episode()),
        description: "Areas stacked on each other: the components of the reward of each step, \
            before they are weighted. Components that are always zero are left out."
            .to_owned(),
        x: Axis::new("step").with_integer_ticks(),
        y: Axis::new("components").with_unit("each 0 to 1, unweighted"),
        plot: Plot::StackedArea {
            x: steps.iter().map(|(step, _)| *step).collect(),
            series,
        },
    };
    sourced(&file, chart)
}

/// Draws the causes of lost reward, counted over reports of one policy.
pub(super) fn failure_fishbone_map(paths: &[&Path]) -> Result<SourcedChart, EvidenceError> {
    let files = ReportFile::load_all(paths)?;
    let mut sums = BTreeMap::<&str, (f64, usize)>::new();
    for file in &files {
        for loss in file.losses()? {
            let (lost, events) = sums.entry(&loss.cause).or_default();
            *lost += loss.reward_lost;
            *events += loss.events;
        }
    }
    let (first, played) = (&files[0], same_player(&files)?);
    let bone = |label: &str, value: f64, count: usize| FishboneItem {
        label: label.to_owned(),
        value,
        count,
    };
    let mut causes: Vec<FishboneItem> = sums
        .into_iter()
        .map(|(cause, (lost, events))| bone(cause, lost, events))
        .collect();
    causes.sort_by(|a, b| b.value.total_cmp(&a.value));
    let effect = bone(
        &format!("Lost reward of {}", palette::policy_label(first.player())),
        causes.iter().map(|cause| cause.value).sum(),
        causes.iter().map(|cause| cause.count).sum(),
    );
    if causes.len() > BONES {
        let rest = causes.split_off(BONES - 1);
        causes.push(bone(
            &format!("{} other causes", rest.len()),
            rest.iter().map(|cause| cause.value).sum(),
            rest.iter().map(|cause| cause.count).sum(),
        ));
    }
    let episodes = if files.len() == 1 {
        "episode"
    } else {
        "episodes"
    };
    let chart = Chart {
        name: "failure_fishbone_map".to_owned(),
        title: "Causes of lost reward".to_owned(),
        subtitle: Some(format!("{played}; lost is 1 minus the reward of an event")),
        description: "A diagram with the lost reward at the head of a spine and its causes on \
            bones beside it, the largest next to the head. The loss of an event is 1 minus its \
            reward, and each event has one cause. The bars compare the causes."
            .to_owned(),
        x: Axis::default(),
        y: Axis::new("reward lost").with_unit(format!("sum over {} {episodes}", files.len())),
        plot: Plot::Fishbone { effect, causes },
    };
    let sources = files.iter().map(|file| (&*file.path, file.provenance()));
    Ok(SourcedChart {
        chart,
        provenance: provenance_of(sources)?,
    })
}

/// Returns what was played in words, and checks that all reports are of one policy in one world.
fn same_player(files: &[ReportFile]) -> Result<String, EvidenceError> {
    let player = |file: &ReportFile| {
        let origin = file.sentinel.as_ref();
        origin.map(|origin| (origin.world.clone(), origin.policy.clone()))
    };
    if let Some(other) = files.iter().find(|file| player(file) != player(&files[0])) {
        return Err(EvidenceError::Unfit(format!(
            "{} and {} are of different policies or worlds: count the causes of one policy",
            files[0].path.display(),
            other.path.display()
        )));
    }
    if let [file] = files {
        return Ok(file.describe_episode());
    }
    let (world, policy) = player(&files[0]).unwrap_or_default();
    let mean = files.iter().map(|file| file.score).sum::<f64>() / files.len() as f64;
    Ok(format!(
        "{policy} in {world}, {} episodes, mean score {mean:.3}",
        files.len()
    ))
}
