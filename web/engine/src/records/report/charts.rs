//! The charts of a report. Lines become charts; bars, points and counts become panels with bars.

use sentinel_page_protocol::{Card, Chart, Layout, Line, Meter, Panel, RecordsSection};
use sentinel_policy::insertion_sort::sort;

use super::file::{
    AreaSeries, BarRow, Cause, ChartEntry, ChartFile, Estimate, Plot, Point, PointSeries, Results,
};
use super::labels::{ablation_name, series_name};
use super::tables::{command_note, table};

/// Number of line styles.
const STYLES: usize = 8;

/// A chart of a report as the page shows it.
enum Part {
    Panel(Panel),
    Chart(Chart),
}

/// Returns the section of all charts that no table of the screen repeats. `path` makes their
/// identifiers unique among reports.
pub(super) fn section(path: &str, results: &Results) -> RecordsSection {
    let command = results.provenance.command();
    let mut section = RecordsSection {
        title: match results.title.as_str() {
            "Baselines, ablations and published charts" => "Charts of the report".to_owned(),
            title => title.to_owned(),
        },
        detail: "The charts of the report. Point at a chart, or focus it and use the arrow keys, to read values.".to_owned(),
        ..RecordsSection::default()
    };
    let own = results.charts.iter();
    for entry in own.filter(|entry| entry.section != "evaluation") {
        match part(entry) {
            Part::Panel(mut panel) => {
                panel.id = format!("{path}-{}", panel.id);
                section.panels.push(panel);
            }
            Part::Chart(mut chart) => {
                chart.id = format!("{path}-{}", chart.id);
                let note = command_note(&command).pop();
                section.charts.push((chart, note.unwrap_or_default()));
            }
        }
    }
    section
}

/// Returns a chart of a report as a chart of lines, or as a table.
fn part(entry: &ChartEntry) -> Part {
    match &entry.chart.plot {
        Plot::Lines { series } => {
            let series = series.iter();
            let series = series.map(|s| (series_name(&s.label), with_gaps(s)));
            lines(entry, series.collect())
        }
        Plot::StackedArea { x, series } => {
            let series = series.iter();
            let series = series.map(|s| (series_name(&s.label), points(x, &s.values)));
            lines(entry, series.collect())
        }
        Plot::GroupedBars { groups, series } => {
            let series = series.iter();
            let series = series.map(|s| (series_name(&s.label), s.values.clone()));
            by_group(entry, groups, series.collect())
        }
        Plot::Radar { axes, series } => {
            let values =
                |s: &AreaSeries| s.values.iter().map(|value| Some(exact(*value))).collect();
            let series = series.iter();
            let series = series.map(|s| (series_name(&s.label), values(s)));
            by_group(entry, axes, series.collect())
        }
        Plot::HorizontalBars { rows } => {
            let value = |row: &BarRow| Estimate {
                value: row.value,
                interval: row.interval,
            };
            let rows = rows.iter();
            let rows = rows.map(|row| (row_name(entry, &row.label), vec![Some(value(row))]));
            bars(entry, vec![String::new()], rows.collect())
        }
        Plot::Fishbone { causes } => {
            let name = |cause: &Cause| format!("{} ({} events)", cause.label, cause.count);
            let rows = causes.iter();
            let rows = rows.map(|cause| (name(cause), vec![Some(exact(cause.value))]));
            bars(entry, vec![String::new()], rows.collect())
        }
        Plot::Points { series } => points_table(entry, series),
    }
}

/// Returns a number without an interval.
const fn exact(value: f64) -> Estimate {
    Estimate {
        value,
        interval: None,
    }
}

/// Returns the points of a series, with NaN where it has no finite value.
fn with_gaps(series: &PointSeries) -> Vec<Point> {
    let gap = |x: &f64| Point {
        x: *x,
        y: f64::NAN,
        interval: None,
    };
    let mut points = series.points.clone();
    points.extend(series.gaps.iter().map(gap));
    if !series.gaps.is_empty() {
        sort(&mut points, |a, b| a.x < b.x);
    }
    points
}

/// Returns the points of a line.
fn points(x: &[f64], y: &[f64]) -> Vec<Point> {
    let point = |(x, y): (&f64, &f64)| Point {
        x: *x,
        y: *y,
        interval: None,
    };
    x.iter().zip(y).map(point).collect()
}

/// Returns a panel with a card for each group and a bar for each series.
fn by_group(
    entry: &ChartEntry,
    groups: &[String],
    series: Vec<(String, Vec<Option<Estimate>>)>,
) -> Part {
    let row = |(index, name): (usize, &String)| {
        let values = series
            .iter()
            .map(|(_, values)| *values.get(index).unwrap_or(&None));
        (series_name(name), values.collect())
    };
    let rows = groups.iter().enumerate().map(row).collect();
    let names = series.iter().map(|(label, _)| label.clone());
    bars(entry, names.collect(), rows)
}

/// Returns a chart of lines. Several lines have a letter each, which their names begin with.
fn lines(entry: &ChartEntry, series: Vec<(String, Vec<Point>)>) -> Part {
    let chart = &entry.chart;
    let several = series.len() > 1;
    let line = |(index, (name, points)): (usize, &(String, Vec<Point>))| {
        let letter = char::from(b'A' + u8::try_from(index % 26).unwrap_or_default());
        let half = |point: &Point| match point.interval {
            Some([low, high]) => ((high - low) / 2.0) as f32,
            None => f32::NAN,
        };
        Line {
            name: match several {
                true => format!("{letter} {name}"),
                false => name.clone(),
            },
            style: u8::try_from(index % STYLES).unwrap_or_default(),
            x: points.iter().map(|point| point.x as f32).collect(),
            y: points.iter().map(|point| point.y as f32).collect(),
            half_width: match points.iter().any(|point| point.interval.is_some()) {
                true => points.iter().map(half).collect(),
                false => Vec::new(),
            },
        }
    };
    Part::Chart(Chart {
        id: chart.name.clone(),
        title: title(&chart.title),
        subtitle: caption(entry),
        x_label: chart.x.name(),
        y_label: chart.y.name(),
        range: range(chart, &series),
        lines: series.iter().enumerate().map(line).collect(),
        strips: Vec::new(),
    })
}

/// Returns what was measured, and how to read it.
fn caption(entry: &ChartEntry) -> String {
    match &entry.chart.subtitle {
        Some(subtitle) => format!("{subtitle}. {}", entry.caption),
        None => entry.caption.clone(),
    }
}

/// Returns the lowest and highest value, with intervals, or the range that the file names.
fn range(chart: &ChartFile, series: &[(String, Vec<Point>)]) -> [f32; 2] {
    if let Some([low, high]) = chart.y.range {
        return [low as f32, high as f32];
    }
    let points = || series.iter().flat_map(|(_, points)| points);
    let ends = || points().flat_map(|point| point.interval.unwrap_or([point.y; 2]));
    let low = ends().fold(f64::INFINITY, f64::min);
    let high = ends().fold(f64::NEG_INFINITY, f64::max);
    [low as f32, high as f32]
}

/// Returns a panel with a card for each row and a bar for each of `names`. The bars share one scale,
/// which begins at 0; they are empty if a value is negative.
fn bars(
    entry: &ChartEntry,
    names: Vec<String>,
    rows: Vec<(String, Vec<Option<Estimate>>)>,
) -> Part {
    let values = || rows.iter().flat_map(|(_, cells)| cells).flatten();
    let highest = values().map(|cell| cell.value).fold(0.0, f64::max);
    // A share or a score has the whole range 0 to 1.
    let full = match entry.chart.y.range {
        Some([_, high]) if high >= 1.0 && highest <= 1.0 => 1.0,
        _ => highest,
    };
    let draws = full > 0.0 && values().all(|cell| cell.value >= 0.0);
    let unit = unit(entry);
    let meter = |(name, found): (&String, &Option<Estimate>)| {
        let found = found.as_ref()?;
        // A single bar is what the title says.
        let label = match names.len() {
            1 => number(found, unit),
            _ => format!("{name} {}", number(found, unit)),
        };
        Some(Meter {
            label,
            value: if draws {
                (found.value / full) as f32
            } else {
                0.0
            },
            ..Meter::default()
        })
    };
    let card = |(name, cells): &(String, Vec<Option<Estimate>>)| Card {
        key: name.clone(),
        title: name.clone(),
        meters: names.iter().zip(cells).filter_map(meter).collect(),
        ..Card::default()
    };
    Part::Panel(Panel {
        id: entry.chart.name.clone(),
        title: title(&entry.chart.title),
        help: caption(entry),
        layout: Layout::Tiles,
        cards: rows.iter().map(card).collect(),
        ..Panel::default()
    })
}

fn points_table(entry: &ChartEntry, series: &[PointSeries]) -> Part {
    let chart = &entry.chart;
    let rows = series.iter().flat_map(|series| {
        series.points.iter().map(|point| {
            let value = Estimate {
                value: point.y,
                interval: point.interval,
            };
            Card {
                key: series.label.clone(),
                title: series_name(&series.label),
                cells: vec![format!("{:.2}", point.x), number(&value, "")],
                ..Card::default()
            }
        })
    });
    let columns = [chart.x.name(), chart.y.name()];
    let help = caption(entry);
    let columns = columns
        .each_ref()
        .map(|name| (name.as_str(), help.as_str()));
    Part::Panel(Panel {
        help: caption(entry),
        ..table(&chart.name, &chart.title, &columns, rows.collect())
    })
}

/// Returns the unit of a chart's values if it can stand after a number; empty otherwise.
fn unit(entry: &ChartEntry) -> &'static str {
    match entry.chart.y.unit.as_deref() {
        Some("%") => " %",
        _ => "",
    }
}

/// Returns a number with its interval and unit: scores with three decimals, percentages with one.
fn number(estimate: &Estimate, unit: &str) -> String {
    let digits = if unit.is_empty() { 3 } else { 1 };
    let value = format!("{:.digits$}{unit}", estimate.value);
    match estimate.interval {
        Some([low, high]) => format!("{value} ({low:.digits$} to {high:.digits$}{unit})"),
        None => value,
    }
}

/// Returns the title of a chart for visitors.
fn title(title: &str) -> String {
    match title {
        "Score of policies trained without a feature" => "What each input is worth",
        title => title,
    }
    .to_owned()
}

/// Returns the name of a row of bars.
fn row_name(entry: &ChartEntry, label: &str) -> String {
    match entry.chart.name.as_str() {
        "ablation" => ablation_name(&label.replace(' ', "_")),
        _ => series_name(label),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_of_a_series_have_no_value() {
        let text =
            r#"{"label": "a", "points": [{"x": 1, "y": 0.5}, {"x": 3, "y": 0.7}], "gaps": [2, 4]}"#;
        let series: PointSeries = serde_json::from_str(text).expect("a series");
        let points = with_gaps(&series);
        let x: Vec<f64> = points.iter().map(|point| point.x).collect();
        let y: Vec<Option<f64>> = points
            .iter()
            .map(|point| point.y.is_finite().then_some(point.y))
            .collect();
        assert_eq!(x, [1.0, 2.0, 3.0, 4.0]);
        assert_eq!(y, [Some(0.5), None, Some(0.7), None]);
    }
}
